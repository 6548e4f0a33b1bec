/* SPDX-License-Identifier: MIT
 *
 * Dropout as the table has it: the mask by element number, then the product by floating dtype. */
#include "backends/cpu/level.h"
#include "backends/cpu/random/walk.h"

#define HT_TEMPLATE "backends/cpu/nn/dropout.inc.c"
#include "backends/cpu/foreach_dtype.h"

typedef void dropout_fn(int64_t n, double p, const void *from, const uint8_t *mask, void *to);

static dropout_fn *const dropout_apply[HT_DTYPE_COUNT] = BY_FLOATING_DTYPE(dropout_apply);

/* Kept where a uniform float of the same word would be at least p = draw->a. */
static void dropout_mask(const ht_random *draw, const uint32_t *word, int64_t n, void *out)
{
    const int32_t threshold = (int32_t)ceil(draw->a * 0x1p24);
    uint8_t *mask = out;

    HT_VECTORIZE
    for (int64_t i = 0; i < n; i++)
        mask[i] = (int32_t)(word[i] >> 8) >= threshold;
}

static int dropout_forward(void *stream, const ht_random *draw, const void *x, void *y,
                           uint8_t *mask)
{
    (void)stream;
    if (dropout_apply[draw->dtype] == NULL)
        return ht__kernel_bad_dtype("dropout", draw->dtype);
    for (int64_t o = 0; o < draw->outer; o++)
        random_run(draw, (uint64_t)(o * draw->inner_global + draw->start), draw->inner,
                   dropout_mask, 1, (char *)mask + o * draw->inner, 1);
    dropout_apply[draw->dtype](draw->outer * draw->inner, draw->a, x, mask, y);
    return 0;
}

static int dropout_backward(void *stream, ht_dtype dtype, int64_t n, double p, const void *dy,
                            const uint8_t *mask, void *dx)
{
    (void)stream;
    if (dropout_apply[dtype] == NULL)
        return ht__kernel_bad_dtype("dropout", dtype);
    dropout_apply[dtype](n, p, dy, mask, dx);
    return 0;
}

void HT_LEVEL_NAME(ht__fill_dropout)(ht_kernels *k)
{
    k->dropout_forward = dropout_forward;
    k->dropout_backward = dropout_backward;
}

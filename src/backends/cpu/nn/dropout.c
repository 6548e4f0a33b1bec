/* SPDX-License-Identifier: MIT
 *
 * Dropout: the mask by element number, then the product. */
#include "backends/cpu/level.h"
#include "backends/cpu/random/walk.h"
#include "ht/kernels/nn.h"

/* Kept where a uniform float of the same word would be at least p = draw->a. */
static void dropout_mask(const ht_random_draw *draw, const uint32_t *word, int64_t n, void *out)
{
    const int32_t threshold = (int32_t)ceil(draw->a * 0x1p24);
    uint8_t *mask = out;

    HT_VECTORIZE
    for (int64_t i = 0; i < n; i++)
        mask[i] = (int32_t)(word[i] >> 8) >= threshold;
}

#define HT_TEMPLATE "backends/cpu/nn/dropout.inc.c"
#include "backends/cpu/foreach_dtype.h"

void HT_LEVEL_NAME(ht__fill_dropout)(ht_kernel_table *k)
{
#define FILL(dtype)                                                    \
    k->at[HT_KERNEL_DROPOUT_FORWARD][dtype] = dropout_forward_##dtype; \
    k->at[HT_KERNEL_DROPOUT_BACKWARD][dtype] = dropout_backward_##dtype;
    HT_FLOATING_LIST(FILL)
}

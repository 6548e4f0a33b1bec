/* SPDX-License-Identifier: MIT
 *
 * Max pooling as the table has it: by floating dtype to the templates of max_pool.inc.c. */
#include "backends/cpu/level.h"

#define HT_TEMPLATE "backends/cpu/nn/max_pool.inc.c"
#include "backends/cpu/foreach_dtype.h"

#define POOL_DTYPES(X) X(HT_FLOAT16) X(HT_BFLOAT16) X(HT_FLOAT32) X(HT_FLOAT64)

static int max_pool_forward(void *stream, const ht_pool *pool, const void *x, void *y,
                            int32_t *index)
{
    (void)stream;
    switch (pool->dtype) {
#define FORWARD(dtype)                               \
    case dtype:                                      \
        max_pool_forward_##dtype(pool, x, y, index); \
        return 0;
        POOL_DTYPES(FORWARD)
    default:
        return ht__kernel_bad_dtype("ht_max_pool2d", pool->dtype);
    }
}

static int max_pool_backward(void *stream, const ht_pool *pool, const void *dy,
                             const int32_t *index, void *dx)
{
    (void)stream;
    switch (pool->dtype) {
#define BACKWARD(dtype)                                 \
    case dtype:                                         \
        max_pool_backward_##dtype(pool, dy, index, dx); \
        return 0;
        POOL_DTYPES(BACKWARD)
    default:
        return ht__kernel_bad_dtype("ht_max_pool2d", pool->dtype);
    }
}

void HT_LEVEL_NAME(ht__fill_max_pool)(ht_kernels *kernels)
{
    kernels->max_pool_forward = max_pool_forward;
    kernels->max_pool_backward = max_pool_backward;
}

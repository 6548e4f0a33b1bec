/* SPDX-License-Identifier: MIT
 *
 * Sums in place as the table has them. */
#include "backends/cpu/level.h"

#define HT_TEMPLATE "backends/cpu/elementwise/axpby.inc.c"
#include "backends/cpu/foreach_dtype.h"

static int axpby(void *stream, ht_dtype dtype, int64_t n, double a, const void *x, double b,
                 void *y)
{
    (void)stream;
    if (dtype != HT_FLOAT32 && dtype != HT_FLOAT64)
        return ht__kernel_bad_dtype("axpby", dtype);
    (dtype == HT_FLOAT32 ? axpby_HT_FLOAT32 : axpby_HT_FLOAT64)(n, a, x, b, y);
    return 0;
}

void HT_LEVEL_NAME(ht__fill_axpby)(ht_kernels *k)
{
    k->axpby = axpby;
}

/* SPDX-License-Identifier: MIT
 *
 * The additions of the exchange. Plain loops over aligned or unaligned memory; what they cost is
 * the memory. Addition is commutative but not associative: only the tree matters. */
#include "exchange_path.h"

#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

/* Elements of a block of the tree: the partial sums of all levels stay in the first cache. */
enum { BLOCK = 1024 };

#define T       float
#define NAME(x) x##_f32
#include "exchange_sum.inc.c"
#undef T
#undef NAME

#define T       double
#define NAME(x) x##_f64
#include "exchange_sum.inc.c"
#undef T
#undef NAME

void ht__sum_add(ht_dtype dtype, void *y, const void *x, int64_t n)
{
    if (dtype == HT_FLOAT32)
        add_f32(y, x, n);
    else
        add_f64(y, x, n);
}

void ht__sum_scale(ht_dtype dtype, void *y, int64_t n, double scale)
{
    if (scale == 1)
        return;
    if (dtype == HT_FLOAT32)
        scale_f32(y, n, (float)scale);
    else
        scale_f64(y, n, scale);
}

void ht__sum_tree(ht_dtype dtype, void *y, const void *const x[], int ranks, int64_t at, int64_t n,
                  double scale)
{
    if (dtype == HT_FLOAT32)
        sum_f32(y, x, ranks, at, n, scale);
    else
        sum_f64(y, x, ranks, at, n, scale);
}

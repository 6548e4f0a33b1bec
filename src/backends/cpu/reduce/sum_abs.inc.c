/* SPDX-License-Identifier: MIT
 *
 * Template: sums of magnitudes and of squares, in double. */

#if HT_IS_FLOAT
HT_INLINE double NAME(add)(double sum, double x)
{
    return sum + x;
}

HT_INLINE double NAME(magnitude)(T x)
{
    return fabs((double)LOAD(x));
}

HT_INLINE double NAME(square)(T x)
{
    return (double)LOAD(x) * (double)LOAD(x);
}

#define FOLD(x) NAME(x##_magnitudes)
#define ACC     double
#define GET(x)  NAME(magnitude)(x)
#define PUT(x)  (x)
#define OUT     double
#include "backends/cpu/reduce/fold.inc.c"

HT_KERNEL(reduce_SUM_ABS)
{
    const ht_reduction *r = (const ht_reduction *)call;

    (void)stream;
    return NAME(fold_magnitudes)(r, NAME(add), true, 0);
}

#define FOLD(x) NAME(x##_squares)
#define ACC     double
#define GET(x)  NAME(square)(x)
#define PUT(x)  (x)
#define OUT     double
#include "backends/cpu/reduce/fold.inc.c"

HT_KERNEL(reduce_SUM_SQUARES)
{
    const ht_reduction *r = (const ht_reduction *)call;

    (void)stream;
    return NAME(fold_squares)(r, NAME(add), true, 0);
}
#endif

static void NAME(fill_sum_abs)(ht_kernel_table *k)
{
#if HT_IS_FLOAT
    k->at[HT_KERNEL_SUM_ABS][ID] = NAME(reduce_SUM_ABS);
    k->at[HT_KERNEL_SUM_SQUARES][ID] = NAME(reduce_SUM_SQUARES);
#else
    (void)k;
#endif
}

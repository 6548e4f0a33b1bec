/* SPDX-License-Identifier: MIT
 *
 * Template: reductions. All fold rows of the input into a row of accumulators, so that the inner
 * loop is elementwise and becomes vector code; the order of additions depends on shape and strides
 * alone. */

HT_INLINE WIDE NAME(wide_step)(WIDE sum, WIDE x)
{
    return sum + x;
}

#if HT_IS_INTEGER || HT_IS_BOOL
HT_INLINE SUM NAME(sum_step)(SUM sum, SUM x)
{
    return sum + x;
}

#define FOLD(x) NAME(x##_sum)
#define ACC     SUM
#define GET(x)  ((SUM)LOAD(x))
#define PUT(x)  TO_TOTAL(x)
#define OUT     TOTAL
#include "backends/cpu/reduce/fold.inc.c"
#endif

/* y (m) <- sums (m) in their accumulator's dtype, in the input's, or as means. A divisor that is a
 * power of two is a factor, too, which takes less time. */
HT_INLINE void NAME(put_row)(int kind, const ht_reduction *r, void *y, int64_t ys, const WIDE *sum,
                             int64_t m)
{
    const double factor = 1 / r->divisor;
    int exponent;

    if (kind == HT_SUM_TOTAL) {
        for (int64_t j = 0; j < m; j++)
            ((TOTAL *)y)[j * ys] = TO_TOTAL(sum[j]);
    } else if (kind == HT_SUM_WIDE) {
        for (int64_t j = 0; j < m; j++)
            ((WIDE *)y)[j * ys] = sum[j] / r->divisor;
    } else if (frexp(r->divisor, &exponent) == 0.5) {
        for (int64_t j = 0; j < m; j++)
            ((MEAN *)y)[j * ys] = TO_MEAN(sum[j] * factor);
    } else {
        for (int64_t j = 0; j < m; j++)
            ((MEAN *)y)[j * ys] = TO_MEAN(sum[j] / r->divisor);
    }
}

HT_INLINE void NAME(put_wide)(int kind, const ht_reduction *r, void *y, int64_t ys, const WIDE *sum,
                              int64_t m)
{
    if (ys == 1)
        NAME(put_row)(kind, r, y, 1, sum, m);
    else
        NAME(put_row)(kind, r, y, ys, sum, m);
}

HT_INLINE size_t NAME(wide_bytes)(int kind)
{
    return kind == HT_SUM_TOTAL ? sizeof(TOTAL) : kind == HT_SUM_WIDE ? sizeof(WIDE) : sizeof(MEAN);
}

#define FOLD(x)           NAME(x##_wide)
#define ACC               WIDE
#define GET(x)            ((WIDE)LOAD(x))
#define PUT_ROW(y, ys, m) NAME(put_wide)(kind, r, y, ys, acc, m)
#define PUT_BYTES         NAME(wide_bytes)(kind)
#if HT_IS_FLOAT && !HT_IS_HALF
#define KEEP_LANES
#endif
#include "backends/cpu/reduce/fold.inc.c"

static int NAME(sum_of_kind)(const ht_reduction *r, int kind)
{
    return NAME(fold_wide)(r, NAME(wide_step), true, kind);
}

HT_KERNEL(reduce_SUM)
{
    const ht_reduction *r = (const ht_reduction *)call;

    (void)stream;
#if HT_IS_INTEGER || HT_IS_BOOL
    return NAME(fold_sum)(r, NAME(sum_step), true, 0);
#else
    return NAME(sum_of_kind)(r, HT_SUM_TOTAL);
#endif
}

HT_KERNEL(reduce_SUM_WIDE)
{
    const ht_reduction *r = (const ht_reduction *)call;

    (void)stream;
    return NAME(sum_of_kind)(r, HT_SUM_WIDE);
}

HT_KERNEL(reduce_MEAN)
{
    const ht_reduction *r = (const ht_reduction *)call;

    (void)stream;
    return NAME(sum_of_kind)(r, HT_SUM_MEAN);
}

#include "backends/cpu/reduce/moments.inc.c"

HT_KERNEL(reduce_SPREAD)
{
    const ht_reduction *r = (const ht_reduction *)call;

    (void)stream;
    return NAME(moments)(r, false);
}

HT_KERNEL(reduce_MOMENTS)
{
    const ht_reduction *r = (const ht_reduction *)call;

    (void)stream;
    return NAME(moments)(r, true);
}

#define FOLD(x) NAME(x##_product)
#define NEUTRAL 1
#if HT_IS_INTEGER || HT_IS_BOOL
#define ACC    SUM
#define PUT(x) TO_TOTAL(x)
#define OUT    TOTAL
#else
#define ACC    WIDE
#define PUT(x) (x)
#define OUT    WIDE
#endif
#define GET(x) ((ACC)LOAD(x))

HT_INLINE ACC NAME(product_step)(ACC product, ACC x)
{
    return product * x;
}
#include "backends/cpu/reduce/fold.inc.c"

HT_KERNEL(reduce_PROD)
{
    const ht_reduction *r = (const ht_reduction *)call;

    (void)stream;
    return NAME(fold_product)(r, NAME(product_step), true, 0);
}

#if HT_IS_FLOAT
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
    return NAME(fold_magnitudes)(r, NAME(wide_step), true, 0);
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
    return NAME(fold_squares)(r, NAME(wide_step), true, 0);
}
#endif

#if !HT_IS_COMPLEX
#include "backends/cpu/reduce/extreme.inc.c"
#include "backends/cpu/reduce/reduce_extreme.inc.c"

#include "backends/cpu/reduce/arg.inc.c"

HT_KERNEL(reduce_ARGMAX)
{
    const ht_reduction *r = (const ht_reduction *)call;

    (void)stream;
    return NAME(arg)(r, NAME(above));
}

HT_KERNEL(reduce_ARGMIN)
{
    const ht_reduction *r = (const ht_reduction *)call;

    (void)stream;
    return NAME(arg)(r, NAME(below));
}
#endif

static void NAME(fill_reduce)(ht_kernel_table *k)
{
    k->at[HT_KERNEL_SUM][ID] = NAME(reduce_SUM);
    k->at[HT_KERNEL_SUM_WIDE][ID] = NAME(reduce_SUM_WIDE);
    k->at[HT_KERNEL_MEAN][ID] = NAME(reduce_MEAN);
    k->at[HT_KERNEL_PROD][ID] = NAME(reduce_PROD);
    k->at[HT_KERNEL_SPREAD][ID] = NAME(reduce_SPREAD);
    k->at[HT_KERNEL_MOMENTS][ID] = NAME(reduce_MOMENTS);
#if HT_IS_FLOAT
    k->at[HT_KERNEL_SUM_ABS][ID] = NAME(reduce_SUM_ABS);
    k->at[HT_KERNEL_SUM_SQUARES][ID] = NAME(reduce_SUM_SQUARES);
#endif
#if !HT_IS_COMPLEX
    k->at[HT_KERNEL_MAX][ID] = NAME(reduce_MAX);
    k->at[HT_KERNEL_MIN][ID] = NAME(reduce_MIN);
    k->at[HT_KERNEL_ARGMAX][ID] = NAME(reduce_ARGMAX);
    k->at[HT_KERNEL_ARGMIN][ID] = NAME(reduce_ARGMIN);
#endif
}

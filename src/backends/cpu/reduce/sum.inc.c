/* SPDX-License-Identifier: MIT
 *
 * Template: sums and means. All fold rows of the input into a row of accumulators, so that the
 * inner loop is elementwise and becomes vector code. The order of additions depends only on shape
 * and strides. */

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

static void NAME(fill_sum)(ht_kernel_table *k)
{
    k->at[HT_KERNEL_SUM][ID] = NAME(reduce_SUM);
    k->at[HT_KERNEL_SUM_WIDE][ID] = NAME(reduce_SUM_WIDE);
    k->at[HT_KERNEL_MEAN][ID] = NAME(reduce_MEAN);
}

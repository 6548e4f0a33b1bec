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
#include "backends/cpu/reduce/fold.inc.c"

static int NAME(sum_of_kind)(const ht_reduction *r, int kind)
{
    return NAME(fold_wide)(r, NAME(wide_step), true, kind);
}

static int NAME(reduce_SUM)(void *stream, const ht_reduction *r)
{
    (void)stream;
#if HT_IS_INTEGER || HT_IS_BOOL
    return NAME(fold_sum)(r, NAME(sum_step), true, 0);
#else
    return NAME(sum_of_kind)(r, HT_SUM_TOTAL);
#endif
}

static int NAME(reduce_SUM_WIDE)(void *stream, const ht_reduction *r)
{
    (void)stream;
    return NAME(sum_of_kind)(r, HT_SUM_WIDE);
}

static int NAME(reduce_MEAN)(void *stream, const ht_reduction *r)
{
    (void)stream;
    return NAME(sum_of_kind)(r, HT_SUM_MEAN);
}

#include "backends/cpu/reduce/deviations.inc.c"

static int NAME(reduce_DEVIATIONS)(void *stream, const ht_reduction *r)
{
    (void)stream;
    return NAME(deviations)(r);
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

static int NAME(reduce_SUM_ABS)(void *stream, const ht_reduction *r)
{
    (void)stream;
    return NAME(fold_magnitudes)(r, NAME(wide_step), true, 0);
}

#define FOLD(x) NAME(x##_squares)
#define ACC     double
#define GET(x)  NAME(square)(x)
#define PUT(x)  (x)
#define OUT     double
#include "backends/cpu/reduce/fold.inc.c"

static int NAME(reduce_SUM_SQUARES)(void *stream, const ht_reduction *r)
{
    (void)stream;
    return NAME(fold_squares)(r, NAME(wide_step), true, 0);
}
#endif

#if !HT_IS_COMPLEX
#include "backends/cpu/reduce/extreme.inc.c"
#include "backends/cpu/reduce/reduce_extreme.inc.c"

#include "backends/cpu/reduce/arg.inc.c"

static int NAME(reduce_ARGMAX)(void *stream, const ht_reduction *r)
{
    (void)stream;
    return NAME(arg)(r, NAME(above));
}

static int NAME(reduce_ARGMIN)(void *stream, const ht_reduction *r)
{
    (void)stream;
    return NAME(arg)(r, NAME(below));
}
#endif

static void NAME(fill_reduce)(ht_kernels *k)
{
    k->reduce[HT_REDUCE_SUM][ID] = NAME(reduce_SUM);
    k->reduce[HT_REDUCE_SUM_WIDE][ID] = NAME(reduce_SUM_WIDE);
    k->reduce[HT_REDUCE_MEAN][ID] = NAME(reduce_MEAN);
    k->reduce[HT_REDUCE_DEVIATIONS][ID] = NAME(reduce_DEVIATIONS);
#if HT_IS_FLOAT
    k->reduce[HT_REDUCE_SUM_ABS][ID] = NAME(reduce_SUM_ABS);
    k->reduce[HT_REDUCE_SUM_SQUARES][ID] = NAME(reduce_SUM_SQUARES);
#endif
#if !HT_IS_COMPLEX
    k->reduce[HT_REDUCE_MAX][ID] = NAME(reduce_MAX);
    k->reduce[HT_REDUCE_MIN][ID] = NAME(reduce_MIN);
    k->reduce[HT_REDUCE_ARGMAX][ID] = NAME(reduce_ARGMAX);
    k->reduce[HT_REDUCE_ARGMIN][ID] = NAME(reduce_ARGMIN);
#endif
}

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

#define FOLD(x)         NAME(x##_sum)
#define ACC             SUM
#define GET(x)          ((SUM)LOAD(x))
#define PUT(y, at, acc) (((TOTAL *)(y))[at] = TO_TOTAL(acc))
#define PUT_BYTES       sizeof(TOTAL)
#include "core/cpu/reduce_fold.inc.c"
#endif

/* A sum in its accumulator's dtype, in the input's, or as a mean. */
HT_INLINE void NAME(put_wide)(const ht_reduction *r, int kind, void *y, int64_t at, WIDE sum)
{
    if (kind == HT_SUM_TOTAL)
        ((TOTAL *)y)[at] = TO_TOTAL(sum);
    else if (kind == HT_SUM_WIDE)
        ((WIDE *)y)[at] = sum / r->divisor;
    else
        ((MEAN *)y)[at] = TO_MEAN(sum / r->divisor);
}

HT_INLINE size_t NAME(wide_bytes)(int kind)
{
    return kind == HT_SUM_TOTAL ? sizeof(TOTAL) : kind == HT_SUM_WIDE ? sizeof(WIDE) : sizeof(MEAN);
}

#define FOLD(x)         NAME(x##_wide)
#define ACC             WIDE
#define GET(x)          ((WIDE)LOAD(x))
#define PUT(y, at, acc) NAME(put_wide)(r, kind, y, at, acc)
#define PUT_BYTES       NAME(wide_bytes)(kind)
#include "core/cpu/reduce_fold.inc.c"

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

#include "core/cpu/reduce_deviations.inc.c"

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

#define FOLD(x)         NAME(x##_magnitudes)
#define ACC             double
#define GET(x)          NAME(magnitude)(x)
#define PUT(y, at, acc) (((double *)(y))[at] = (acc))
#define PUT_BYTES       sizeof(double)
#include "core/cpu/reduce_fold.inc.c"

static int NAME(reduce_SUM_ABS)(void *stream, const ht_reduction *r)
{
    (void)stream;
    return NAME(fold_magnitudes)(r, NAME(wide_step), true, 0);
}

#define FOLD(x)         NAME(x##_squares)
#define ACC             double
#define GET(x)          NAME(square)(x)
#define PUT(y, at, acc) (((double *)(y))[at] = (acc))
#define PUT_BYTES       sizeof(double)
#include "core/cpu/reduce_fold.inc.c"

static int NAME(reduce_SUM_SQUARES)(void *stream, const ht_reduction *r)
{
    (void)stream;
    return NAME(fold_squares)(r, NAME(wide_step), true, 0);
}
#endif

#if !HT_IS_COMPLEX
#define FOLD(x)         NAME(x##_extreme)
#define ACC             C
#define GET(x)          ((C)LOAD(x))
#define PUT(y, at, acc) (((T *)(y))[at] = STORE(acc))
#define PUT_BYTES       sizeof(T)
#include "core/cpu/reduce_fold.inc.c"
#include "core/cpu/extreme.inc.c"

static int NAME(reduce_MAX)(void *stream, const ht_reduction *r)
{
    (void)stream;
    return NAME(fold_extreme)(r, NAME(max_step), false, 0);
}

static int NAME(reduce_MIN)(void *stream, const ht_reduction *r)
{
    (void)stream;
    return NAME(fold_extreme)(r, NAME(min_step), false, 0);
}

#include "core/cpu/reduce_arg.inc.c"

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

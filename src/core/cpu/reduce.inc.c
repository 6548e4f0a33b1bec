/* SPDX-License-Identifier: MIT
 *
 * Template: reductions. All fold rows of the input into a row of accumulators, so that the inner
 * loop is elementwise and becomes vector code; the order of additions depends on shape and strides
 * alone. */

#define FOLD(x) NAME(x##_sum)
#define ACC     SUM
#define OUT     TOTAL
#define GET(x)  ((SUM)LOAD(x))
#define PUT     TO_TOTAL
#include "core/cpu/reduce_fold.inc.c"

HT_INLINE SUM NAME(sum_step)(SUM sum, SUM x)
{
    return sum + x;
}

static int NAME(reduce_SUM)(void *stream, const ht_reduction *r)
{
    (void)stream;
    return NAME(fold_sum)(r, NAME(sum_step), true);
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

HT_INLINE double NAME(magnitude_step)(double sum, double x)
{
    return sum + x;
}

#define FOLD(x) NAME(x##_magnitudes)
#define ACC     double
#define OUT     double
#define GET(x)  NAME(magnitude)(x)
#define PUT(x)  (x)
#include "core/cpu/reduce_fold.inc.c"

static int NAME(reduce_SUM_ABS)(void *stream, const ht_reduction *r)
{
    (void)stream;
    return NAME(fold_magnitudes)(r, NAME(magnitude_step), true);
}

#define FOLD(x) NAME(x##_squares)
#define ACC     double
#define OUT     double
#define GET(x)  NAME(square)(x)
#define PUT(x)  (x)
#include "core/cpu/reduce_fold.inc.c"

static int NAME(reduce_SUM_SQUARES)(void *stream, const ht_reduction *r)
{
    (void)stream;
    return NAME(fold_squares)(r, NAME(magnitude_step), true);
}
#endif

#if !HT_IS_COMPLEX
#define FOLD(x) NAME(x##_extreme)
#define ACC     C
#define OUT     T
#define GET(x)  ((C)LOAD(x))
#define PUT     STORE
#include "core/cpu/reduce_fold.inc.c"
#include "core/cpu/extreme.inc.c"

static int NAME(reduce_MAX)(void *stream, const ht_reduction *r)
{
    (void)stream;
    return NAME(fold_extreme)(r, NAME(max_step), false);
}

static int NAME(reduce_MIN)(void *stream, const ht_reduction *r)
{
    (void)stream;
    return NAME(fold_extreme)(r, NAME(min_step), false);
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

/* SPDX-License-Identifier: MIT
 *
 * Statistics over one axis (negative from the end) or all (HT_NONE); the axis is dropped.
 * Collective when the split axis is reduced: the result then has no split; otherwise it is split as
 * x. NaN propagates. Empty reductions of max and argmax are HT_ERR_SHAPE. Sums are those of ht_sum:
 * rounded once; extremes and positions have the same bits on any number of ranks.
 * Source: heat.statistics. */
#ifndef HT_STATISTICS_H
#define HT_STATISTICS_H

#include "ht/reduction.h"

HT_BEGIN_DECLS

/* Divided before it is rounded; integers give float32. Differentiable. */
HT_API ht_tensor *ht_mean(ht_tensor *x, int axis);
HT_API ht_tensor *ht_mean_ext(ht_tensor *x, const ht_reduce_options *options);

/* Mean of |x - mean|^2, kept in float64 however far the mean is from 0, and its square root; real
 * where x is complex; integers give float32. Differentiable. */
HT_API ht_tensor *ht_var(ht_tensor *x, int axis);
HT_API ht_tensor *ht_std(ht_tensor *x, int axis);
HT_API ht_tensor *ht_var_ext(ht_tensor *x, const ht_reduce_options *options);
HT_API ht_tensor *ht_std_ext(ht_tensor *x, const ht_reduce_options *options);

/* Differentiable; ties share the gradient. Of zeros -0 is the smaller. */
HT_API ht_tensor *ht_max(ht_tensor *x, int axis);
HT_API ht_tensor *ht_min(ht_tensor *x, int axis);
HT_API ht_tensor *ht_max_ext(ht_tensor *x, const ht_reduce_options *options);
HT_API ht_tensor *ht_min_ext(ht_tensor *x, const ht_reduce_options *options);
/* The maximum less the minimum. */
HT_API ht_tensor *ht_ptp(ht_tensor *x, int axis);
/* Of two operands, element by element, with ht/arithmetics.h's rules; not bool or complex; ties
 * share the gradient. */
HT_API ht_tensor *ht_maximum(ht_tensor *a, ht_tensor *b);
HT_API ht_tensor *ht_minimum(ht_tensor *a, ht_tensor *b);

HT_API ht_tensor *ht_argmax(ht_tensor *x, int axis); /* int64; the first of equals; global index */
HT_API ht_tensor *ht_argmin(ht_tensor *x, int axis);
/* Of several axes: the position inside these, row-major. */
HT_API ht_tensor *ht_argmax_ext(ht_tensor *x, const ht_reduce_options *options);
HT_API ht_tensor *ht_argmin_ext(ht_tensor *x, const ht_reduce_options *options);

/* Into *counts (bins; int64) how many elements of x lie in each of so many equal bins from low to
 * high, and into *edges (bins + 1; float64; NULL: not wanted) where these begin; both without a
 * split, on x's device. Bins hold their lower edge, the last one both. With low and high 0 the
 * range is that of the elements, 0 to 1 where there are none; one of length 0 is widened by 0.5 to
 * either side. Elements outside, and NaN, are in no bin; NaN or an infinity where the range is to
 * be found is HT_ERR_ARGUMENT. Numbers are compared as float64. Collective when x is split; each
 * rank reads its own part. bool, integers and floating dtypes. Source: numpy.histogram, heat.histc.
 */
HT_API ht_status ht_histogram(ht_tensor *x, int64_t bins, double low, double high,
                              ht_tensor **counts, ht_tensor **edges);

HT_END_DECLS
#endif

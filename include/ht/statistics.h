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

/* Central moments m_k = mean of (x - mean)^k, in float64 and as exact where the mean is far from 0;
 * the result has x's dtype, float32 of integers and bool. skew = m_3 / m_2^1.5, unbiased: times
 * sqrt(n (n - 1)) / (n - 2). kurtosis k = m_4 / m_2^2, unbiased: (n - 1) ((n + 1) k - 3 (n - 1)) /
 * ((n - 2) (n - 3)) + 3; fischer: less 3, so that it is 0 of a normal distribution. NaN where all
 * elements are equal, or too few for the correction. HT_ERR_DTYPE: complex. Differentiable.
 * Source: heat.skew, heat.kurtosis. */
HT_API ht_tensor *ht_skew(ht_tensor *x, int axis, bool unbiased);
HT_API ht_tensor *ht_kurtosis(ht_tensor *x, int axis, bool unbiased, bool fischer);

/* The sum of x times weights over that of the weights, both in float64 (complex128), rounded to the
 * dtype that x and weights promote to, float32 of integers. weights: x's shape, or the length of
 * the one axis; NULL: ht_mean. Collective where there are weights. The long form gives the sums of
 * weights, too, in the shape, slabs and dtype of the average. HT_ERR_ARGUMENT: weights that add up
 * to 0; HT_ERR_SHAPE. Differentiable, by the weights too. Source: heat.average. */
HT_API ht_tensor *ht_average(ht_tensor *x, int axis, ht_tensor *weights);
HT_API ht_status ht_average_ext(ht_tensor *x, int axis, ht_tensor *weights, ht_tensor **average,
                                ht_tensor **sum_of_weights);

/* Covariances c[i][j] = sum over k of (m[i][k] - mean_i) conj(m[j][k] - mean_j) / (n - ddof) of the
 * variables that are m's rows (rowvar) or columns, n observations each, and those of y (NULL: none)
 * behind them; without axes where one tensor of one axis is all. In float64 (complex128), exact
 * where means are far from 0, then rounded to the dtype that m and y promote to, float32 of
 * integers. ddof is 0 if bias, else 1. corrcoef: c[i][j] / sqrt(c[i][i] c[j][j]), if real cut to -1
 * ... 1, NaN beside a constant. Collective if an operand is split; the result is split along its
 * rows if it is at all (ht_matmul). HT_ERR_SHAPE: more than 2 axes, or other observations than
 * m's; HT_ERR_ARGUMENT: n no larger than ddof (cov). Differentiable. Source: heat.cov,
 * numpy.corrcoef. */
HT_API ht_tensor *ht_cov(ht_tensor *m, ht_tensor *y, bool rowvar, bool bias);
HT_API ht_tensor *ht_cov_ext(ht_tensor *m, ht_tensor *y, bool rowvar, int64_t ddof);
HT_API ht_tensor *ht_corrcoef(ht_tensor *m, ht_tensor *y, bool rowvar);

/* Into *counts (bins; int64) how many elements of x lie in each of so many equal bins from low to
 * high, and into *edges (bins + 1; float64; NULL: not wanted) where these begin; both without a
 * split, on x's device. Bins hold their lower edge, the last one both. With low and high 0 the
 * range is that of the elements, 0 to 1 where there are none; one of length 0 is widened by 0.5 to
 * either side. Elements outside, and NaN, are in no bin. HT_ERR_ARGUMENT: NaN or an infinity where
 * the range is to be found, or a number so large (5e18) that 0.5 does not widen its range. Numbers
 * are compared as float64. Collective when x is split; each rank reads its own part. bool, integers
 * and floating dtypes. Source: numpy.histogram, heat.histc. */
HT_API ht_status ht_histogram(ht_tensor *x, int64_t bins, double low, double high,
                              ht_tensor **counts, ht_tensor **edges);

/* Between two elements, of which the place that is asked for lies above the lower by a part: low +
 * part (high - low); one of them, or their mean; the nearer, of even place in the middle. */
typedef enum ht_interpolation {
    HT_LINEAR,
    HT_LOWER,
    HT_HIGHER,
    HT_MIDPOINT,
    HT_NEAREST
} ht_interpolation;

/* The element at the place q / 100 (n - 1), from 0 on, of the n elements of x in order along an
 * axis, or of all (HT_NONE); of ht_quantile, q (n - 1); of ht_median, with q 0.5. Between two
 * places linear. NaN where there is one. float32 for float32, else float64. Found by counting, some
 * digits of all elements at a time, not by sorting; see src/core/algorithms/quantile.c for what
 * travels. Of several q's the results stand along a first axis of that length. Not differentiable.
 * HT_ERR_ARGUMENT: q below 0 or above 100, or 1; HT_ERR_SHAPE: no elements; HT_ERR_DTYPE: complex.
 */
HT_API ht_tensor *ht_percentile(ht_tensor *x, double q, int axis);
HT_API ht_tensor *ht_percentile_ext(ht_tensor *x, int count, const double q[], int axis,
                                    ht_interpolation method, bool keepdims);
HT_API ht_tensor *ht_quantile(ht_tensor *x, double q, int axis);
HT_API ht_tensor *ht_quantile_ext(ht_tensor *x, int count, const double q[], int axis,
                                  ht_interpolation method, bool keepdims);
HT_API ht_tensor *ht_median(ht_tensor *x, int axis);

/* For each element of x the number (int64) of the bin that it is in, of bins between boundaries
 * (one axis, in order), from 0 below the first to as many as there are above the last: bin i is
 *     boundaries[i - 1] < x <= boundaries[i], right: boundaries[i - 1] <= x < boundaries[i]
 * and of ht_digitize, which is NumPy's, the other way around:
 *     bins[i - 1] <= x < bins[i], right: bins[i - 1] < x <= bins[i];
 * its bins may also go down. Compared in the dtype to which both promote; NaN is above all. Shape
 * and split of x; collective where boundaries are split, whose slabs are broadcast one by one, and,
 * of ht_digitize, logically else. Not differentiable. ht_searchsorted is ht_bucketize under NumPy's
 * name. */
HT_API ht_tensor *ht_bucketize(ht_tensor *x, ht_tensor *boundaries, bool right);
HT_API ht_tensor *ht_digitize(ht_tensor *x, ht_tensor *bins, bool right);
HT_API ht_tensor *ht_searchsorted(ht_tensor *sorted, ht_tensor *x, bool right);

/* y[i] = how many elements of x (one axis; integers from 0 on, bool) are i, int64; with weights (in
 * x's shape; NULL: none) the sum of theirs, float32 for float32, else float64; so many as x's
 * largest element has, and at least minlength. Without a split. Collective if x is split (one sum
 * over the ranks). Not differentiable. HT_ERR_ARGUMENT: an element below 0. */
HT_API ht_tensor *ht_bincount(ht_tensor *x, ht_tensor *weights, int64_t minlength);

HT_END_DECLS
#endif

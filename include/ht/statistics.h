/* SPDX-License-Identifier: MIT
 *
 * Statistics along one axis, or of all elements. Source: heat.statistics.
 *
 * Parameters that many functions share:
 *     axis: the reduced axis, which the result lacks. A negative axis counts from the end; HT_NONE
 *     reduces all axes.
 *     options: several axes, kept axes and more (ht/reduction.h); NULL: the defaults.
 *
 * Collective when the split axis is reduced: the result then has no split. Otherwise nothing
 * travels, and the result has the split of x, which follows its axis. Comments name the exceptions
 * (ht_cov).
 * NaN propagates; the first one is the position of an extreme. Without elements, means, variances,
 * skewness and kurtosis are NaN. Sums are those of ht_sum: each is rounded once. Extremes and
 * positions have the same bits on any number of ranks.
 * Errors: HT_ERR_ARGUMENT for an axis that x lacks. */
#ifndef HT_STATISTICS_H
#define HT_STATISTICS_H

#include "ht/reduction.h"

HT_BEGIN_DECLS

/* Returns the arithmetic mean of x along axis. The sum is divided before it is rounded.
 *
 * Integers and bool are summed in float64: exactly, while no partial sum is above 2^53.
 * Differentiable.
 * Result: the dtype of x; float32 for integers and bool. */
HT_API ht_tensor *ht_mean(ht_tensor *x, int axis);

/* ht_mean of x with options: several axes, kept axes, dtype and `where`. Differentiable. */
HT_API ht_tensor *ht_mean_ext(ht_tensor *x, const ht_reduce_options *options);

/* Returns the variance of x along axis: the mean of |x - mean|^2, as in NumPy. torch.var divides by
 * n - 1 (ht_var_ext with ddof 1).
 *
 * It is kept in float64 and is accurate even if the mean is far from 0. Differentiable.
 * Result: the dtype of x, or that of its parts if x is complex; float32 for integers and bool. */
HT_API ht_tensor *ht_var(ht_tensor *x, int axis);

/* Returns the standard deviation of x along axis: the square root of ht_var, with its accuracy and
 * dtype. Differentiable. */
HT_API ht_tensor *ht_std(ht_tensor *x, int axis);

/* ht_var of x with options: several axes, kept axes, dtype, ddof and `where`. Differentiable.
 */
HT_API ht_tensor *ht_var_ext(ht_tensor *x, const ht_reduce_options *options);

/* ht_std of x with options: several axes, kept axes, dtype, ddof and `where`. Differentiable.
 */
HT_API ht_tensor *ht_std_ext(ht_tensor *x, const ht_reduce_options *options);

/* Returns the largest element of x along axis; 0 is larger than -0.
 *
 * Differentiable; equal elements share the gradient.
 * Result: the dtype of x, bool included.
 * Errors: HT_ERR_SHAPE if the axis has no elements, HT_ERR_DTYPE for a complex x. */
HT_API ht_tensor *ht_max(ht_tensor *x, int axis);

/* Returns the smallest element of x along axis; -0 is smaller than 0.
 *
 * Differentiable; equal elements share the gradient.
 * Result: the dtype of x, bool included.
 * Errors: HT_ERR_SHAPE if the axis has no elements, HT_ERR_DTYPE for a complex x. */
HT_API ht_tensor *ht_min(ht_tensor *x, int axis);

/* ht_max of x with options: several axes, kept axes and an initial value. With an initial
 * value x may be empty. */
HT_API ht_tensor *ht_max_ext(ht_tensor *x, const ht_reduce_options *options);

/* ht_min of x with options: several axes, kept axes and an initial value. With an initial
 * value x may be empty. */
HT_API ht_tensor *ht_min_ext(ht_tensor *x, const ht_reduce_options *options);

/* Returns max(x) - min(x) along axis ("peak to peak").
 *
 * Differentiable.
 * Result: the dtype of x.
 * Errors: HT_ERR_SHAPE if the axis has no elements, HT_ERR_DTYPE for bool and for a complex x. */
HT_API ht_tensor *ht_ptp(ht_tensor *x, int axis);

/* max(a, b), element by element.
 *
 * a, b: operands by the rules of ht/arithmetics.h, which also names the errors.
 * Logically collective; collective if an operand has to be moved (ht/arithmetics.h).
 * Differentiable; equal elements share the gradient.
 * Result: scoped; the dtype to which a and b promote, and the split of ht/arithmetics.h.
 * Errors: HT_ERR_DTYPE for bool and complex numbers. */
HT_API ht_tensor *ht_maximum(ht_tensor *a, ht_tensor *b);

/* min(a, b), element by element.
 *
 * a, b: operands by the rules of ht/arithmetics.h, which also names the errors.
 * Logically collective; collective if an operand has to be moved (ht/arithmetics.h).
 * Differentiable; equal elements share the gradient.
 * Result: scoped; the dtype to which a and b promote, and the split of ht/arithmetics.h.
 * Errors: HT_ERR_DTYPE for bool and complex numbers. */
HT_API ht_tensor *ht_minimum(ht_tensor *a, ht_tensor *b);

/* Returns the global index of the largest element of x along axis; the first of equal ones.
 *
 * Not differentiable.
 * Result: int64. With HT_NONE, the position in row-major order.
 * Errors: HT_ERR_SHAPE if the axis has no elements, HT_ERR_DTYPE for a complex x. */
HT_API ht_tensor *ht_argmax(ht_tensor *x, int axis);

/* Returns the global index of the smallest element of x along axis; the first of equal ones.
 *
 * Not differentiable.
 * Result: int64. With HT_NONE, the position in row-major order.
 * Errors: HT_ERR_SHAPE if the axis has no elements, HT_ERR_DTYPE for a complex x. */
HT_API ht_tensor *ht_argmin(ht_tensor *x, int axis);

/* ht_argmax of x with options: several axes and kept axes.
 *
 * Result: for several axes, the position inside these in row-major order. */
HT_API ht_tensor *ht_argmax_ext(ht_tensor *x, const ht_reduce_options *options);

/* ht_argmin of x with options: several axes and kept axes.
 *
 * Result: for several axes, the position inside these in row-major order. */
HT_API ht_tensor *ht_argmin_ext(ht_tensor *x, const ht_reduce_options *options);

/* Returns the skewness of x along axis: m_3 / m_2^1.5, where m_k is the mean of (x - mean)^k.
 *
 * Moments are kept in float64 and are accurate even if the mean is far from 0.
 * unbiased: multiplies by sqrt(n (n - 1)) / (n - 2) for n elements.
 * Differentiable.
 * Result: the dtype of x; float32 for integers and bool. NaN if all elements are equal, or if
 * unbiased has n < 3.
 * Errors: HT_ERR_DTYPE for a complex x.
 * Source: heat.skew. */
HT_API ht_tensor *ht_skew(ht_tensor *x, int axis, bool unbiased);

/* Returns the kurtosis of x along axis: k = m_4 / m_2^2, where m_k is the mean of (x - mean)^k.
 *
 * Moments are kept in float64 and are accurate even if the mean is far from 0.
 * unbiased: returns (n - 1) ((n + 1) k - 3 (n - 1)) / ((n - 2) (n - 3)) + 3 for n elements.
 * fischer: subtracts 3, which gives 0 for a normal distribution.
 * Differentiable.
 * Result: the dtype of x; float32 for integers and bool. NaN if all elements are equal, or if
 * unbiased has n < 4.
 * Errors: HT_ERR_DTYPE for a complex x.
 * Source: heat.kurtosis. */
HT_API ht_tensor *ht_kurtosis(ht_tensor *x, int axis, bool unbiased, bool fischer);

/* Returns the weighted mean of x along axis: sum(x weights) / sum(weights).
 *
 * Both sums are kept in float64 or complex128, and the quotient is rounded once.
 * weights: the shape of x, or (length of axis), with any split and slabs. NULL: ht_mean, even if an
 *   error made it NULL.
 * Collective if there are weights. Differentiable in x and weights.
 * Result: the dtype to which x and weights promote; float32 for integers and bool. It is split as
 *   the sum of ht_mul of x and weights: a replicated x takes the split of weights.
 * Errors: HT_ERR_ARGUMENT if weights add up to 0 for an element of the result; HT_ERR_SHAPE for
 * weights of another shape; HT_ERR_COMM and HT_ERR_DEVICE for weights elsewhere than x.
 * Source: heat.average. */
HT_API ht_tensor *ht_average(ht_tensor *x, int axis, ht_tensor *weights);

/* ht_average of x along axis with weights, which also returns the sums of the weights.
 *
 * average: receives the result of ht_average.
 * sum_of_weights: receives the sums, in the shape, slabs and dtype of the average. Without weights
 * they are counts of elements.
 * Errors: also HT_ERR_ARGUMENT if average or sum_of_weights is NULL. */
HT_API ht_status ht_average_ext(ht_tensor *x, int axis, ht_tensor *weights, ht_tensor **average,
                                ht_tensor **sum_of_weights);

/* c[i][j] = sum over k of (m[i][k] - mean_i) conj(m[j][k] - mean_j) / (n - ddof), the covariances.
 *
 * They are kept in float64 or complex128, accurate even if means are far from 0, and rounded once.
 * m: variables with n observations each, of one axis or two. One axis is one variable.
 * y: more variables with n observations, which follow those of m; NULL: none.
 * rowvar: true if rows are variables, false if columns are.
 * bias: ddof is 0 if bias, else 1.
 * Collective if an operand is split. Differentiable.
 * Result: the dtype to which m and y promote; float32 for integers and bool. It has no axes and no
 * split if y is NULL and m has one axis. Else it is split along its rows (axis 0) if an operand is
 * split, along any axis: in the slabs of the variables, or balanced.
 * Errors: HT_ERR_SHAPE unless m and y have one axis or two, or if m and y have different numbers of
 * observations. HT_ERR_ARGUMENT if n <= ddof.
 * Source: heat.cov. */
HT_API ht_tensor *ht_cov(ht_tensor *m, ht_tensor *y, bool rowvar, bool bias);

/* ht_cov of m and y with rowvar and any ddof below n in place of bias, also a negative one. */
HT_API ht_tensor *ht_cov_ext(ht_tensor *m, ht_tensor *y, bool rowvar, int64_t ddof);

/* Returns the correlation coefficients c[i][j] / sqrt(c[i][i] c[j][j]) for the covariances c of
 * ht_cov.
 *
 * m, y, rowvar: as for ht_cov, with its accuracy, split and errors, where ddof is 0.
 * Collective if an operand is split. Differentiable.
 * Result: real coefficients are clipped to -1 ... 1. Those of a constant variable are NaN, and so
 * are all if there is one observation. Without observations it is HT_ERR_ARGUMENT.
 * Source: numpy.corrcoef. */
HT_API ht_tensor *ht_corrcoef(ht_tensor *m, ht_tensor *y, bool rowvar);

/* Counts the elements of x in `bins` equal-width bins from low to high.
 *
 * Numbers are compared as float64. Each rank reads its own part of x. A bin contains its lower
 * edge; the last one contains both edges. Elements outside of the range, and NaN, are not counted.
 * x: bool, integers or a floating dtype.
 * bins: 1 to 2^59 - 1.
 * low, high: the range. Both 0: the range of the elements, or 0 to 1 if there are none. A range of
 * length 0 is widened by 0.5 to either side.
 * counts: receives (bins) of int64.
 * edges: receives (bins + 1) of float64, the edges of the bins; NULL: not wanted.
 * Collective if x is split. Not differentiable.
 * Result: counts and edges have no split and are on the device of x.
 * Errors: HT_ERR_ARGUMENT for another number of bins, if NaN or an infinity determines the range,
 * or if low > high. HT_ERR_ARGUMENT also for a range of one number so large (5e18) that 0.5 does
 * not widen it. HT_ERR_DTYPE for a complex x.
 * Source: numpy.histogram, heat.histc. */
HT_API ht_status ht_histogram(ht_tensor *x, int64_t bins, double low, double high,
                              ht_tensor **counts, ht_tensor **edges);

/* The quantile at a position between two elements, low and high: position - floor(position) is
 * part.
 * HT_LINEAR: low + part (high - low). HT_LOWER: low. HT_HIGHER: high. HT_MIDPOINT: their mean.
 * HT_NEAREST: the nearer element, or in the middle the one at the even position. */
typedef enum ht_interpolation {
    HT_LINEAR,
    HT_LOWER,
    HT_HIGHER,
    HT_MIDPOINT,
    HT_NEAREST
} ht_interpolation;

/* Returns the q-th percentile of x along axis: the element at position q / 100 (n - 1) of n in
 * order.
 *
 * Positions count from 0. Between two positions the result is interpolated linearly. Long lines are
 * not
 * sorted: elements are counted by a few digits at a time.
 * x: bool, integers or a floating dtype.
 * q: 0 to 100.
 * axis: HT_NONE takes all elements.
 * Not differentiable.
 * Result: float32 for float32, else float64. NaN if an element is NaN.
 * Errors: HT_ERR_ARGUMENT for another q, HT_ERR_SHAPE if there are no elements, HT_ERR_DTYPE for a
 * complex x. */
HT_API ht_tensor *ht_percentile(ht_tensor *x, double q, int axis);

/* ht_percentile of x along axis with options: several q, the interpolation and kept axes.
 *
 * q: count numbers in any order; the results for them stand along a first axis of length count,
 * also for one.
 * method: an interpolation.
 * keepdims: reduced axes stay with length 1.
 * Result: as of ht_percentile; the index of its split, if any, is 1 larger.
 * Errors: those of ht_percentile; HT_ERR_ARGUMENT for count below 0 or another method, and for a
 * NULL q unless count is 0. */
HT_API ht_tensor *ht_percentile_ext(ht_tensor *x, int count, const double q[], int axis,
                                    ht_interpolation method, bool keepdims);

/* Returns the q-quantile of x along axis: ht_percentile at position q (n - 1).
 *
 * q: 0 to 1.
 * Result: of the dtype of ht_percentile.
 * Errors: those of ht_percentile.
 * Source: numpy.quantile, torch.quantile. */
HT_API ht_tensor *ht_quantile(ht_tensor *x, double q, int axis);

/* ht_quantile of x along axis with options: several q, the interpolation and kept axes.
 *
 * count, q, method, keepdims: as in ht_percentile_ext.
 * Result: as of ht_percentile_ext.
 * Errors: those of ht_percentile_ext. */
HT_API ht_tensor *ht_quantile_ext(ht_tensor *x, int count, const double q[], int axis,
                                  ht_interpolation method, bool keepdims);

/* Returns the median of x along axis: ht_quantile with q 0.5.
 *
 * An even number of elements gives the mean of the two in the middle. torch.median returns the
 * lower one.
 * Result: as of ht_quantile.
 * Errors: those of ht_quantile.
 * Source: heat.median, numpy.median. */
HT_API ht_tensor *ht_median(ht_tensor *x, int axis);

/* Returns for each element of x the number of its bin among sorted boundaries.
 *
 * Bin i is boundaries[i - 1] < x <= boundaries[i], from 0 below the first boundary to their number
 * above the last. Elements are compared in the dtype to which both promote, complex numbers as by
 * ht_sort. NaN is above all boundaries.
 * boundaries: one axis, in ascending order, which is not checked.
 * right: bin i is boundaries[i - 1] <= x < boundaries[i].
 * Collective if boundaries are split, whose slabs are broadcast one by one. Not differentiable.
 * Result: int64, the shape and split of x.
 * Errors: HT_ERR_SHAPE unless boundaries have one axis.
 * Source: torch.bucketize. */
HT_API ht_tensor *ht_bucketize(ht_tensor *x, ht_tensor *boundaries, bool right);

/* Returns for each element of x the number of its bin among sorted bins, with the edges of NumPy.
 *
 * It is ht_bucketize with the other meaning of right: bin i is bins[i - 1] <= x < bins[i].
 * bins: one axis, in ascending or descending order, which is not checked. In descending
 *   order, bin i is bins[i - 1] > x >= bins[i].
 * right: bin i is bins[i - 1] < x <= bins[i], or bins[i - 1] >= x > bins[i].
 * Collective if bins are split, else logically collective. Not differentiable.
 * Result: int64, the shape and split of x.
 * Errors: HT_ERR_SHAPE unless bins have one axis.
 * Source: numpy.digitize. */
HT_API ht_tensor *ht_digitize(ht_tensor *x, ht_tensor *bins, bool right);

/* Returns ht_bucketize(x, sorted, right), under the name of NumPy. */
HT_API ht_tensor *ht_searchsorted(ht_tensor *sorted, ht_tensor *x, bool right);

/* Returns y[i] = the number of elements of x that are i, or the sum of their weights.
 *
 * x: one axis; bool, or integers from 0 on.
 * weights: real numbers in the shape of x, with any split and slabs; NULL: none.
 * minlength: least length of the result, from 0 on.
 * Collective if x is split: one sum over the ranks. Collective also if weights are not split as x;
 * they are moved. Not differentiable.
 * Result: (max(max(x) + 1, minlength)) without a split. int64 without weights, float32 for float32
 * weights, else float64.
 * Errors: HT_ERR_ARGUMENT for an element outside 0 to 2^59 - 1, unless x has one axis, or for
 * minlength below 0. HT_ERR_SHAPE for weights of another shape, HT_ERR_DTYPE for another dtype. */
HT_API ht_tensor *ht_bincount(ht_tensor *x, ht_tensor *weights, int64_t minlength);

HT_END_DECLS
#endif

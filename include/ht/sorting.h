/* SPDX-License-Identifier: MIT
 *
 * Elements in order, of any dtype. Source: heat.manipulations.
 *
 * Complex numbers are compared by their real parts, then by their imaginary parts. NaN is greater
 * than any number: it is last in ascending order, and first in descending order. -0 equals 0.
 * Negative axes count from the end. Results are scoped, and split as x. They are balanced if axis
 * is the split axis, else they have the slabs of x. */
#ifndef HT_SORTING_H
#define HT_SORTING_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* Sorts the elements of x along axis. Equal elements keep their order, in descending order too.
 *
 * descending: true for descending order.
 * values: receives the sorted elements. Differentiable.
 * indices: receives the index of each along axis in x, from 0, in int64; NULL: not wanted.
 * Collective if axis is the split axis. Many lines are distributed so that each is on one rank (two
 * Alltoalls). For few lines, each rank sorts its part. All ranks then find where the slabs of the
 * result begin, and exchange elements once.
 * Errors: HT_ERR_ARGUMENT for an axis that x lacks. */
HT_API ht_status ht_sort(ht_tensor *x, int axis, bool descending, ht_tensor **values,
                         ht_tensor **indices);

/* Returns the indices of ht_sort alone: the index in x of each element of the sorted axis.
 *
 * axis, descending: see ht_sort.
 * Collective if axis is the split axis. Not differentiable.
 * Result: int64.
 * Errors: those of ht_sort. */
HT_API ht_tensor *ht_argsort(ht_tensor *x, int axis, bool descending);

/* Selects the k largest or smallest elements of x along axis, in order; the first ones of equals.
 *
 * The result is the beginning of that of ht_sort. Other elements are not sorted, and they stay on
 * their ranks if k is small compared with the length.
 * k: 0 to the length of axis.
 * largest: true for the largest elements, in descending order; false for the smallest ones, in
 * ascending order.
 * values: receives the elements. Differentiable.
 * indices: receives the index of each along axis in x, in int64; NULL: not wanted.
 * Collective if axis is the split axis.
 * Errors: HT_ERR_ARGUMENT for another k, or for an axis that x lacks. */
HT_API ht_status ht_topk(ht_tensor *x, int64_t k, int axis, bool largest, ht_tensor **values,
                         ht_tensor **indices);

/* Finds the distinct values of x. -0 and 0 are one value; each NaN is a distinct value. The array
 * API and PyTorch do the same.
 *
 * x: any shape; a scalar counts as (1).
 * values: receives the values in ascending order (one axis).
 * inverse: receives for each element of x the index of its value, in int64; NULL: not wanted.
 * counts: receives how often each value occurs, in int64; NULL: not wanted.
 * Collective if x is split: repeated values travel once from each rank. Not differentiable.
 * Result: values and counts are split along axis 0 if x is split, in slabs as they come out
 * (ht_balance). inverse has the shape and slabs of x. */
HT_API ht_status ht_unique(ht_tensor *x, ht_tensor **values, ht_tensor **inverse,
                           ht_tensor **counts);

HT_END_DECLS
#endif

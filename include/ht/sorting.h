/* SPDX-License-Identifier: MIT
 *
 * Elements in order. Complex numbers are compared by their real, then by their imaginary parts; NaN
 * is greater than any number, so that it comes last in ascending order and first in descending one;
 * -0 equals 0. Any dtype. Source: heat.manipulations. */
#ifndef HT_SORTING_H
#define HT_SORTING_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* Into *values the elements of x in order along an axis, and into *indices (int64; NULL: not
 * wanted) where each stood along it, from 0; equal elements stay in their order, in descending
 * order, too. Split as x; balanced where that is along the axis. Collective along the split axis:
 * many lines are dealt out whole (two Alltoalls); of few, each rank sorts its part, all find where
 * the slabs of the result begin, and exchange elements once. Values are differentiable.
 * HT_ERR_ARGUMENT: x has no such axis. */
HT_API ht_status ht_sort(ht_tensor *x, int axis, bool descending, ht_tensor **values,
                         ht_tensor **indices);

/* The indices alone. */
HT_API ht_tensor *ht_argsort(ht_tensor *x, int axis, bool descending);

/* Into *values the k largest elements of x along an axis, or the k smallest, in order, and into
 * *indices where each stood; of equals the first ones. As the beginning of ht_sort, descending or
 * ascending, but the rest is not sorted, and stays where it is if k is small beside the length.
 * Split as x. HT_ERR_ARGUMENT: there are no k. */
HT_API ht_status ht_topk(ht_tensor *x, int64_t k, int axis, bool largest, ht_tensor **values,
                         ht_tensor **indices);

/* Into *values the values that occur in x, once each and in order (one axis); into *inverse (int64,
 * NULL: not wanted) for each element of x which of them it is; into *counts (int64, or NULL) how
 * often each occurs. -0 and 0 are one value, each NaN is one of its own, as in the array API and in
 * PyTorch. Values and counts are split along axis 0 where x is split, in slabs as they come out
 * (ht_balance); the inverse has x's shape and slabs. Collective if x is split: values that repeat
 * travel once from each rank. Not differentiable. */
HT_API ht_status ht_unique(ht_tensor *x, ht_tensor **values, ht_tensor **inverse,
                           ht_tensor **counts);

HT_END_DECLS
#endif

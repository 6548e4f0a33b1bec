/* SPDX-License-Identifier: MIT
 *
 * Shape, layout and distribution. Views share memory with their source; all are differentiable.
 * Source: heat.manipulations. */
#ifndef HT_MANIPULATIONS_H
#define HT_MANIPULATIONS_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* The same elements in row-major order in another shape; one entry may be -1. A view where strides
 * allow, else a copy. Collective if x is split and elements change their rank: the result is then
 * split along axis 0; it stays split with no communication when the split axis keeps its length and
 * the product of the lengths before it. */
HT_API ht_tensor *ht_reshape(ht_tensor *x, int ndim, const int64_t shape[]);

/* Merges the axes start_axis ... last into one, as ht_reshape. */
HT_API ht_tensor *ht_flatten(ht_tensor *x, int start_axis);

/* View with all its axes in the given order (HT_AXES(2, 0, 1); 0, NULL: reversed). The split
 * follows its axis. */
HT_API ht_tensor *ht_permute(ht_tensor *x, int count, const int axes[]);
HT_API ht_tensor *ht_transpose(ht_tensor *x, int axis0, int axis1);

/* View with one axis of length 1 more, or one less. The split axis goes by a resplit instead: one
 * rank has its element and all are to; that is a copy, and collective. */
HT_API ht_tensor *ht_expand_dims(ht_tensor *x, int axis);
HT_API ht_tensor *ht_squeeze(ht_tensor *x, int axis);

/* View of x[..., start : stop, ...] along one axis; 0 <= start <= stop <= length: by its end, as a
 * slice, not by its length, as torch.narrow. Along the split
 * axis the result may be unbalanced (ht_balance). Logically collective; split as x. */
HT_API ht_tensor *ht_narrow(ht_tensor *x, int axis, int64_t start, int64_t stop);

/* Elements in the other direction along the axes (HT_AXES(0, -1); 0, NULL: all). A view, but for
 * the split axis: then a balanced copy, and collective (one Alltoall). Differentiable. */
HT_API ht_tensor *ht_flip(ht_tensor *x, int count, const int axes[]);

/* Read-only view in a larger shape with stride 0 along new axes. */
HT_API ht_tensor *ht_broadcast_to(ht_tensor *x, int ndim, const int64_t shape[]);

/* Tensors joined along an axis; other axes agree. Split as the first split operand. Collective when
 * joined along the split axis (one exchange of slabs). */
HT_API ht_tensor *ht_concatenate(int count, ht_tensor *const xs[], int axis);

/* The same elements with another split (HT_NONE: replicated on every rank), in memory of their own;
 * x itself when it has that split. Collective unless the split is unchanged or x has none: then
 * each rank copies its slab. One Alltoall or Allgather. In place: the gradient of x moves along. */
HT_API ht_tensor *ht_resplit(ht_tensor *x, int split);
HT_API ht_status ht_resplit_(ht_tensor *x, int split);

/* x in the canonical slabs of ht_comm_chunk; x itself when it is. Collective if x is split. */
HT_API ht_tensor *ht_balance(ht_tensor *x);

HT_END_DECLS
#endif

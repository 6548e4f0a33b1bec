/* SPDX-License-Identifier: MIT
 *
 * Shape, layout and distribution. Views share memory with their source; all are differentiable.
 * Source: heat.manipulations. */
#ifndef HT_MANIPULATIONS_H
#define HT_MANIPULATIONS_H

#include "ht/number.h"
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

/* broadcast[i] <- xs[i] in the shape that all of them broadcast to, as ht_broadcast_to. */
HT_API ht_status ht_broadcast_arrays(int count, ht_tensor *const xs[], ht_tensor *broadcast[]);

/* grids[i] <- the values of xs[i], a tensor of one axis, along axis i of the grid that all of them
 * make; with xy axes 0 and 1 are exchanged, as NumPy does it unless it is told otherwise. Read-only
 * views, each split as its tensor. */
HT_API ht_status ht_meshgrid(int count, ht_tensor *const xs[], bool xy, ht_tensor *grids[]);

/* Tensors joined along an axis; other axes agree. Split as the first split operand. Collective when
 * joined along the split axis (one exchange of slabs). */
HT_API ht_tensor *ht_concatenate(int count, ht_tensor *const xs[], int axis);

/* Tensors of one shape along a new axis; and, as ht_concatenate, along axis 1 (axis 0 of tensors of
 * one axis), along axis 0 with tensors of one axis as rows, and along axis 1 with those as columns.
 */
HT_API ht_tensor *ht_stack(int count, ht_tensor *const xs[], int axis);
HT_API ht_tensor *ht_hstack(int count, ht_tensor *const xs[]);
HT_API ht_tensor *ht_vstack(int count, ht_tensor *const xs[]);
HT_API ht_tensor *ht_column_stack(int count, ht_tensor *const xs[]);

/* parts[i] <- the i-th of so many equal parts along an axis, views as those of ht_narrow, scoped;
 * or of count + 1 parts that begin at 0, at[0], ..., at[count - 1], as slices do: negative places
 * count from the end. HT_ERR_SHAPE: the axis has no such many equal parts. */
HT_API ht_status ht_split(ht_tensor *x, int64_t count, int axis, ht_tensor *parts[]);
HT_API ht_status ht_split_at(ht_tensor *x, int count, const int64_t at[], int axis,
                             ht_tensor *parts[]);

/* The axes from[i] at the places to[i] of the result, the others in their order. A view. */
HT_API ht_tensor *ht_moveaxis(ht_tensor *x, int count, const int from[], int to_count,
                              const int to[]);

/* y[i + shift] = x[i] along an axis, from the end to the beginning again; HT_NONE: of the elements
 * in row-major order. A copy; split as x, and collective along that axis. */
HT_API ht_tensor *ht_roll(ht_tensor *x, int64_t shift, int axis);

/* Turned by so many quarters from axis0 towards axis1. A view, but where the split axis changes its
 * direction. */
HT_API ht_tensor *ht_rot90(ht_tensor *x, int64_t quarters, int axis0, int axis1);

/* x so many times along each of its last axes (HT_SHAPE(2, 3): twice and three times); axes of
 * length 1 are put in front where there are more numbers. A copy, split as x, and collective where
 * it grows along that axis. */
HT_API ht_tensor *ht_tile(ht_tensor *x, int count, const int64_t times[]);

/* x with `value` around it: widths[2 i] of it before and widths[2 i + 1] behind the i-th of the
 * last axes, as many as there are pairs (HT_SHAPE(1, 1, 2, 0): of the last two). A copy, split as
 * x. HT_ERR_ARGUMENT: widths below 0 or not in pairs. */
HT_API ht_tensor *ht_pad(ht_tensor *x, int count, const int64_t widths[], ht_number value);

/* y[..., i] = x[..., i, ..., i + offset, ...] of two axes, the last axis of the result; offset < 0:
 * below. A view; where one of the two is split, each rank has what it had, so that the result may
 * be unbalanced. */
HT_API ht_tensor *ht_diagonal(ht_tensor *x, int64_t offset, int axis0, int axis1);

/* Of a matrix its diagonal, a view; of a tensor of one axis the matrix with it as its diagonal and
 * 0 elsewhere, split along its rows if x is split. */
HT_API ht_tensor *ht_diag(ht_tensor *x, int64_t offset);

/* x[i][i] <- value of a matrix. Not collective. In the graph as a write through ht_diagonal is.
 * HT_ERR_SHAPE: other than two axes. Source: heat.DNDarray.fill_diagonal. */
HT_API ht_status ht_fill_diagonal_(ht_tensor *x, double value);

/* The matrices of the last two axes with 0 above, or below, that diagonal. Split as x. */
HT_API ht_tensor *ht_tril(ht_tensor *x, int64_t offset);
HT_API ht_tensor *ht_triu(ht_tensor *x, int64_t offset);

/* The same elements with another split (HT_NONE: replicated on every rank), in memory of their own;
 * x itself when it has that split. Collective unless the split is unchanged or x has none: then
 * each rank copies its slab. One Alltoall or Allgather. In place: the gradient of x moves along. */
HT_API ht_tensor *ht_resplit(ht_tensor *x, int split);
HT_API ht_status ht_resplit_(ht_tensor *x, int split);

/* x in the canonical slabs of ht_comm_chunk; x itself when it is. Collective if x is split. */
HT_API ht_tensor *ht_balance(ht_tensor *x);
HT_API ht_status ht_balance_(ht_tensor *x);

/* x along its split axis in slabs of counts[r] indices on rank r (one for each rank of its
 * communicator, 0 or more, the same on all; NULL: the canonical ones), or all of it on one rank.
 * Logically the same tensor; x itself when its slabs are these or it has no split. Collective if x
 * is split: one exchange, in which nobody sends what stays where it is. In place: the gradient of x
 * moves along. Differentiable. HT_ERR_ARGUMENT: counts that do not add up to the axis, no such
 * rank. Source: heat.redistribute, heat.collect. */
HT_API ht_tensor *ht_redistribute(ht_tensor *x, const int64_t counts[]);
HT_API ht_status ht_redistribute_(ht_tensor *x, const int64_t counts[]);
HT_API ht_tensor *ht_collect(ht_tensor *x, int rank);
HT_API ht_status ht_collect_(ht_tensor *x, int rank);

HT_END_DECLS
#endif

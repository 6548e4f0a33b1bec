/* SPDX-License-Identifier: MIT
 *
 * Shape, layout and distribution of tensors. Source: heat.manipulations.
 *
 * A view shares memory with its source. All functions are differentiable.
 * Logically collective, unless a comment says otherwise: all ranks pass the same arguments, and
 * nothing is sent.
 * Parameters: a negative axis counts from the end.
 * Forms in place that move x: the handle gets other memory, and views of x keep the old memory.
 * They do nothing if x has the split or slabs already.
 * Result: scoped, except x itself, which stays with its owner or scope (ht/object.h). It has the
 * dtype of x. The split of a result follows its axis. Slabs are those of x, unless the result is
 * said to be balanced: then they are canonical (ht_comm_chunk), and the call is collective if x is
 * unbalanced.
 * Errors: HT_ERR_ARGUMENT for an axis that x lacks, or that a list names twice. HT_ERR_ARGUMENT for
 * a list that is NULL, unless its count is 0 or a comment says what NULL means. Forms in place that
 * have to move x: HT_ERR_STATE where ht_tensor_set_ refuses. */
#ifndef HT_MANIPULATIONS_H
#define HT_MANIPULATIONS_H

#include "ht/number.h"
#include "ht/tensor.h"

HT_BEGIN_DECLS

/* Returns the elements of x in row-major order, in another shape.
 *
 * The split axis stays if shape has an axis of its length, with the same product of the lengths
 * before it: (4, 6) split along 1 stays in (2, 2, 6), not in (6, 4). Else x is split along axis 0.
 *
 * shape: ndim lengths with the same product as those of x; one may be -1, which means the rest.
 * Collective if x is split and its split axis does not stay.
 * Result: a view where strides allow, else a copy. If the split axis does not stay, a balanced
 * copy. Without axes it has no split.
 * Errors: HT_ERR_SHAPE if the lengths do not fit, HT_ERR_ARGUMENT unless 0 <= ndim <= HT_MAX_NDIM.
 */
HT_API ht_tensor *ht_reshape(ht_tensor *x, int ndim, const int64_t shape[]);

/* Merges the axes of x from start_axis to the last one into one axis, as ht_reshape does.
 *
 * x: a scalar is HT_ERR_ARGUMENT; torch.flatten makes (1) of it. */
HT_API ht_tensor *ht_flatten(ht_tensor *x, int start_axis);

/* Returns a view of x with its axes in another order: axis i of the view is axis axes[i] of x.
 *
 * axes: all axes of x, count of them: HT_AXES(2, 0, 1). NULL, 0: reversed.
 * Errors: HT_ERR_ARGUMENT unless axes names each axis of x once. */
HT_API ht_tensor *ht_permute(ht_tensor *x, int count, const int axes[]);

/* Returns a view of x in which axis0 and axis1 are exchanged (ht_permute). */
HT_API ht_tensor *ht_transpose(ht_tensor *x, int axis0, int axis1);

/* Returns a view of x with one more axis, of length 1.
 *
 * axis: its index in the result, -ndim - 1 to ndim for the ndim axes of x.
 * Errors: HT_ERR_ARGUMENT also if x has HT_MAX_NDIM axes. */
HT_API ht_tensor *ht_expand_dims(ht_tensor *x, int axis);

/* Returns a view of x without axis `axis`, which has length 1.
 *
 * If that is the split axis, the result is a copy without a split and the call is collective: one
 * rank has its element, and all ranks receive it.
 * Errors: HT_ERR_SHAPE if the axis has another length. */
HT_API ht_tensor *ht_squeeze(ht_tensor *x, int axis);

/* Returns the view x[..., start : stop, ...] along one axis.
 *
 * start, stop: 0 <= start <= stop <= length. stop is the end, like that of a slice; torch.narrow
 * takes a length.
 * Result: along the split axis each rank keeps its elements, so slabs may be unbalanced
 * (ht_balance).
 * Errors: HT_ERR_ARGUMENT for another start or stop. */
HT_API ht_tensor *ht_narrow(ht_tensor *x, int axis, int64_t start, int64_t stop);

/* Returns x with the elements in reverse order along axes.
 *
 * axes: count axes: HT_AXES(0, -1). NULL, 0: all of them; HT_AXES(): none.
 * Collective if the split axis is reversed: one Alltoall.
 * Result: a view, or x itself if no reversed axis is longer than 1; if the split axis is reversed,
 * a balanced copy. */
HT_API ht_tensor *ht_flip(ht_tensor *x, int count, const int axes[]);

/* Returns a read-only view of x in a larger shape (ndim lengths), with stride 0 along new axes.
 *
 * Collective if the split axis has length 1 and grows: x is resplit to HT_NONE first, and the
 * result has no split.
 * Result: x itself if it has this shape.
 * Errors: HT_ERR_SHAPE if x does not broadcast to shape, and for -1 (unlike
 * torch.Tensor.expand). HT_ERR_ARGUMENT unless 0 <= ndim <= HT_MAX_NDIM. */
HT_API ht_tensor *ht_broadcast_to(ht_tensor *x, int ndim, const int64_t shape[]);

/* broadcast[i] <- xs[i] in the shape to which all of the count tensors xs broadcast
 * (ht_broadcast_to).
 *
 * broadcast: receives count tensors, as those of ht_broadcast_to, each in its dtype and split.
 * Collective as ht_broadcast_to is.
 * Errors: HT_ERR_SHAPE if they do not broadcast together, HT_ERR_ARGUMENT for count below 1. */
HT_API ht_status ht_broadcast_arrays(int count, ht_tensor *const xs[], ht_tensor *broadcast[]);

/* grids[i] <- the values of xs[i] along axis i of the grid that the tensors xs span.
 *
 * xs: count tensors of one axis, at most HT_MAX_NDIM.
 * xy: axes 0 and 1 are exchanged, which is the default of NumPy.
 * grids: receives count read-only views, each in the dtype of its tensor, and split along that
 * axis.
 * Errors: HT_ERR_SHAPE unless each tensor has one axis, HT_ERR_ARGUMENT for another count. */
HT_API ht_status ht_meshgrid(int count, ht_tensor *const xs[], bool xy, ht_tensor *grids[]);

/* Joins count tensors xs along an existing axis. Their other axes have the same lengths.
 *
 * Collective if they are joined along the split axis (one exchange of slabs), or if a split operand
 * has another split or other slabs than the result.
 * Result: a balanced copy, split along the axis of the first split operand. It has the dtype to
 * which all promote (ht_promote_types).
 * Errors: HT_ERR_SHAPE if other axes differ, HT_ERR_ARGUMENT for count below 1. */
HT_API ht_tensor *ht_concatenate(int count, ht_tensor *const xs[], int axis);

/* Joins count tensors xs of one shape along a new axis `axis` of the result.
 *
 * axis: from -ndim - 1 to ndim, for ndim axes of the tensors.
 * Collective like ht_concatenate.
 * Result: as that of ht_concatenate.
 * Errors: HT_ERR_SHAPE if shapes differ. HT_ERR_ARGUMENT for another axis, for count below 1, or
 * for tensors of HT_MAX_NDIM axes. */
HT_API ht_tensor *ht_stack(int count, ht_tensor *const xs[], int axis);

/* Joins count tensors xs along axis 1, or along axis 0 if the first one has one axis. A scalar
 * counts as (1).
 *
 * Collectivity, result and errors are those of ht_concatenate. */
HT_API ht_tensor *ht_hstack(int count, ht_tensor *const xs[]);

/* Joins count tensors xs along axis 0. A tensor of one axis is a row; a scalar counts as (1, 1).
 *
 * Collectivity, result and errors are those of ht_concatenate. */
HT_API ht_tensor *ht_vstack(int count, ht_tensor *const xs[]);

/* Joins count tensors xs along axis 1. A tensor of one axis is a column; a scalar counts as (1, 1).
 *
 * Collectivity, result and errors are those of ht_concatenate. */
HT_API ht_tensor *ht_column_stack(int count, ht_tensor *const xs[]);

/* parts[i] <- part i of count equal parts of x along axis. The parts are views as of ht_narrow, and
 * scoped.
 *
 * parts: receives count tensors.
 * Errors: HT_ERR_SHAPE if count is below 1 or does not divide the axis. */
HT_API ht_status ht_split(ht_tensor *x, int64_t count, int axis, ht_tensor *parts[]);

/* parts[i] <- part i of count + 1 parts of x along axis, which begin at 0 and at the indices at[].
 *
 * at: count indices, with the rules of slices. A negative index counts from the end, one beyond the
 * end is the end, and a part that would end before its beginning is empty.
 * parts: receives count + 1 tensors, views as of ht_narrow, and scoped.
 * Errors: HT_ERR_ARGUMENT for count below 0. */
HT_API ht_status ht_split_at(ht_tensor *x, int count, const int64_t at[], int axis,
                             ht_tensor *parts[]);

/* Returns a view of x with axis from[i] moved to index to[i]. The other axes keep their order.
 *
 * from, to: count axes and to_count indices; the numbers are equal.
 * Errors: HT_ERR_ARGUMENT if count and to_count differ. */
HT_API ht_tensor *ht_moveaxis(ht_tensor *x, int count, const int from[], int to_count,
                              const int to[]);

/* y[i + shift] = x[i] along axis. Elements beyond the end reappear at the beginning.
 *
 * axis: HT_NONE rolls all elements in row-major order.
 * Collective if the split axis is rolled, and for HT_NONE if x is split.
 * Result: a balanced copy; in the slabs of x if shift is a multiple of the length of axis. */
HT_API ht_tensor *ht_roll(ht_tensor *x, int64_t shift, int axis);

/* Rotates x by `quarters` turns of 90 degrees from axis0 towards axis1.
 *
 * Collective if the split axis is reversed.
 * Result: a view, or x itself if quarters is a multiple of 4; if the split axis is reversed, a
 * balanced copy.
 * Errors: HT_ERR_ARGUMENT if axis0 is axis1. */
HT_API ht_tensor *ht_rot90(ht_tensor *x, int64_t quarters, int axis0, int axis1);

/* Repeats x times[i] times along each of its last count axes: HT_SHAPE(2, 3) means twice and three
 * times.
 *
 * times: count numbers from 0 on. If they outnumber the axes of x, axes of length 1 are put in
 * front.
 * Collective if x is repeated along its split axis.
 * Result: a balanced copy; in the slabs of x if no number is above 1.
 * Errors: HT_ERR_ARGUMENT for a number below 0, or unless 0 <= count <= HT_MAX_NDIM. */
HT_API ht_tensor *ht_tile(ht_tensor *x, int count, const int64_t times[]);

/* Returns x with elements `value` around it.
 *
 * widths: count numbers, a pair for each of the last count / 2 axes, in their order; torch begins
 * with the last axis. widths[2 i] elements go before x and widths[2 i + 1] after it. HT_SHAPE(1, 1,
 * 2, 0) pads the last two axes.
 * value: converted to the dtype of x by the rule for fills (ht/number.h).
 * Collective if the split axis is padded.
 * Result: a copy, in the slabs of x; balanced if the split axis is padded.
 * Errors: HT_ERR_ARGUMENT if widths are below 0 or not in pairs, or if they outnumber the axes. */
HT_API ht_tensor *ht_pad(ht_tensor *x, int count, const int64_t widths[], ht_number value);

/* y[..., i] = x[..., i, ..., i + offset, ...], the diagonal of axis0 and axis1 as the last axis of
 * the result.
 *
 * offset: above the main diagonal if positive, below it if negative.
 * Result: a view. If one of the two axes is split, the last axis is. Each rank then keeps its
 * elements, and slabs may be unbalanced.
 * Errors: HT_ERR_ARGUMENT if axis0 is axis1. */
HT_API ht_tensor *ht_diagonal(ht_tensor *x, int64_t offset, int axis0, int axis1);

/* Returns the diagonal of a matrix x as a view, or a matrix with the vector x on its diagonal and 0
 * elsewhere.
 *
 * offset: as for ht_diagonal.
 * Collective if x is a split vector.
 * Result: a diagonal as of ht_diagonal. A matrix is a copy, and of a split x balanced along its
 * rows.
 * Errors: HT_ERR_SHAPE unless x has one axis or two. */
HT_API ht_tensor *ht_diag(ht_tensor *x, int64_t offset);

/* x[i][i] <- value for a matrix x, which need not be square.
 *
 * The graph records it as a write through ht_diagonal.
 * value: converted as by ht_fill_.
 * Errors: HT_ERR_SHAPE unless x has two axes. HT_ERR_STATE where ht_copy_ refuses x.
 * Source: heat.DNDarray.fill_diagonal. */
HT_API ht_status ht_fill_diagonal_(ht_tensor *x, double value);

/* Returns the matrices x of the last two axes with 0 above the diagonal at offset.
 *
 * offset: as for ht_diagonal.
 * Result: a copy; balanced if x is split along one of the last two axes.
 * Errors: HT_ERR_SHAPE for fewer than two axes. */
HT_API ht_tensor *ht_tril(ht_tensor *x, int64_t offset);

/* Returns the matrices x of the last two axes with 0 below the diagonal at offset.
 *
 * offset: as for ht_diagonal.
 * Result: a copy with the slabs that ht_tril gives.
 * Errors: HT_ERR_SHAPE for fewer than two axes. */
HT_API ht_tensor *ht_triu(ht_tensor *x, int64_t offset);

/* Returns the elements of x with another split.
 *
 * split: an axis, or HT_NONE: replicated on every rank.
 * Collective unless the split stays or x has none: one Alltoall or Allgather. If x has none, each
 * rank copies its slab.
 * Result: balanced, in new memory; x itself if it has this split, in any slabs. */
HT_API ht_tensor *ht_resplit(ht_tensor *x, int split);

/* Changes the split of x, as ht_resplit does. The gradient of x moves along.
 *
 * Collective unless the split stays or x has none. */
HT_API ht_status ht_resplit_(ht_tensor *x, int split);

/* Returns x in the canonical slabs of ht_comm_chunk; x itself if it has them or no split.
 * Collective if x is split. */
HT_API ht_tensor *ht_balance(ht_tensor *x);

/* Moves x into the canonical slabs of ht_comm_chunk. The gradient of x moves along. Collective if x
 * is split. */
HT_API ht_status ht_balance_(ht_tensor *x);

/* Returns x, logically the same tensor, in slabs of counts[r] indices of the split axis on rank r.
 *
 * counts: one number from 0 on for each rank of the communicator of x, the same on all ranks. NULL:
 * the canonical slabs.
 * Collective if x is split: one exchange, in which no rank sends elements that stay.
 * Result: x itself if it has these slabs or no split.
 * Errors: HT_ERR_ARGUMENT if counts do not add up to the length of the axis.
 * Source: heat.redistribute. */
HT_API ht_tensor *ht_redistribute(ht_tensor *x, const int64_t counts[]);

/* Moves x into slabs of counts[r] indices, as ht_redistribute does. The gradient of x moves along.
 *
 * Collective if x is split. */
HT_API ht_status ht_redistribute_(ht_tensor *x, const int64_t counts[]);

/* Returns x, logically the same tensor, with all elements on one rank. Other slabs are empty.
 *
 * rank: a rank of the communicator of x.
 * Collective if x is split: one exchange, in which no rank sends elements that stay.
 * Result: x itself if it has these slabs or no split.
 * Errors: HT_ERR_ARGUMENT for a rank that does not exist.
 * Source: heat.collect. */
HT_API ht_tensor *ht_collect(ht_tensor *x, int rank);

/* Moves all elements of x to one rank, as ht_collect does. The gradient of x moves along.
 *
 * Collective if x is split. */
HT_API ht_status ht_collect_(ht_tensor *x, int rank);

HT_END_DECLS
#endif

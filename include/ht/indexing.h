/* SPDX-License-Identifier: MIT
 *
 * Elements chosen by place and by condition. Source: heat.indexing, and [] of heat's tensors.
 */
#ifndef HT_INDEXING_H
#define HT_INDEXING_H

#include "ht/key.h"
#include "ht/tensor.h"

HT_BEGIN_DECLS

/* x[key], as NumPy's: ht_getitem(x, HT_KEY(3, ht_slice(1, 5))) is x[3, 1:5] (ht/key.h). Axes that
 * the key has no index for are whole. All ranks give the same key. Differentiable.
 * A view, split along x's split axis, each rank with what it has of it, so that it may be
 * unbalanced (ht_balance): nothing is sent. But for two things at the split axis, which make copies
 * and are collective: an integer, of which all ranks get what one has, so that the result has no
 * split; and a slice with a negative step, whose result is balanced.
 *
 * Tensors in the key, of integers and masks of bool, are broadcast together, with the integers
 * beside them, and stand for the axes that they are indices of: where the first of them is, or in
 * front if other items stand between them. A mask is as many indices as it has axes. The result is
 * a copy, and split
 *   - along x's split axis, if that has no tensor for it;
 *   - else as the tensors are; those of a mask along their one axis, each rank with what it has of
 *     the mask's first axis, so that it may be unbalanced;
 *   - else, of tensors without a split for x's split axis, along the first of their axes.
 * Collective if x or a tensor is split; what is sent are the rows that other ranks have and, where
 * the tensors are split and x is along their axes, the indices. A mask that x's split axis is the
 * first axis of sends nothing but its counts.
 *
 * HT_ERR_ARGUMENT: an integer outside of its axis, more indices than axes, two ellipses, a step of
 * 0, more than HT_MAX_NDIM axes in the result. HT_ERR_SHAPE: a mask of another shape than the axes
 * of x, indices that do not broadcast. HT_ERR_DTYPE: a floating or complex index. */
HT_API ht_tensor *ht_getitem(ht_tensor *x, int count, const ht_index key[]);

/* x[key] = values: converted to x's dtype and broadcast to the shape of x[key]; in the graph as
 * ht_copy_ is. values may be a number (ht_scalar), which fills. Of x[key] only places are written,
 * and of the values only that is sent which another rank holds. Collective if x and values are
 * split differently. Where tensors name a place several times, the last value stays.
 * HT_ERR_SHAPE: values do not broadcast; HT_ERR_STATE: x may not be written. */
HT_API ht_status ht_setitem_(ht_tensor *x, int count, const ht_index key[], ht_tensor *values);

/* x[key] += values, as ht_setitem_ writes them; a place that tensors name several times gets the
 * sum of all of them, added one after another in their order on any number of ranks. HT_ERR_DTYPE:
 * values of a kind that x cannot hold. Source: numpy.add.at, torch.Tensor.index_put_. */
HT_API ht_status ht_add_at_(ht_tensor *x, int count, const ht_index key[], ht_tensor *values);

/* x[..., indices, ...] with the integers `indices`, of any shape, for an axis; of x in one axis
 * where that is HT_NONE. Split, collective, differentiable and errors as ht_getitem. Source:
 * heat.take, numpy.take. */
HT_API ht_tensor *ht_take(ht_tensor *x, ht_tensor *indices, int axis);

/* (n, ndim) int64: the indices of x's n elements that are not 0, in row-major order; (n) of a
 * tensor of one axis. Split along axis 0 if x is split, by the slabs of x's first axis, so that it
 * may be unbalanced (ht_balance). Collective if x is split: the counts of all ranks are sent, and
 * if x is split along another axis than the first, a byte for each element. Not differentiable.
 * HT_ERR_SHAPE: x has no axes. Source: heat.nonzero. */
HT_API ht_tensor *ht_nonzero(ht_tensor *x);

/* mask ? a : b, element by element. Operands broadcast; a and b promote and may be numbers
 * (ht_scalar), and split and errors are those of ht/arithmetics.h. A mask of another dtype counts
 * as set where it is not 0. Differentiable in a and b: each gets the gradient where it was chosen.
 */
HT_API ht_tensor *ht_where(ht_tensor *mask, ht_tensor *a, ht_tensor *b);

HT_END_DECLS
#endif

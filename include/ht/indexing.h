/* SPDX-License-Identifier: MIT
 *
 * Selection of elements by index and by condition. Source: heat.indexing, and [] of heat's tensors.
 *
 * Results are scoped, and have the dtype of x unless a comment says otherwise. */
#ifndef HT_INDEXING_H
#define HT_INDEXING_H

#include "ht/key.h"
#include "ht/tensor.h"

HT_BEGIN_DECLS

/* Returns x[key] with the rules of NumPy: ht_getitem(x, HT_KEY(3, ht_slice(1, 5))) is x[3, 1:5]
 * (ht/key.h).
 *
 * A key without tensors gives a view, and nothing is sent. The view is split along the split axis
 * of x. Each rank has its own elements, so the view may be unbalanced (ht_balance). Two items at
 * the split axis make a copy instead. For an integer, all ranks receive the elements of one rank,
 * and the result has no split. For a slice with a negative step, the result is balanced.
 *
 * Tensors in the key are integers or masks of bool. They are broadcast together with the integers
 * of the key, and stand for the axes that they index. Their axes stand in the place of the first
 * one, or in front if other items are between them. A mask stands for as many indices as it has
 * axes. The result is a copy, and its split is
 *     - the split axis of x, if no tensor indexes that axis;
 *     - else the split of the tensors. A mask has one axis there. Each rank has its own elements of
 *     the mask's first axis, so the result may be unbalanced;
 *     - else, for tensors without a split that index the split axis of x, the first of their axes.
 * Rows of other ranks are sent. Indices are sent too, if the tensors are split and x is split along
 * their axes. A mask whose first axis is the split axis of x sends only its counts.
 *
 * key: count items, the same on all ranks. Axes without an item are taken in full.
 * Collective if a tensor of the key or x is split and the key has tensors. Collective too for an
 * integer or a negative step at the split axis. Differentiable.
 * Errors: HT_ERR_ARGUMENT for an integer outside of its axis, more indices than axes, two ellipses,
 * a step of 0, or more than HT_MAX_NDIM axes in the result. HT_ERR_SHAPE for a mask without
 * axes or with another shape than the axes of x, or for indices that do not broadcast. HT_ERR_DTYPE
 * for a floating or complex index. */
HT_API ht_tensor *ht_getitem(ht_tensor *x, int count, const ht_index key[]);

/* x[key] = values. The graph records it like ht_copy_.
 *
 * Only elements in x[key] are written. Only values that another rank holds are sent. If tensors
 * name an element several times, the last value stays.
 * key: count items (ht_getitem).
 * values: converted to the dtype of x and broadcast to the shape of x[key]. They may be a number
 * (ht_scalar), which is assigned to every element. They may overlap x: they are read first.
 * Collective if the key has tensors, and one of them or values is split, or a mask stands at the
 * split axis of x. For a key without tensors, collective if values are split, unless x[key] is a
 * view in the slabs of values.
 * Errors: HT_ERR_SHAPE if values do not broadcast, HT_ERR_STATE if x must not be written; those of
 * ht_getitem for the key. */
HT_API ht_status ht_setitem_(ht_tensor *x, int count, const ht_index key[], ht_tensor *values);

/* x[key] += values, written as ht_setitem_ does.
 *
 * An element that tensors name several times gets the sum of all values. They are added one after
 * another in their order, on any number of ranks.
 * key: count items (ht_getitem).
 * values: as for ht_setitem_.
 * Collective if ht_setitem_ is. Collective too for an integer or a negative step at the split axis
 * of x.
 * Errors: those of ht_setitem_. HT_ERR_DTYPE for values of a kind that x cannot hold.
 * Source: numpy.add.at, torch.Tensor.index_put_. */
HT_API ht_status ht_add_at_(ht_tensor *x, int count, const ht_index key[], ht_tensor *values);

/* Returns x[..., indices, ...], with indices in place of axis.
 *
 * indices: integers, of any shape; negative ones count from the end.
 * axis: HT_NONE takes elements of x in row-major order, as from one axis.
 * Collective if ht_getitem with these indices is; split, gradient and errors are those of
 * ht_getitem.
 * Collective too for HT_NONE if x is split.
 * Errors: HT_ERR_DTYPE for a mask, HT_ERR_ARGUMENT for an axis that x lacks.
 * Source: heat.take, numpy.take. */
HT_API ht_tensor *ht_take(ht_tensor *x, ht_tensor *indices, int axis);

/* Returns the indices of the n elements of x that are not 0, in row-major order.
 *
 * Collective if x is split: the counts of all ranks are sent. If x is split along another axis than
 * the first, a byte for each element is sent too. Not differentiable.
 * Result: (n, ndim) of int64, or (n) if x has one axis. Split along axis 0 if x is split:
 * each rank has the indices in its slab of the first axis of x. If x is split along another axis,
 * that is the canonical slab (ht_comm_chunk). The result may be unbalanced (ht_balance).
 * Errors: HT_ERR_SHAPE if x has no axes.
 * Source: heat.nonzero. */
HT_API ht_tensor *ht_nonzero(ht_tensor *x);

/* mask ? a : b, element by element.
 *
 * mask: a mask of another dtype is true where it is not 0.
 * a, b: they promote, and may be numbers (ht_scalar); two numbers have their own dtypes, int64 or
 *   float64. All three operands broadcast.
 * Logically collective; collective if an operand has to be moved (ht/arithmetics.h). Differentiable
 * in a and b: each gets the gradient where it was chosen.
 * Result: split and errors are those of ht/arithmetics.h. */
HT_API ht_tensor *ht_where(ht_tensor *mask, ht_tensor *a, ht_tensor *b);

HT_END_DECLS
#endif

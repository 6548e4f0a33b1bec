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
 * HT_ERR_ARGUMENT: an integer outside of its axis, more indices than axes, two ellipses, a step of
 * 0, more than HT_MAX_NDIM axes in the result. */
HT_API ht_tensor *ht_getitem(ht_tensor *x, int count, const ht_index key[]);

/* x[key] = values: converted to x's dtype and broadcast to the shape of x[key]; in the graph as
 * ht_copy_ is. values may be a number (ht_scalar), which fills. Of x[key] only places are written,
 * and of the values only that is sent which another rank holds. Collective if x and values are
 * split differently. HT_ERR_SHAPE: values do not broadcast; HT_ERR_STATE: x may not be written. */
HT_API ht_status ht_setitem_(ht_tensor *x, int count, const ht_index key[], ht_tensor *values);

/* mask ? a : b, element by element. Operands broadcast; a and b promote and may be numbers
 * (ht_scalar), and split and errors are those of ht/arithmetics.h. A mask of another dtype counts
 * as set where it is not 0. Differentiable in a and b: each gets the gradient where it was chosen.
 */
HT_API ht_tensor *ht_where(ht_tensor *mask, ht_tensor *a, ht_tensor *b);

HT_END_DECLS
#endif

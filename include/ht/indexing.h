/* SPDX-License-Identifier: MIT
 *
 * Elements chosen by a mask. Source: heat.indexing.
 */
#ifndef HT_INDEXING_H
#define HT_INDEXING_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* mask ? a : b, element by element. Operands broadcast; a and b promote and may be numbers
 * (ht_scalar), and split and errors are those of ht/arithmetics.h. A mask of another dtype counts
 * as set where it is not 0. Differentiable in a and b: each gets the gradient where it was chosen.
 */
HT_API ht_tensor *ht_where(ht_tensor *mask, ht_tensor *a, ht_tensor *b);

HT_END_DECLS
#endif

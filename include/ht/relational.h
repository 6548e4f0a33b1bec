/* SPDX-License-Identifier: MIT
 *
 * Comparisons, element by element, to bool. Broadcasting, promotion, split and errors as in
 * ht/arithmetics.h; complex numbers know eq and ne only. Source: heat.relational. */
#ifndef HT_RELATIONAL_H
#define HT_RELATIONAL_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

HT_API ht_tensor *ht_eq(ht_tensor *a, ht_tensor *b);
HT_API ht_tensor *ht_ne(ht_tensor *a, ht_tensor *b);
HT_API ht_tensor *ht_lt(ht_tensor *a, ht_tensor *b);
HT_API ht_tensor *ht_le(ht_tensor *a, ht_tensor *b);
HT_API ht_tensor *ht_gt(ht_tensor *a, ht_tensor *b);
HT_API ht_tensor *ht_ge(ht_tensor *a, ht_tensor *b);

/* Whether shapes agree and all elements are equal, the same answer on every rank. Collective. */
HT_API ht_status ht_equal(ht_tensor *a, ht_tensor *b, bool *equal);

HT_END_DECLS
#endif

/* SPDX-License-Identifier: MIT
 *
 * Comparisons, element by element.
 *
 * Broadcasting, promotion and numbers are those of ht/arithmetics.h. Complex numbers have ht_eq,
 * ht_ne and ht_equal only. Unless a function's comment says otherwise, logically collective;
 * collective if an operand has to be moved (ht/arithmetics.h). Not differentiable.
 * Result: scoped; bool, with the split of ht/arithmetics.h.
 * Errors: those of ht/arithmetics.h.
 * Source: heat.relational. */
#ifndef HT_RELATIONAL_H
#define HT_RELATIONAL_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* Whether a = b. */
HT_API ht_tensor *ht_eq(ht_tensor *a, ht_tensor *b);

/* Whether a and b differ. */
HT_API ht_tensor *ht_ne(ht_tensor *a, ht_tensor *b);

/* Whether a < b. */
HT_API ht_tensor *ht_lt(ht_tensor *a, ht_tensor *b);

/* Whether a <= b. */
HT_API ht_tensor *ht_le(ht_tensor *a, ht_tensor *b);

/* Whether a > b. */
HT_API ht_tensor *ht_gt(ht_tensor *a, ht_tensor *b);

/* Whether a >= b. */
HT_API ht_tensor *ht_ge(ht_tensor *a, ht_tensor *b);

/* Whether a and b have the same shape and equal elements; the same answer on every rank.
 *
 * a, b: dtypes may differ, and are promoted. NaN equals nothing, itself included.
 * equal: *equal is set to the answer on success.
 * Collective.
 * Errors: HT_ERR_ARGUMENT if equal is NULL. Different shapes are not an error. */
HT_API ht_status ht_equal(ht_tensor *a, ht_tensor *b, bool *equal);

HT_END_DECLS
#endif

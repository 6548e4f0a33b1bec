/* SPDX-License-Identifier: MIT
 *
 * Operations on bits, element by element.
 *
 * For integers; for bool, they are the logical and, or, exclusive or, not. Broadcasting, promotion,
 * numbers and forms in place are those of ht/arithmetics.h. Logically collective; collective if an
 * operand has to be moved (ht/arithmetics.h). Not differentiable.
 * Result: scoped; the dtype to which the operands promote, and the split of ht/arithmetics.h.
 * Errors: those of ht/arithmetics.h; HT_ERR_DTYPE for floating and complex dtypes.
 * Source: heat.arithmetics. */
#ifndef HT_BITWISE_H
#define HT_BITWISE_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* The bits that are set in a and in b. */
HT_API ht_tensor *ht_bitwise_and(ht_tensor *a, ht_tensor *b);

/* The bits that are set in a or in b. */
HT_API ht_tensor *ht_bitwise_or(ht_tensor *a, ht_tensor *b);

/* The bits that differ between a and b. */
HT_API ht_tensor *ht_bitwise_xor(ht_tensor *a, ht_tensor *b);

/* The inverted bits of x. */
HT_API ht_tensor *ht_bitwise_not(ht_tensor *x);

/* a 2^b, which wraps around; not for bool.
 *
 * If b is negative, or at least the number of bits of the dtype, the result is 0. */
HT_API ht_tensor *ht_left_shift(ht_tensor *a, ht_tensor *b);

/* floor(a / 2^b); not for bool.
 *
 * If b is negative, or at least the number of bits of the dtype, no bit is left. Then the result is
 * 0, and -1 where a is negative. */
HT_API ht_tensor *ht_right_shift(ht_tensor *a, ht_tensor *b);

/* Replaces a by ht_bitwise_and of a and b. */
HT_API ht_status ht_bitwise_and_(ht_tensor *a, ht_tensor *b);

/* Replaces a by ht_bitwise_or of a and b. */
HT_API ht_status ht_bitwise_or_(ht_tensor *a, ht_tensor *b);

/* Replaces a by ht_bitwise_xor of a and b. */
HT_API ht_status ht_bitwise_xor_(ht_tensor *a, ht_tensor *b);

/* Replaces a by ht_left_shift of a by b. */
HT_API ht_status ht_left_shift_(ht_tensor *a, ht_tensor *b);

/* Replaces a by ht_right_shift of a by b. */
HT_API ht_status ht_right_shift_(ht_tensor *a, ht_tensor *b);

/* Replaces x by ht_bitwise_not of x. */
HT_API ht_status ht_bitwise_not_(ht_tensor *x);

HT_END_DECLS
#endif

/* SPDX-License-Identifier: MIT
 *
 * Bits, element by element: of integers, and of bool as and, or, not; other dtypes are
 * HT_ERR_DTYPE. Broadcasting, promotion, numbers, split and errors as in ht/arithmetics.h; no
 * gradients. Source: heat.arithmetics. */
#ifndef HT_BITWISE_H
#define HT_BITWISE_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

HT_API ht_tensor *ht_bitwise_and(ht_tensor *a, ht_tensor *b);
HT_API ht_tensor *ht_bitwise_or(ht_tensor *a, ht_tensor *b);
HT_API ht_tensor *ht_bitwise_xor(ht_tensor *a, ht_tensor *b);
HT_API ht_tensor *ht_bitwise_not(ht_tensor *x);

/* a 2^b, which wraps around, and floor(a / 2^b); not of bool. A shift by a negative number, or by
 * all bits or more, leaves none: 0, and -1 of negative numbers to the right. */
HT_API ht_tensor *ht_left_shift(ht_tensor *a, ht_tensor *b);
HT_API ht_tensor *ht_right_shift(ht_tensor *a, ht_tensor *b);

/* In place: a <- f(a, b). HT_ERR_DTYPE where a cannot hold the result. */
HT_API ht_status ht_bitwise_and_(ht_tensor *a, ht_tensor *b);
HT_API ht_status ht_bitwise_or_(ht_tensor *a, ht_tensor *b);
HT_API ht_status ht_bitwise_xor_(ht_tensor *a, ht_tensor *b);
HT_API ht_status ht_left_shift_(ht_tensor *a, ht_tensor *b);
HT_API ht_status ht_right_shift_(ht_tensor *a, ht_tensor *b);
HT_API ht_status ht_bitwise_not_(ht_tensor *x);

HT_END_DECLS
#endif

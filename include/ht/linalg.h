/* SPDX-License-Identifier: MIT
 *
 * Linear algebra. Source: heat.linalg. */
#ifndef HT_LINALG_H
#define HT_LINALG_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* c = a b: (m, k) (k, n) -> (m, n). Operands promote; integers are exact and wrap around; bool
 * beside bool is HT_ERR_DTYPE. Collective when an operand is split. Split of the result, by the
 * splits of (a, b): (none, none) none; (0, any) 0; (none, 1) and (1, 1) 1; where the inner axis is
 * split (1, 0), (1, none), (none, 0): 0. Parts of sums over ranks and slabs are float32 for float16
 * and bfloat16, else of the result's dtype; they are rounded to 16 bits once. No rank holds more
 * than its operands, its result and one slab. Differentiable. Errors: HT_ERR_SHAPE, HT_ERR_DTYPE,
 * HT_ERR_COMM, HT_ERR_DEVICE. */
HT_API ht_tensor *ht_matmul(ht_tensor *a, ht_tensor *b);

HT_END_DECLS
#endif

/* SPDX-License-Identifier: MIT
 *
 * Linear algebra. Source: heat.linalg. */
#ifndef HT_LINALG_H
#define HT_LINALG_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* c = a b: (..., m, k) (..., k, n) -> (..., m, n), batches broadcasting; a vector a is a row, a
 * vector b a column, and c lacks that axis. Operands promote; integers are exact and wrap around;
 * of bool it is whether some pair are both set. Parts of sums over ranks and slabs are float32 for
 * float16 and bfloat16, else of the result's dtype; they are rounded to 16 bits once. Collective
 * when an operand is split. Split of the result: a batch axis that is a's split, or b's; else the
 * rows, by the splits of (a, b) as none, 0, 1 of matrices: (none, none) none; (0, any), (1, 0),
 * (1, none), (none, 0) the rows; (none, 1), (1, 1) the columns; of a vector and a matrix the axis
 * that is left, of two vectors none. Either operand, or the product's parts, travel, whichever is
 * less, and no rank holds a whole split operand (core/algorithms/product.c). Differentiable.
 * Errors: HT_ERR_SHAPE, HT_ERR_COMM, HT_ERR_DEVICE. Source: heat.linalg.matmul; batches as
 * numpy.matmul. */
HT_API ht_tensor *ht_matmul(ht_tensor *a, ht_tensor *b);

HT_END_DECLS
#endif

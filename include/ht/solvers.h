/* SPDX-License-Identifier: MIT
 *
 * Systems of linear equations, inverses and determinants; what is said of matrices and dtypes at
 * the top of ht/decompositions.h holds here. Source: heat.linalg, torch.linalg.
 *
 * In systems a x = b with a (..., n, n), b is (..., n, k), or (..., n): one column each. An a or a
 * b without batch axes is there for each of the other's. x has the split of b. Each rank solves for
 * its own columns of b, and receives factors of an a that is split; of a b that is not split, or of
 * one column, each has all of it. */
#ifndef HT_SOLVERS_H
#define HT_SOLVERS_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* x of a x = b, where a is upper (lower) triangular; its other triangle is not read. A zero on the
 * diagonal gives infinities or NaN. Differentiable. */
HT_API ht_tensor *ht_solve_triangular(ht_tensor *a, ht_tensor *b, bool upper);

/* x of a x = b, by LU with partial pivoting. Differentiable. HT_ERR_ARGUMENT where a is singular:
 * a pivot is 0. */
HT_API ht_tensor *ht_solve(ht_tensor *a, ht_tensor *b);

/* a^-1, in the split of a. Differentiable. HT_ERR_ARGUMENT where a is singular. */
HT_API ht_tensor *ht_inv(ht_tensor *a);

/* The determinants of a, (..., n, n) -> (...); no split, but that of a batch. 0 where a is
 * singular, where there is no gradient either (HT_ERR_ARGUMENT in the backward pass). */
HT_API ht_tensor *ht_det(ht_tensor *a);

/* The determinant is sign e^logarithm, which overflows later: sign is 0 or of absolute value 1, the
 * logarithm real, -inf where a is singular; shapes and splits as ht_det's. The logarithm is
 * differentiable, the sign is not. */
HT_API ht_status ht_slogdet(ht_tensor *a, ht_tensor **sign, ht_tensor **logarithm);

HT_END_DECLS
#endif

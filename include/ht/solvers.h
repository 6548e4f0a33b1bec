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

/* The pseudo-inverse of a, (..., m, n) -> (..., n, m), by ht_svd: singular values up to rtol times
 * the largest count as 0; ht_pinv: max(m, n) roundings. Of one matrix split by rows the result is
 * split by columns, and the other way around. Not differentiable. Source: torch.linalg.pinv. */
HT_API ht_tensor *ht_pinv(ht_tensor *a);
HT_API ht_tensor *ht_pinv_ext(ht_tensor *a, double rtol);

/* The x with the least |a x - b|, column by column, and among those the shortest one: (m, n), b
 * (m, k) or (m) -> (n, k) or (n), of one matrix each; rtol as ht_pinv's. Not differentiable.
 * Source: torch.linalg.lstsq. */
HT_API ht_tensor *ht_lstsq(ht_tensor *a, ht_tensor *b);
HT_API ht_tensor *ht_lstsq_ext(ht_tensor *a, ht_tensor *b, double rtol);

/* x of a x = b for a Hermitian positive definite matrix a (n, n) and b (n), by conjugate gradients
 * from x0 (NULL: zeros): n steps, or until |b - a x| <= tolerance |b| (ht_cg: 10 roundings of the
 * dtype to which a, b and x0 promote). The result has no split. Not differentiable. Source:
 * heat.linalg.cg. */
HT_API ht_tensor *ht_cg(ht_tensor *a, ht_tensor *b, ht_tensor *x0);
HT_API ht_tensor *ht_cg_ext(ht_tensor *a, ht_tensor *b, ht_tensor *x0, double tolerance,
                            int64_t most_steps);

/* m steps of Lanczos for a Hermitian matrix a (n, n) from v0 (n) (NULL: random), with every vector
 * made orthogonal to all before it, twice: a v ~ v t with v (n, m) of orthonormal columns, split by
 * rows where a is split, and t (m, m) real and tridiagonal, of no split. v has the dtype to which a
 * and v0 promote, and t that of its parts. Where the space that a makes of v0 ends, it goes on from
 * a random vector. Not differentiable. HT_ERR_ARGUMENT unless 1 <= m <= n. Source:
 * heat.linalg.lanczos. */
HT_API ht_status ht_lanczos(ht_tensor *a, int64_t m, ht_tensor *v0, ht_tensor **v, ht_tensor **t);

/* e^a = 1 + a + a a / 2 + ... of square matrices, in the split of a: by a diagonal Pade approximant
 * of a / 2^s, squared s times. Not differentiable. Source: heat.linalg.matrix_exp. */
HT_API ht_tensor *ht_matrix_exp(ht_tensor *a);

/* About the condition of a matrix x (m, n), m >= n, the quotient of its largest and its smallest
 * singular value: power iterations on the factor r of its QR and on its inverse, from a random
 * vector, some 20 each. Rather below than above; infinity where r is singular. Source:
 * heat.linalg.condest. */
HT_API ht_status ht_condest(ht_tensor *x, double *condition);

HT_END_DECLS
#endif

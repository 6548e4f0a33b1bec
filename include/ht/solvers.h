/* SPDX-License-Identifier: MIT
 *
 * Systems of linear equations, inverses, determinants and functions of matrices. Source:
 * heat.linalg, torch.linalg.
 *
 * The opening comment of ht/decompositions.h holds here too: batches, splits, dtypes, collectivity
 * (collective when an operand is split), results, gradients, and common errors. Systems a x = b
 * have a (..., n, n) and b (..., n, k). b is one column for each matrix, (..., n), if it has one
 * axis, or the shape of a without the last axis; torch.linalg.solve uses the same rule. So a (4, 4,
 * 4) and b (4, 4) are four systems of one column. An operand without batch axes serves every batch
 * of the other one.
 * x has the shape of b, with the batch axes of a if b has none. If b is split and has all axes of
 * x, x has the split of b. Otherwise one matrix gives x without a split, and a batch gives x split
 * along its first axis if a or b is split.
 * Split results are balanced, with one exception: functions of one operand keep the slabs of a
 * batch that is split along a batch axis.
 * Each rank solves for its own columns of b, and receives factors of a if a is split. If b has no
 * split, or one column, each rank solves for all of it. */
#ifndef HT_SOLVERS_H
#define HT_SOLVERS_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* Solves a x = b for a triangular a.
 *
 * a: upper tells which triangle it is; the other one is not read. A 0 on the diagonal gives
 * infinities or NaN.
 * b: see the top.
 * upper: true for an upper triangle, false for a lower one.
 * Differentiable.
 * Result: x; see the top.
 * Source: torch.linalg.solve_triangular. */
HT_API ht_tensor *ht_solve_triangular(ht_tensor *a, ht_tensor *b, bool upper);

/* Solves a x = b by LU with partial pivoting.
 *
 * a, b: see the top.
 * Differentiable.
 * Result: x; see the top.
 * Errors: HT_ERR_ARGUMENT if a is singular: a pivot is 0.
 * Source: torch.linalg.solve. */
HT_API ht_tensor *ht_solve(ht_tensor *a, ht_tensor *b);

/* Returns the inverse a^-1 of square matrices a (..., n, n).
 *
 * Differentiable.
 * Result: scoped; the shape and split of a.
 * Errors: HT_ERR_ARGUMENT if a is singular.
 * Source: torch.linalg.inv. */
HT_API ht_tensor *ht_inv(ht_tensor *a);

/* Returns the determinants of a: (..., n, n) -> (...).
 *
 * A singular a gives 0 and has no gradient. Matrices without elements give 1. NaN and infinities
 * are not errors.
 * Differentiable.
 * Result: no split, except that of a batch, or axis 0 for a batch split along its matrices.
 * Errors: HT_ERR_ARGUMENT in the backward pass if a is singular.
 * Source: torch.linalg.det. */
HT_API ht_tensor *ht_det(ht_tensor *a);

/* Computes the determinants of a as sign e^logarithm, which overflows later than ht_det.
 *
 * sign: receives numbers of absolute value 1, or 0 if a is singular. Not differentiable.
 * logarithm: receives real numbers, or -inf if a is singular. Differentiable.
 * Result: shapes and splits as of ht_det; sign in the dtype of a.
 * Source: torch.linalg.slogdet. */
HT_API ht_status ht_slogdet(ht_tensor *a, ht_tensor **sign, ht_tensor **logarithm);

/* Returns the pseudo-inverses of a by ht_svd: (..., m, n) -> (..., n, m).
 *
 * Singular values up to max(m, n) roundings times the largest one count as 0.
 * Not differentiable.
 * Result: a batch keeps its split. For one matrix split by rows it is split by columns, and the
 * other way around.
 * Errors: HT_ERR_ARGUMENT if an element is NaN or infinite.
 * Source: torch.linalg.pinv. */
HT_API ht_tensor *ht_pinv(ht_tensor *a);

/* ht_pinv of a with another bound: singular values up to rtol times the largest one count as 0.
 * rtol is not checked; if it is NaN, all count as 0. */
HT_API ht_tensor *ht_pinv_ext(ht_tensor *a, double rtol);

/* Returns the x with the least |a x - b| for each column of b, and among these the shortest one.
 *
 * a: one matrix (m, n). Singular values up to max(m, n) roundings times the largest one count as 0.
 * b: (m, k) or (m).
 * Not differentiable.
 * Result: (n, k) or (n), with the split of b.
 * Errors: HT_ERR_SHAPE for batches, or if b has another number of rows. HT_ERR_ARGUMENT if an
 * element of a is NaN or infinite.
 * Source: torch.linalg.lstsq. */
HT_API ht_tensor *ht_lstsq(ht_tensor *a, ht_tensor *b);

/* ht_lstsq of a and b with another bound: singular values up to rtol times the largest one count as
 * 0. rtol is not checked; if it is NaN, all count as 0. */
HT_API ht_tensor *ht_lstsq_ext(ht_tensor *a, ht_tensor *b, double rtol);

/* Solves a x = b by conjugate gradients from x0, in at most n steps.
 *
 * It stops when |b - a x| <= tolerance |b|, or else after n steps with the x that it has, without
 * an error. The tolerance is 10 eps of the dtype to which a, b and x0 promote.
 * a: one matrix (n, n), Hermitian and positive definite.
 * b: (n).
 * x0: (n); NULL: zeros.
 * Not differentiable.
 * Result: (n) without a split, in that dtype.
 * Errors: HT_ERR_SHAPE for a batch, and unless b and x0 are vectors that fit a.
 * Source: heat.linalg.cg. */
HT_API ht_tensor *ht_cg(ht_tensor *a, ht_tensor *b, ht_tensor *x0);

/* ht_cg of a, b and x0 with another tolerance and at most most_steps steps.
 *
 * Errors: HT_ERR_ARGUMENT if tolerance or most_steps is below 0, or tolerance is NaN. */
HT_API ht_tensor *ht_cg_ext(ht_tensor *a, ht_tensor *b, ht_tensor *x0, double tolerance,
                            int64_t most_steps);

/* Makes m steps of Lanczos: a v ~ v t, with orthonormal columns v and a tridiagonal t.
 *
 * Every vector is made orthogonal to all before it, twice. If the space that a makes of v0 ends, a
 * random vector continues it. Random vectors are draws of ht/random.h on the communicator of a.
 * a: one Hermitian matrix (n, n).
 * m: 1 to n.
 * v0: (n), the first vector; NULL: random.
 * v: receives (n, m), split by rows if a is split, in the dtype to which a and v0 promote.
 * t: receives (m, m), real and without a split, in the dtype of the parts of v.
 * Not differentiable.
 * Errors: HT_ERR_ARGUMENT for another m. HT_ERR_SHAPE for a batch, or if v0 does not fit.
 * Source: heat.linalg.lanczos. */
HT_API ht_status ht_lanczos(ht_tensor *a, int64_t m, ht_tensor *v0, ht_tensor **v, ht_tensor **t);

/* Returns e^a = 1 + a + a a / 2 + ... of square matrices a (..., n, n).
 *
 * It squares a diagonal Pade approximant of a / 2^s s times. Differentiable; the gradient takes the
 * exponential of matrices (2 n, 2 n).
 * Result: scoped; the shape and split of a.
 * Source: heat.linalg.matrix_exp, torch.linalg.matrix_exp. */
HT_API ht_tensor *ht_matrix_exp(ht_tensor *a);

/* Estimates the condition of one matrix x (m, n), m >= n >= 1: its largest over its smallest
 * singular value.
 *
 * Power iterations run on the factor r of its QR and on the inverse of r, from random vectors, some
 * 20 each. The vectors are draws of ht/random.h on the communicator of x. The estimate tends to be
 * too small, not too large. Not differentiable.
 * condition: receives the estimate, at least 1, the same on all ranks; infinity if r is singular.
 * Errors: HT_ERR_SHAPE for a batch, m < n or n = 0, HT_ERR_ARGUMENT if an element is NaN or
 * infinite.
 * Source: heat.linalg.condest. */
HT_API ht_status ht_condest(ht_tensor *x, double *condition);

HT_END_DECLS
#endif

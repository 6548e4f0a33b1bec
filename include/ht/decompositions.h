/* SPDX-License-Identifier: MIT
 *
 * Factorisations of matrices. Source: heat.linalg, torch.linalg.
 *
 * Matrices are the last two axes of a tensor; axes before them are batches of matrices. m, n and k
 * are rows, columns and min(m, n).
 * One matrix may be split by rows or columns. A rank then holds no more than its operands, its
 * results and a panel as wide as its own columns.
 * Batches are factored where they lie. A batch that is split along its matrices is first split
 * along its first axis. Results that are said to have the split of an operand are then resplit to
 * it. All other results stay split along the first axis.
 * Dtypes: float32, float64, complex64 and complex128. Operands promote to one dtype first; if that
 * is an integer or bool, it becomes float32.
 * Slabs: a batch keeps them. Split results of one matrix have the slabs of the operand, or balanced
 * ones. It depends on the algorithm; ht_tensor_is_balanced tells.
 * Signs (complex: phases) of singular vectors and eigenvectors are arbitrary, as in PyTorch.
 * Collective when an operand is split. Results are scoped, and set on success only.
 * Not differentiable means: a result without a history (ht/autograd.h). PyTorch differentiates some
 * of these functions.
 * Errors: HT_ERR_SHAPE for operands that are not matrices, or not square where they must be.
 * HT_ERR_DTYPE for 16-bit numbers. An element that is an error is one on all ranks; ht_qr and ht_lu
 * accept NaN and infinities.
 * HT_ERR_ARGUMENT if the pointer for a result is NULL, unless a comment allows it. */
#ifndef HT_DECOMPOSITIONS_H
#define HT_DECOMPOSITIONS_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* x = q r: (m, n) -> q (m, k) with orthonormal columns, r (k, n) upper triangular.
 *
 * q: receives q; NULL: not wanted (mode "r").
 * r: receives r. Its diagonal is real and not negative. For full rank, the factors are thus unique,
 * whatever the split.
 * Differentiable if m >= n and x has full rank.
 * Result: the split of x. For x split by rows, r is on every rank if the longest slab has at least
 * n rows. The factors then go through a tree over the ranks.
 * Errors: HT_ERR_UNSUPPORTED in the backward pass if m < n. */
HT_API ht_status ht_qr(ht_tensor *x, ht_tensor **q, ht_tensor **r);

/* Row i of l u is row p[i] of a: LU with partial pivoting of a (m, n).
 *
 * Pivots are the largest of their columns. Those of a complex matrix have the largest |re| + |im|,
 * so that |l| <= sqrt(2).
 * p: receives (m) of int64, on every rank.
 * l: receives (m, k), lower triangular with a diagonal of ones.
 * u: receives (k, n), upper triangular; a singular a gives a 0 on its diagonal.
 * Not differentiable.
 * Result: l and u have the split of a. For a batch that is split along its matrices, all results
 * are split along the first axis.
 * Source: torch.linalg.lu, with a vector p. */
HT_API ht_status ht_lu(ht_tensor *a, ht_tensor **p, ht_tensor **l, ht_tensor **u);

/* Returns the lower triangular l of a = l l^H.
 *
 * a: Hermitian and positive definite; only its lower triangle is read.
 * Differentiable.
 * Result: the split of a.
 * Errors: HT_ERR_ARGUMENT if a is not positive definite, or an element that is read is NaN.
 * Source: torch.linalg.cholesky. */
HT_API ht_tensor *ht_cholesky(ht_tensor *a);

/* Computes the eigenvalues w and eigenvectors v of a = v diag(w) v^H.
 *
 * A split matrix goes through one-sided block Jacobi, with errors of some roundings of the largest
 * row of a.
 * a: Hermitian; only its lower triangle is read.
 * w: receives (..., n), real and ascending, without a split except that of a batch.
 * v: receives (..., n, n) with orthonormal columns, in the split of a; NULL: not wanted.
 * Not differentiable.
 * Errors: HT_ERR_ARGUMENT if an element is NaN or infinite, or the iteration does not converge.
 * Source: heat.linalg.eigh. */
HT_API ht_status ht_eigh(ht_tensor *a, ht_tensor **w, ht_tensor **v);

/* x = u diag(s) vh, the reduced singular value decomposition of x (m, n).
 *
 * Slabs of at least n rows (or m columns) go through a tree of QRs. Others go through QR and
 * one-sided block Jacobi.
 * u: receives (m, k) with orthonormal columns; NULL: not wanted.
 * s: receives (k), real, not negative, descending, without a split except that of a batch.
 * vh: receives (k, n) with orthonormal rows; NULL: not wanted.
 * Not differentiable.
 * Result: for x split by rows, u is split by rows. vh is on every rank if the longest slab has at
 * least n rows, else split by columns. For x split by columns, the same holds for the transposes.
 * All results of a split batch are split along a batch axis.
 * Errors: HT_ERR_ARGUMENT if an element is NaN or infinite, or the iteration does not converge.
 * Source: heat.linalg.svd. */
HT_API ht_status ht_svd(ht_tensor *x, ht_tensor **u, ht_tensor **s, ht_tensor **vh);

/* x = u h, the polar decomposition of x (m, n) with m >= n, by ht_svd.
 *
 * u: receives (m, n) with orthonormal columns, in the split of x.
 * h: receives (n, n), Hermitian and positive semidefinite; NULL: not wanted. It is split by rows
 * where ht_svd splits vh by columns, else on every rank.
 * Not differentiable.
 * Errors: HT_ERR_SHAPE if m < n, HT_ERR_ARGUMENT if an element is NaN or infinite.
 * Source: heat.linalg.polar. */
HT_API ht_status ht_polar(ht_tensor *x, ht_tensor **u, ht_tensor **h);

/* Computes the `rank` largest singular values of one matrix x (m, n) and their vectors from a
 * random sample of its range.
 *
 * Samples are drawn as by ht_randn (ht/random.h).
 * rank: 1 to k. The sample has rank + 10 columns, at most k.
 * u, s, vh: receive (m, rank), (rank) and (rank, n), like those of ht_svd; none is NULL. u is split
 * if x is split by rows, vh if x is split by columns; the others have no split.
 * Not differentiable.
 * Errors: HT_ERR_SHAPE for a batch. HT_ERR_ARGUMENT for another rank, or if an element is NaN or
 * infinite.
 * Source: heat.linalg.rsvd. */
HT_API ht_status ht_rsvd(ht_tensor *x, int64_t rank, ht_tensor **u, ht_tensor **s, ht_tensor **vh);

/* ht_rsvd of x (rank, u, s, vh) with options.
 *
 * oversamples: columns of the sample beyond rank; from 0 on, 10 in ht_rsvd.
 * power_iterations: they make the sample more accurate; from 0 on, 0 in ht_rsvd.
 * Errors: those of ht_rsvd; HT_ERR_ARGUMENT for an option below 0. */
HT_API ht_status ht_rsvd_ext(ht_tensor *x, int64_t rank, int64_t oversamples, int power_iterations,
                             ht_tensor **u, ht_tensor **s, ht_tensor **vh);

/* Computes the `count` largest eigenvalues of one Hermitian matrix a and their vectors from a
 * random sample of its range.
 *
 * The sample finds the eigenvalues of largest absolute value; the results are the largest of them
 * by value. If a has large negative eigenvalues, the sample needs columns for these too.
 * count: 1 to n. The sample has count + 10 columns, at most n, drawn as by ht_randn.
 * w: receives (count), real and descending.
 * v: receives (n, count), split by rows if a is split; NULL: not wanted.
 * Not differentiable.
 * Errors: HT_ERR_SHAPE for a batch. HT_ERR_ARGUMENT for another count, or if an element is NaN or
 * infinite.
 * Source: heat.linalg.reigh. */
HT_API ht_status ht_reigh(ht_tensor *a, int64_t count, ht_tensor **w, ht_tensor **v);

/* ht_reigh of a (count, w, v) with options.
 *
 * oversamples, power_iterations: as for ht_rsvd_ext.
 * Errors: those of ht_reigh; HT_ERR_ARGUMENT for an option below 0. */
HT_API ht_status ht_reigh_ext(ht_tensor *a, int64_t count, int64_t oversamples,
                              int power_iterations, ht_tensor **w, ht_tensor **v);

/* x ~ u diag(s) vh, an approximation of one matrix x (m, n) by its `rank` largest singular values.
 *
 * The SVD of each rank's part is truncated; a tree over the ranks merges and truncates the results.
 * A last SVD is that of x projected on the columns that remain.
 * rank: at least 0; 0 sets no limit.
 * u, s, vh: receive (m, k), (k) and (k, n), like those of ht_svd; NULL: not wanted. k is at
 * most rank, and at most the number of singular values of x that are not 0, but at least 1. u is
 * split if x is split by rows, vh if x is split by columns; the others have no split.
 * error: receives |x - u diag(s) vh| / |x| in the Frobenius norm; NULL: not wanted.
 * Not differentiable.
 * Errors: HT_ERR_SHAPE for a batch. HT_ERR_ARGUMENT for a rank below 0, or if an element is NaN or
 * infinite.
 * Source: heat.linalg.hsvd. */
HT_API ht_status ht_hsvd_rank(ht_tensor *x, int64_t rank, ht_tensor **u, ht_tensor **s,
                              ht_tensor **vh, double *error);

/* ht_hsvd_rank with the least k for which |x - u diag(s) vh| <= rtol |x| in the Frobenius norm.
 *
 * rtol: 0 to 1; 0 means no tolerance.
 * u, s, vh, error: as for ht_hsvd_rank.
 * Errors: as of ht_hsvd_rank, with rtol instead of rank. */
HT_API ht_status ht_hsvd_rtol(ht_tensor *x, double rtol, ht_tensor **u, ht_tensor **s,
                              ht_tensor **vh, double *error);

/* ht_hsvd_rank of x (rank, u, s, vh, error) that also obeys rtol, as ht_hsvd_rtol does.
 *
 * rank: at least 0; 0 sets no limit.
 * rtol: 0 to 1; 0 means no tolerance.
 * safety: singular values beyond rank that are kept until the last SVD; from 0 on, 5 in the short
 * forms.
 * Errors: as of ht_hsvd_rank, also for another rtol or safety. */
HT_API ht_status ht_hsvd(ht_tensor *x, int64_t rank, double rtol, int64_t safety, ht_tensor **u,
                         ht_tensor **s, ht_tensor **vh, double *error);

/* Computes the `rank` largest singular values and vectors of (x, columns) from those of x = u
 * diag(s) vh.
 *
 * columns: (m, d), the columns to append.
 * u: (m, r), not split by columns.
 * s: (r).
 * vh: (r, n), not split by rows.
 * rank: at least 0. 0, or more than min(m, r + d), means all.
 * new_u, new_s, new_vh: receive the result. new_u has orthonormal columns and is split if u is,
 * new_vh if vh is; new_s has no split.
 * Not differentiable.
 * Errors: HT_ERR_SHAPE if the operands do not fit, HT_ERR_ARGUMENT for another rank or split.
 * Source: heat.linalg.isvd. */
HT_API ht_status ht_isvd(ht_tensor *columns, ht_tensor *u, ht_tensor *s, ht_tensor *vh,
                         int64_t rank, ht_tensor **new_u, ht_tensor **new_s, ht_tensor **new_vh);

HT_END_DECLS
#endif

/* SPDX-License-Identifier: MIT
 *
 * Factorisations of matrices. Source: heat.linalg, torch.linalg.
 *
 * Matrices are the last two axes of a tensor; axes before them are batches of matrices. One matrix
 * may be split by rows or columns: no rank holds more than its operands, its results and a panel of
 * as many columns as its own. Batches are factored where they lie, those that are split along
 * their matrices after they were dealt out by their first axis. float32, float64, complex64 and
 * complex128. Operands promote to one dtype first; if that is an integer or bool, it becomes float32.
 * 16-bit numbers are HT_ERR_DTYPE. Collective when an
 * operand is split. Common errors: HT_ERR_SHAPE, HT_ERR_DTYPE. */
#ifndef HT_DECOMPOSITIONS_H
#define HT_DECOMPOSITIONS_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* x = q r: (m, n) -> (m, k) with orthonormal columns, (k, n) upper triangular, k = min(m, n). The
 * diagonal of r is real and not negative, so that of full rank the factors are unique, whatever the
 * split. q NULL: r alone (mode "r"). Splits: none gives none; columns give columns; rows give q by
 * rows and an r on every rank where the longest slab has as many rows as x has columns (a tree of
 * factors over the ranks), else both by rows. Differentiable for m >= n of full rank. */
HT_API ht_status ht_qr(ht_tensor *x, ht_tensor **q, ht_tensor **r);

/* Row i of l u is row p[i] of a: (m, n) -> p (m) of int64, on every rank, l (m, k) lower triangular
 * with a diagonal of ones, and u (k, n) upper triangular, in the split of a; of batches that are
 * split along their matrices by the first axis. Pivots are the largest of their column; a singular
 * a has a 0 on the diagonal of u. Not differentiable. Source: torch.linalg.lu, with a vector. */
HT_API ht_status ht_lu(ht_tensor *a, ht_tensor **p, ht_tensor **l, ht_tensor **u);

/* The lower triangular l of a = l l^H, Hermitian and positive definite, of which only the lower
 * triangle is read; the split of a. Differentiable. HT_ERR_ARGUMENT where a is not positive
 * definite. Source: torch.linalg.cholesky. */
HT_API ht_tensor *ht_cholesky(ht_tensor *a);

/* Eigenvalues of a = v diag(w) v^H, Hermitian, of which only the lower triangle is read: w (..., n)
 * real, up, of no split but that of a batch; v (..., n, n), in the split of a, has orthonormal
 * columns; NULL: not wanted. A matrix that is split by one-sided block Jacobi: errors of some
 * roundings of the largest row of a. Not differentiable. HT_ERR_ARGUMENT where an element is NaN or
 * infinite. Source: heat.linalg.eigh. */
HT_API ht_status ht_eigh(ht_tensor *a, ht_tensor **w, ht_tensor **v);

/* x = u diag(s) vh: (m, n) -> u (m, k) with orthonormal columns, s (k) real, not negative, down,
 * and vh (k, n) with orthonormal rows, k = min(m, n); u and vh NULL: not wanted. s is of no split,
 * but that of a batch. Of an x split by rows u is split by rows, and vh on every rank where the
 * longest slab has as many rows as x has columns, else split by columns; of one split by columns
 * the same of its transpose. Such slabs by a tree of QRs, others by one-sided block Jacobi after
 * QR. Not differentiable. HT_ERR_ARGUMENT where an element is NaN or infinite. Source:
 * heat.linalg.svd. */
HT_API ht_status ht_svd(ht_tensor *x, ht_tensor **u, ht_tensor **s, ht_tensor **vh);

/* x = u h: (m, n) with m >= n -> u (m, n) with orthonormal columns, h (n, n) Hermitian and positive
 * semidefinite; NULL: not wanted. u is in the split of x; h has the split of what ht_svd gives for
 * vh. By ht_svd; not differentiable. Source: heat.linalg.polar. */
HT_API ht_status ht_polar(ht_tensor *x, ht_tensor **u, ht_tensor **h);

/* The `rank` largest singular values of a matrix x and their vectors, as ht_svd's, from a random
 * sample of its range of rank + oversamples columns (10), made sharper by power iterations (0):
 * u (m, rank), s (rank), vh (rank, n). u or vh are split as x is. Not differentiable.
 * HT_ERR_ARGUMENT unless 1 <= rank <= min(m, n). Source: heat.linalg.rsvd. */
HT_API ht_status ht_rsvd(ht_tensor *x, int64_t rank, ht_tensor **u, ht_tensor **s, ht_tensor **vh);
HT_API ht_status ht_rsvd_ext(ht_tensor *x, int64_t rank, int64_t oversamples, int power_iterations,
                             ht_tensor **u, ht_tensor **s, ht_tensor **vh);

/* The `count` largest eigenvalues of a Hermitian matrix a, down, and their vectors (n, count), by a
 * random sample of its range, as ht_rsvd; v NULL: not wanted. Not differentiable. Source:
 * heat.linalg.reigh. */
HT_API ht_status ht_reigh(ht_tensor *a, int64_t count, ht_tensor **w, ht_tensor **v);
HT_API ht_status ht_reigh_ext(ht_tensor *a, int64_t count, int64_t oversamples,
                              int power_iterations, ht_tensor **w, ht_tensor **v);

/* An approximation u diag(s) vh of a matrix x (m, n) by its largest singular values: a truncated
 * SVD of each rank's part, merged and truncated again in a tree over the ranks, and one of x
 * projected on what comes of it. u (m, k), s (k), vh (k, n) as ht_svd's; u, s, vh and error NULL:
 * not wanted. ht_hsvd_rank: k = rank, or what x has at most. ht_hsvd_rtol: k is the least for which
 * |x - u diag(s) vh| <= rtol |x|, in the norm of Frobenius. ht_hsvd: both, with rank 0 for any rank
 * and rtol 0 for none, and so many singular values more on the way to it (5). *error: that quotient
 * as it is. Of x split by rows u is, of x split by columns vh; the others have no split. Not
 * differentiable. HT_ERR_ARGUMENT where an element is NaN or infinite, rank or safety below 0, or
 * rtol not from 0 to 1. Source: heat.linalg.hsvd. */
HT_API ht_status ht_hsvd_rank(ht_tensor *x, int64_t rank, ht_tensor **u, ht_tensor **s,
                              ht_tensor **vh, double *error);
HT_API ht_status ht_hsvd_rtol(ht_tensor *x, double rtol, ht_tensor **u, ht_tensor **s,
                              ht_tensor **vh, double *error);
HT_API ht_status ht_hsvd(ht_tensor *x, int64_t rank, double rtol, int64_t safety, ht_tensor **u,
                         ht_tensor **s, ht_tensor **vh, double *error);

/* From u diag(s) vh, (m, r), (r), (r, n), of an x, those of (x, columns), columns (m, d): the
 * `rank` largest (0: all, up to min(m, r + d)). u has orthonormal columns. The new u is split as u
 * is, the new vh as vh is; u is not split by columns, vh not by rows. Not differentiable. Errors:
 * HT_ERR_SHAPE, HT_ERR_ARGUMENT. Source: heat.linalg.isvd. */
HT_API ht_status ht_isvd(ht_tensor *columns, ht_tensor *u, ht_tensor *s, ht_tensor *vh,
                         int64_t rank, ht_tensor **new_u, ht_tensor **new_s, ht_tensor **new_vh);

HT_END_DECLS
#endif

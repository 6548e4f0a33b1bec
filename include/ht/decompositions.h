/* SPDX-License-Identifier: MIT
 *
 * Factorisations of matrices. Source: heat.linalg, torch.linalg.
 *
 * Matrices are the last two axes of a tensor; axes before them are batches of matrices. One matrix
 * may be split by rows or columns: no rank holds more than its operands, its results and a panel of
 * as many columns as its own. Batches are factored where they lie, those that are split along
 * their matrices after they were dealt out by their first axis. float32, float64, complex64 and
 * complex128; integers and bool become float32; 16-bit numbers are HT_ERR_DTYPE. Collective when an
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

HT_END_DECLS
#endif

/* SPDX-License-Identifier: MIT
 *
 * Factorisations of matrices, as LAPACK's, and what is done with factors. A row: name, and the
 * struct that it is given; for float32, float64, complex64 and complex128. */
#ifndef HT_KERNELS_DECOMPOSITIONS_H
#define HT_KERNELS_DECOMPOSITIONS_H

#include "ht/backend.h"

/* clang-format off */
#define HT_DECOMPOSITION_KERNELS(X) \
    X(QR, ht_factor_call) X(QR_PANEL, ht_factor_call) X(CHOLESKY, ht_factor_call) \
    X(LU, ht_factor_call) X(SWAP_ROWS, ht_factor_call) X(SVD, ht_factor_call) \
    X(EIGH, ht_factor_call) X(SOLVE_TRIANGULAR, ht_triangular_call)
/* clang-format on */

/* `batch` matrices of m rows and n columns, row-major, one behind another; k = min(m, n). Operands
 * that a kernel has no use for are absent.
 *   QR         a = q r: a (m, n) is read; q (m, k), absent: not wanted; r (k, n), its diagonal real
 *              and not negative
 *   QR_PANEL   a = (I - q t q^H) (r; 0), q (m, k) zero above its diagonal of ones, r (k, n) and
 *              t (k, k) upper triangular; the diagonal of r of any sign
 *   CHOLESKY   q (n, n) <- lower l, q = l l^H; only the lower triangle is read, zeros above
 *   LU         q (m, n) <- l below the diagonal of ones that is not stored, and u; row i was
 *              exchanged with row pivots[i], for i = 0 ... k - 1 in this order
 *   SWAP_ROWS  exchanges rows of q (m, n) as `count` pivots of each matrix say; backwards: undoes
 *   SVD        a = q diag(real) r: a is read; q (m, k) and r (k, n), both or none; real (k), down
 *   EIGH       q (n, n) <- its eigenvectors, as columns; real (n), its eigenvalues, up; only the
 *              lower triangle is read. `vectors` false: q is destroyed
 * info[i] of each matrix: 0; else the factorisation ended: CHOLESKY, LU: the first pivot, from 1
 * on, that is not positive, or is 0 (LU goes on); SVD, EIGH: no convergence, or NaN in a. */
typedef struct ht_factor_call {
    ht_kernel_call call;
    ht_kernel_operand a, q, r, t;
    ht_kernel_operand real;         /* float32 of complex64, float64 of complex128 */
    ht_kernel_operand pivots, info; /* int64 */
    int64_t batch, m, n, count;
    bool backwards, vectors;
} ht_factor_call;

/* For each i < batch: b_i <- op(t_i)^-1 b_i with t (m, m), or where `right` b_i op(t_i)^-1 with
 * t (n, n); b (m, n); all row-major. op: the matrix, its transpose, what is adjoint to it. unit:
 * the diagonal is taken for ones. Only one triangle of t is read, of which no element is checked.
 */
typedef enum ht_matrix_op { HT_MATRIX_PLAIN, HT_MATRIX_TRANSPOSED, HT_MATRIX_ADJOINT } ht_matrix_op;

typedef struct ht_triangular_call {
    ht_kernel_call call;
    ht_kernel_operand t, b;
    int64_t batch, m, n;
    bool upper, unit, right;
    ht_matrix_op op;
} ht_triangular_call;

#define HT_KERNEL_ID(name, arguments) HT_KERNEL_##name,
enum {
    HT_KERNEL_BEFORE_DECOMPOSITIONS = HT_KERNELS_DECOMPOSITIONS - 1,
    HT_DECOMPOSITION_KERNELS(HT_KERNEL_ID) HT_KERNELS_DECOMPOSITIONS_END
};
#undef HT_KERNEL_ID

#endif

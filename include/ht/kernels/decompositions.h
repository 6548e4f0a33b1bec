/* SPDX-License-Identifier: MIT
 *
 * Factorisations of matrices like LAPACK's, and uses of the factors, for float32, float64,
 * complex64 and complex128. A row of the list has the name of a kernel and the struct of its
 * arguments. */
#ifndef HT_KERNELS_DECOMPOSITIONS_H
#define HT_KERNELS_DECOMPOSITIONS_H

#include "ht/backend.h"

/* clang-format off */
#define HT_DECOMPOSITION_KERNELS(X) \
    X(QR, ht_factor_call) X(QR_PANEL, ht_factor_call) X(CHOLESKY, ht_factor_call) \
    X(LU, ht_factor_call) X(SWAP_ROWS, ht_factor_call) X(SVD, ht_factor_call) \
    X(EIGH, ht_factor_call) X(SOLVE_TRIANGULAR, ht_triangular_call)
/* clang-format on */

/* `batch` matrices of m rows and n columns, row-major, one after another; k = min(m, n). Operands
 * that a kernel does not use are absent.
 *   QR         a = q r. Reads a (m, n). q (m, k) is absent if it is not wanted. The diagonal of
 *              r (k, n) is real and not negative.
 *   QR_PANEL   a = (I - q t q^H) (r; 0). q (m, k) has a diagonal of ones and zeros above it.
 *              r (k, n) and t (k, k) are upper triangular. The diagonal of r has any sign.
 *   CHOLESKY   q = l l^H. Replaces q (n, n) by the lower triangle l, with zeros above. Reads only
 *              the lower triangle.
 *   LU         Replaces q (m, n) by u and, below the diagonal, by l; the ones of l are not stored.
 *              Row i was exchanged with row pivots[i], for i = 0 ... k - 1 in this order.
 *   SWAP_ROWS  Exchanges rows of q (m, n) by the `count` pivots of each matrix; backwards: undoes
 *              it.
 *   SVD        a = q diag(real) r. Reads a. q (m, k) and r (k, n) are both present or both absent.
 *              real (k) descends.
 *   EIGH       Replaces q (n, n) by its eigenvectors, as columns. Its eigenvalues real (n) ascend.
 *              Reads only the lower triangle. If `vectors` is false, q is destroyed.
 * info[i] is 0 for a matrix whose factorisation succeeded. Otherwise:
 *   CHOLESKY   the number, from 1, of the first pivot that is not positive; factorisation ended.
 *   LU         the number, from 1, of the first pivot that is 0; factorisation continued.
 *   SVD, EIGH  not 0: no convergence, or NaN in a. */
typedef struct ht_factor_call {
    ht_kernel_call call;
    ht_kernel_operand a, q, r, t;
    ht_kernel_operand real;         /* float32 for complex64, float64 for complex128 */
    ht_kernel_operand pivots, info; /* int64 */
    int64_t batch, m, n, count;
    bool backwards, vectors;
} ht_factor_call;

/* The matrix, its transpose, or its adjoint. */
typedef enum ht_matrix_op { HT_MATRIX_PLAIN, HT_MATRIX_TRANSPOSED, HT_MATRIX_ADJOINT } ht_matrix_op;

/* b_i <- op(t_i)^-1 b_i with t (m, m), for each i < batch; if `right`, b_i <- b_i op(t_i)^-1 with
 * t (n, n).
 *
 * b is (m, n); all matrices are row-major. Only one triangle of t is read: the upper one if
 * `upper`. If `unit`, its diagonal counts as ones. Its elements are not checked. */
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

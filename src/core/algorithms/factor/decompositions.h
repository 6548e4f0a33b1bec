/* SPDX-License-Identifier: MIT
 *
 * Shared parts of factorisations and solvers. Matrices are the last two axes of a tensor. The axes
 * before are batches, and local: a tensor that is split along an axis of its matrices is one
 * matrix. */
#ifndef HT_CORE_ALGORITHMS_FACTOR_DECOMPOSITIONS_H
#define HT_CORE_ALGORITHMS_FACTOR_DECOMPOSITIONS_H

#include "core/collective/collective.h"
#include "core/ops/ops.h"
#include "ht/kernels/decompositions.h"

/* ---- operands (matrix_operand.c) ----------------------------------------------------------------
 * The dtype that operands are computed in together: the one that all promote to, or float32 if that
 * is exact. Operands promote before integers become float32, so that none loses digits that the
 * result has room for. NULL operands do not count. */
ht_dtype ht__operands_dtype(int count, ht_tensor *const x[]);

/* x as matrices that LAPACK knows, in `dtype` or in the dtype that x alone is computed in. NULL
 * after an error: a vector, 16-bit numbers, a matrix that must be square and is not, a device
 * without the kernel. Differentiable. */
typedef enum ht_matrix_shape { HT_MATRIX_ANY, HT_MATRIX_SQUARE } ht_matrix_shape;
ht_tensor *ht__matrix_operand(const char *what, const char *name, ht_tensor *x,
                              ht_matrix_shape shape, ht_kernel kernel);
ht_tensor *ht__matrix_operand_as(const char *what, const char *name, ht_tensor *x,
                                 ht_matrix_shape shape, ht_kernel kernel, ht_dtype dtype);
/* x of any shape in `dtype`; NULL after an error: 16-bit numbers. */
ht_tensor *ht__wide_operand(const char *what, const char *name, ht_tensor *x, ht_dtype dtype);

static inline int64_t ht__rows(const ht_tensor *x)
{
    return x->body->shape[x->body->ndim - 2];
}
static inline int64_t ht__columns(const ht_tensor *x)
{
    return x->body->shape[x->body->ndim - 1];
}
static inline int64_t ht__order(const ht_tensor *x) /* min(rows, columns) */
{
    return ht__rows(x) < ht__columns(x) ? ht__rows(x) : ht__columns(x);
}

/* Whether one matrix is split; and whether a batch of them is, along their rows or columns. Such a
 * batch is first dealt out by its first axis, and its results are moved back. */
static inline bool ht__is_split_matrix(const ht_tensor *x)
{
    return x->body->ndim == 2 && x->body->split != HT_NONE && x->body->comm->size > 1;
}
static inline bool ht__is_split_batch(const ht_tensor *x)
{
    return x->body->ndim > 2 && x->body->split >= x->body->ndim - 2;
}

/* A new tensor: the batch axes of x with its split of them, then `tail` axes. */
ht_tensor *ht__batch_of(const char *what, const ht_tensor *x, ht_dtype dtype, int tail,
                        const int64_t lengths[]);
/* The length of x as one vector. */
ht_status ht__length(ht_tensor *x, double *length);
/* A new matrix of this rank alone, on the device of x. */
ht_tensor *ht__own_matrix(const char *what, const ht_tensor *x, int64_t rows, int64_t columns);
/* The matrix x split by columns, every rank's in row-major memory without another reference. */
ht_tensor *ht__own_columns(const char *what, ht_tensor *x);
/* Rows `from` ... of the columns of `root`, of a local part of theirs, on every rank. */
ht_tensor *ht__panel_of(const char *what, ht_tensor *x, int root, int64_t from);
/* Conjugate and transpose of the last two axes. */
ht_tensor *ht__adjoint(ht_tensor *x);
/* x, or a copy of a view: a result that holds no more memory than it needs. NULL stays NULL. */
ht_tensor *ht__owned(ht_tensor *x);
/* Zeros, and ones on the diagonal: the shape of x but for `rows`, in its slabs where they fit. */
ht_tensor *ht__identity_like(const char *what, const ht_tensor *x);

/* scale.c. x = 2^exponent y, where y's largest magnitude is in [1/2, 1); y is x if all of x is 0 or
 * if x is not finite. Collective where x is split. NULL after an error, or of NULL. */
ht_tensor *ht__near_one(ht_tensor *x, int *exponent);
ht_tensor *ht__times_power(ht_tensor *x, int exponent); /* 2^exponent x */

/* HT_ERR_ARGUMENT of all ranks where x has an element that is NaN or infinite. Collective where x
 * is split. */
ht_status ht__check_finite(const char *what, ht_tensor *x);

/* The smallest `mine` of all ranks that is not 0, where x is split. */
ht_status ht__first_info(const char *what, const ht_tensor *x, int64_t *mine);

/* a x = b: *a square matrices, *b what they are solved for, of one dtype and with the same batch
 * axes in the same slabs; b without its last axis is one column, *is_vector. False after an error.
 */
bool ht__system_operands(const char *what, ht_tensor **a, ht_tensor **b, bool *is_vector);
/* x with the axes that the program's b has, in its split where it has as many. */
ht_tensor *ht__as_solved_for(ht_tensor *x, bool is_vector, const ht_tensor *b);

/* Between the two nothing is recorded, and what this rank alone sees concerns the ranks of x. */
typedef struct ht_section {
    bool recorded;
    ht_comm *outer;
} ht_section;
static inline ht_section ht__section_begin(const ht_tensor *x)
{
    return (ht_section){ht_set_grad_enabled(false), ht__together(x->body->comm)};
}
static inline void ht__section_end(ht_section section)
{
    ht__together_end(section.outer);
    ht_set_grad_enabled(section.recorded);
}

/* ---- local factorisations (local_factors.c) -----------------------------------------------------
 * Of tensors whose matrices lie on one rank each. Results are new, row-major, in the batch axes of
 * x. info: the smallest of the kernel's that is not 0, or 0. NULL results where not wanted. */
ht_status ht__local_qr(const char *what, ht_tensor *x, ht_tensor **q, ht_tensor **r);
ht_status ht__local_qr_panel(const char *what, ht_tensor *x, ht_tensor **v, ht_tensor **r,
                             ht_tensor **t);
ht_status ht__local_cholesky(const char *what, ht_tensor *x, ht_tensor **l, int64_t *info);
ht_status ht__local_lu(const char *what, ht_tensor *x, ht_tensor **lu, ht_tensor **pivots,
                       int64_t *info);
ht_status ht__local_svd(const char *what, ht_tensor *x, ht_tensor **u, ht_tensor **s,
                        ht_tensor **vh, int64_t *info);
ht_status ht__local_eigh(const char *what, ht_tensor *x, ht_tensor **w, ht_tensor **v,
                         int64_t *info);

/* In place of x, which is row-major (of its rows `from` on, one matrix). */
ht_status ht__local_swap_rows(const char *what, ht_tensor *x, ht_tensor *pivots, bool backwards);

typedef struct ht_triangle {
    bool upper, unit, right;
    ht_matrix_op op;
} ht_triangle;
ht_status ht__local_solve_triangular(const char *what, ht_tensor *t, ht_triangle as, ht_tensor *b);

/* c <- alpha op(a) op(b) + beta c; c is row-major. */
ht_status ht__local_product(const char *what, ht_tensor *c, double alpha, ht_tensor *a,
                            ht_matrix_op a_op, ht_tensor *b, ht_matrix_op b_op, double beta);

/* a b of any splits of one matrix each, or of batches with the same splits. */
ht_tensor *ht__batch_product(const char *what, ht_tensor *a, ht_tensor *b);

/* ---- factorisations of split matrices -----------------------------------------------------------
 * x by rows with at least as many of them as columns: q split as it is, r on every rank. */
ht_status ht__qr_tree(const char *what, ht_tensor *x, ht_tensor **q, ht_tensor **r);
/* x by columns: q and r are also split by columns, in canonical slabs. */
ht_status ht__qr_columns(const char *what, ht_tensor *x, ht_tensor **q, ht_tensor **r);
/* The same as ht_qr, without gradients; x is not a batch that is split along its matrices. */
ht_status ht__qr(const char *what, ht_tensor *x, ht_tensor **q, ht_tensor **r);

/* lu_columns.c: columns <- l and u, of a matrix that is ht__own_columns; `carried` <- l^-1 times it
 * with rows exchanged (this rank's part of the right-hand side; NULL: none). pivots: as a kernel's,
 * of the complete matrix, in host memory of min(m, n) numbers. info: of all ranks. */
ht_status ht__lu_columns(const char *what, ht_tensor *columns, ht_tensor *carried, int64_t *pivots,
                         int64_t *info);

/* x <- op(t)^-1 x for one triangular matrix t of any split, or of batches with the same splits,
 * new; the split of b.
 */
ht_tensor *ht__solve_triangle(const char *what, ht_tensor *t, ht_triangle as, ht_tensor *b);
/* Columns of b as they are solved for: each rank's own, or, of no split or of one column, all on
 * each rank. New memory, row-major. */
ht_tensor *ht__columns_for(const char *what, ht_tensor *b);
/* The same in place of this rank's columns of x, or all where each rank has them. */
ht_status ht__solve_columns(const char *what, ht_tensor *t, ht_triangle as, ht_tensor *local);

#endif

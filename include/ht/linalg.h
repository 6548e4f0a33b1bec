/* SPDX-License-Identifier: MIT
 *
 * Linear algebra: products, traces and norms. Source: heat.linalg.
 *
 * Collective if an operand is split, unless a comment says otherwise.
 * Differentiable, unless a comment says otherwise. Results are scoped. A split result has the slabs
 * of an operand that is split along the same axis of the result. It is balanced if none is.
 * Errors: HT_ERR_SHAPE for operands that do not fit, HT_ERR_ARGUMENT for an axis outside of the
 * operand, HT_ERR_COMM and HT_ERR_DEVICE for operands on different communicators or devices. */
#ifndef HT_LINALG_H
#define HT_LINALG_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* c = a b, the product of matrices: (..., m, k) (..., k, n) -> (..., m, n).
 *
 * Batch axes broadcast, and operands promote to one dtype. Integers are exact and wrap around; for
 * bool, c tells whether some pair is true in both.
 * Sums over ranks and slabs are float32 for float16 and bfloat16, and are rounded to 16 bits once.
 * Other sums have the dtype of the result.
 * Either an operand or parts of the product travel, whichever is less. No rank holds all of a split
 * operand (core/algorithms/product/product.c).
 * a: a vector is a row, and c lacks its axis.
 * b: a vector is a column, and c lacks its axis.
 * Collective if an operand is split. Differentiable.
 * Result: split along the batch axis that is the split of a, else of b. Otherwise the splits of the
 * matrices (a, b) decide:
 *     none: (none, none).
 *     rows: (0, any), (1, 0), (1, none), (none, 0).
 *     columns: (none, 1), (1, 1).
 * A vector and a matrix give the axis that is left; two vectors give no split.
 * Errors: HT_ERR_SHAPE for an operand without axes (ht_mul takes it), or if the lengths do not fit.
 * Source: heat.linalg.matmul; batches as in numpy.matmul. */
HT_API ht_tensor *ht_matmul(ht_tensor *a, ht_tensor *b);

/* Returns a b: ht_mul if an operand has no axes, else ht_matmul, of vectors too.
 *
 * a, b: up to two axes. An operand may be a number (ht_scalar), on any number of ranks.
 * Result: dtype and split are those of ht_mul or ht_matmul.
 * Errors: HT_ERR_SHAPE for more than two axes.
 * Source: heat.linalg.dot. */
HT_API ht_tensor *ht_dot(ht_tensor *a, ht_tensor *b);

/* Returns the sum of conj(a) b over all elements, paired in row-major order.
 *
 * a, b: the same number of elements; their shapes may differ. An operand may be a number
 *   (ht_scalar), on any number of ranks.
 * Result: no axes and no split; the dtype of ht_mul, and int64 for integers and bool.
 * Errors: HT_ERR_SHAPE for different numbers of elements.
 * Source: heat.linalg.vdot. */
HT_API ht_tensor *ht_vdot(ht_tensor *a, ht_tensor *b);

/* Returns the sum of conj(a) b along one axis of the shape to which a and b broadcast.
 *
 * a, b: one of them may be a number (ht_scalar), on any number of ranks.
 * axis: HT_NONE is the last one.
 * keepdims: the axis stays, with length 1.
 * Result: split as the result of ht_sum; the dtype is that of ht_vdot.
 * Source: heat.linalg.vecdot, which does not conjugate; the array API does. */
HT_API ht_tensor *ht_vecdot(ht_tensor *a, ht_tensor *b, int axis, bool keepdims);

/* c[i][j] = a[i] b[j] for all elements of a and b in row-major order.
 *
 * split: 0 or 1, or -2 or -1 for these. HT_NONE: 0 if an operand is split, else no split.
 * Collective if an operand must move: the one along the other axis is gathered.
 * Result: (elements of a, elements of b), of the dtype of ht_mul.
 * Errors: HT_ERR_SHAPE for an operand without axes, HT_ERR_ARGUMENT for another split.
 * Source: heat.linalg.outer. */
HT_API ht_tensor *ht_outer(ht_tensor *a, ht_tensor *b, int split);

/* Returns the cross products of the vectors of a and b along axis. Other axes broadcast.
 *
 * Vectors along the split axis are first brought to one rank each.
 *
 * a, b: vectors of length 2 or 3. A vector of length 2 has a third component of 0.
 * axis: an axis of each operand and of the result. Operands with different numbers of axes need a
 * negative one, because it counts from the end.
 * Collective if axis is the split axis of an operand, or if an operand is not balanced.
 * Result: vectors of length 3, in the dtype of ht_mul. If both operands have length 2, it is the
 * third component alone, without axis. It is split as the operands. If axis is the split axis of
 * one operand only, it is split along its first other axis, if it has one. It is balanced unless
 * both have length 2.
 * Errors: HT_ERR_SHAPE for another length, HT_ERR_DTYPE for bool.
 * Source: heat.linalg.cross. */
HT_API ht_tensor *ht_cross(ht_tensor *a, ht_tensor *b, int axis);

/* ht_cross of a and b with an axis for each: axis_a of a, axis_b of b and axis_c of the result. */
HT_API ht_tensor *ht_cross_ext(ht_tensor *a, ht_tensor *b, int axis_a, int axis_b, int axis_c);

/* Returns the sum along the diagonal (ht_diagonal) of axis0 and axis1, which the result lacks.
 *
 * x: integers and bool are summed in int64; other dtypes stay.
 * offset: like that of ht_diagonal.
 * Collective if axis0 or axis1 is split.
 * Result: for a matrix one number on all ranks. If x is split along axis0 or axis1, the result is
 * split along its axis of the same index, or along its last one if it has no such axis. It is then
 * balanced. Another split of x stays.
 * Errors: HT_ERR_ARGUMENT if axis0 is axis1.
 * Source: heat.linalg.trace. */
HT_API ht_tensor *ht_trace(ht_tensor *x, int64_t offset, int axis0, int axis1);

/* Returns the projection of a vector a on a vector b: b (b* a) / (b* b).
 *
 * Collective if an operand is split.
 * Result: split as b; the dtype of ht_div of a and b. NaN if b is 0.
 * Errors: HT_ERR_SHAPE unless a and b are vectors.
 * Source: heat.linalg.projection, which does not conjugate. */
HT_API ht_tensor *ht_projection(ht_tensor *a, ht_tensor *b);

/* Special orders of norms: the Frobenius norm of matrices, and the default order of each function.
 */
#define HT_NORM_FRO     1e300
#define HT_NORM_DEFAULT (-1e300)

/* Returns (sum |x|^ord)^(1 / ord) along axis.
 *
 * Sums are kept in float64.
 * ord: INFINITY gives the largest |x|, -INFINITY the smallest, and 0 the number of elements that
 * are not 0. HT_NORM_DEFAULT is 2. Without elements, a negative finite order gives infinity.
 * axis: HT_NONE takes all elements.
 * keepdims: reduced axes stay, with length 1.
 * Collective if the split axis is reduced. Differentiable unless ord is 0; the gradient where x is
 * 0 is 0.
 * Result: split as the result of ht_sum. Floating dtypes stay, complex numbers give the dtype of
 * their parts, integers and bool float32.
 * Errors: HT_ERR_SHAPE for an infinite order of no elements, HT_ERR_ARGUMENT if ord is NaN or
 * HT_NORM_FRO.
 * Source: heat.linalg.vector_norm. */
HT_API ht_tensor *ht_vector_norm(ht_tensor *x, double ord, int axis, bool keepdims);

/* Returns the norms of the matrices in axis0 (rows) and axis1 (columns) of x.
 *
 * ord: HT_NORM_FRO and HT_NORM_DEFAULT give (sum |x|^2)^(1/2). 1 gives the largest sum of |x| of a
 * column, INFINITY that of a row. -1 and -INFINITY give the smallest sum.
 * axis0, axis1: both HT_NONE if x is a matrix.
 * keepdims: reduced axes stay, with length 1.
 * Collective if axis0 or axis1 is split.
 * Result: split and dtype are those of ht_vector_norm.
 * Errors: HT_ERR_ARGUMENT for another ord (also 2, -2 and the nuclear norm), for one HT_NONE alone
 * or an axis given twice. HT_ERR_SHAPE for HT_NONE unless x has two axes, and for the largest or
 * smallest of no sums.
 * Source: heat.linalg.matrix_norm. */
HT_API ht_tensor *ht_matrix_norm(ht_tensor *x, double ord, int axis0, int axis1, bool keepdims);

/* Options of ht_norm_ext. Each field begins with its default. */
typedef struct ht_norm_options {
    size_t size;     /* set by ht_norm_options_default */
    double ord;      /* HT_NORM_DEFAULT */
    const int *axes; /* NULL. One axis: norms of vectors; two: of matrices. Read during the call */
    int count;       /* 0: the number of axes */
    bool keepdims;   /* false; true: reduced axes stay, with length 1 */
} ht_norm_options;

/* Returns the default options, with size set. Not collective. */
HT_API ht_norm_options ht_norm_options_default(void);

/* Returns the square root of the sum of |x|^2 over all elements.
 *
 * Collective if x is split.
 * Result: one number on all ranks; the dtype is that of ht_vector_norm.
 * Source: heat.linalg.norm. */
HT_API ht_tensor *ht_norm(ht_tensor *x);

/* ht_norm of x with options: the order, the axes and kept axes.
 *
 * options: NULL means the defaults. Two axes, or no axes with an order and a matrix x, give
 * ht_matrix_norm. Other options give ht_vector_norm along the axis, or of all elements.
 * Collective if the split axis is reduced.
 * Errors: HT_ERR_ARGUMENT unless axes is NULL with count 0, or has one or two axes; those of
 * ht_matrix_norm and ht_vector_norm. */
HT_API ht_tensor *ht_norm_ext(ht_tensor *x, const ht_norm_options *options);

HT_END_DECLS
#endif

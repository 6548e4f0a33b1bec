/* SPDX-License-Identifier: MIT
 *
 * Linear algebra. Source: heat.linalg. */
#ifndef HT_LINALG_H
#define HT_LINALG_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* c = a b: (..., m, k) (..., k, n) -> (..., m, n), batches broadcasting; a vector a is a row, a
 * vector b a column, and c lacks that axis. Operands promote; integers are exact and wrap around;
 * of bool it is whether some pair are both set. Parts of sums over ranks and slabs are float32 for
 * float16 and bfloat16, else of the result's dtype; they are rounded to 16 bits once. Collective
 * when an operand is split. Split of the result: a batch axis that is a's split, or b's; else the
 * rows, by the splits of (a, b) as none, 0, 1 of matrices: (none, none) none; (0, any), (1, 0),
 * (1, none), (none, 0) the rows; (none, 1), (1, 1) the columns; of a vector and a matrix the axis
 * that is left, of two vectors none. Either operand, or the product's parts, travel, whichever is
 * less, and no rank holds a whole split operand (core/algorithms/product.c). Differentiable.
 * Errors: HT_ERR_SHAPE, HT_ERR_COMM, HT_ERR_DEVICE. Source: heat.linalg.matmul; batches as
 * numpy.matmul. */
HT_API ht_tensor *ht_matmul(ht_tensor *a, ht_tensor *b);

/* a b of tensors without axes or with one beside each other (ht_mul, and of two vectors the sum of
 * their products), else ht_matmul of vectors and matrices; of more than two axes HT_ERR_SHAPE.
 * A number (ht_scalar) is an operand here, and of ht_vdot and ht_vecdot, on any number of ranks.
 * Source: heat.linalg.dot. */
HT_API ht_tensor *ht_dot(ht_tensor *a, ht_tensor *b);

/* The sum of conj(a) b over all elements, of as many in row-major order where the shapes differ. No
 * split. Source: heat.linalg.vdot. */
HT_API ht_tensor *ht_vdot(ht_tensor *a, ht_tensor *b);

/* The sum of conj(a) b over an axis of the shape that they broadcast to; HT_NONE: the last.
 * keepdims: it stays, with length 1. Split as ht_sum's result. Heat does not conjugate; the array
 * API does. Source: heat.linalg.vecdot. */
HT_API ht_tensor *ht_vecdot(ht_tensor *a, ht_tensor *b, int axis, bool keepdims);

/* c[i][j] = a[i] b[j], of all elements in row-major order where there are more axes. Split 0 or 1
 * as told; HT_NONE: 0 if an operand is split, else none. The operand along the other axis is
 * gathered. Source: heat.linalg.outer. */
HT_API ht_tensor *ht_outer(ht_tensor *a, ht_tensor *b, int split);

/* Cross products of vectors along an axis, 2 or 3 long, the others broadcasting: of two vectors of
 * 2 the third component alone, without that axis. The long form has an axis for each operand and
 * the result. Vectors across the split axis are brought together first, and the result is split as
 * they were. Source: heat.linalg.cross. */
HT_API ht_tensor *ht_cross(ht_tensor *a, ht_tensor *b, int axis);
HT_API ht_tensor *ht_cross_ext(ht_tensor *a, ht_tensor *b, int axis_a, int axis_b, int axis_c);

/* The sum along a diagonal (ht_diagonal) of two axes, which are dropped; of integers and bool in
 * int64. Where one of the two is split the result is split along the axis of that number, or the
 * last; a matrix has one number on all ranks. Source: heat.linalg.trace. */
HT_API ht_tensor *ht_trace(ht_tensor *x, int64_t offset, int axis0, int axis1);

/* The part of a vector a in the direction of b: b (b* a) / (b* b). Split as ht_mul's result.
 * Source: heat.linalg.projection, which does not conjugate. */
HT_API ht_tensor *ht_projection(ht_tensor *a, ht_tensor *b);

/* Orders of norms are numbers, and these: Frobenius' of matrices, and what a norm is of when
 * nothing is said. */
#define HT_NORM_FRO     1e300
#define HT_NORM_DEFAULT (-1e300)

/* (sum |x|^ord)^(1 / ord) along an axis (HT_NONE: over all elements); INFINITY: the largest |x|,
 * -INFINITY: the smallest; 0: how many are not 0 (no gradient). HT_NORM_DEFAULT: 2. Floating dtypes
 * keep theirs, complex numbers give that of their parts, integers and bool float32; sums are kept
 * in float64. Split as ht_sum's result. Its gradient at 0 is 0. Errors: HT_ERR_SHAPE where there
 * are no elements for an infinite order. Source: heat.linalg.vector_norm. */
HT_API ht_tensor *ht_vector_norm(ht_tensor *x, double ord, int axis, bool keepdims);

/* Of the matrices of two axes (HT_NONE, HT_NONE: x is one): HT_NORM_FRO or HT_NORM_DEFAULT (sum
 * |x|^2)^(1/2), 1 the largest sum of |x| of a column, INFINITY of a row, and negative the smallest.
 * Others are HT_ERR_ARGUMENT. Source: heat.linalg.matrix_norm. */
HT_API ht_tensor *ht_matrix_norm(ht_tensor *x, double ord, int axis0, int axis1, bool keepdims);

typedef struct ht_norm_options {
    size_t size;
    double ord;      /* HT_NORM_DEFAULT */
    const int *axes; /* NULL; one: norms of vectors along it; two: of matrices; read in the call */
    int count;       /* 0; of axes */
    bool keepdims;   /* false */
} ht_norm_options;
HT_API ht_norm_options ht_norm_options_default(void);

/* The square root of the sum of all |x|^2; and of what the options say: without axes and with an
 * order a matrix has its matrix norm, any other tensor that of all its elements as a vector.
 * Source: heat.linalg.norm. */
HT_API ht_tensor *ht_norm(ht_tensor *x);
HT_API ht_tensor *ht_norm_ext(ht_tensor *x, const ht_norm_options *options);

HT_END_DECLS
#endif

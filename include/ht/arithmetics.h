/* SPDX-License-Identifier: MIT
 *
 * Arithmetic, element by element; sums, products and differences along an axis.
 *
 * Broadcasting: operands broadcast as in NumPy.
 *
 * Promotion: dtypes promote as in PyTorch. Together with a tensor that has axes, a tensor without
 * axes raises only the kind of the dtype (bool, integer, floating, complex). For example, float32
 * with a float64 without axes gives float32. int32 with it gives float64 (ht_result_type). A number
 * does the same: it takes the tensor's dtype unless its kind is higher (ht/number.h). ht_scalar
 * makes a number an operand. "Not for bool" and the like are about the dtype that results. Integers
 * wrap around.
 *
 * Result: scoped, with the split and slabs of the first operand that is split along an axis with
 * the length that the result has there. A replicated operand costs nothing.
 *
 * Collectivity: logically collective, unless a function's comment says otherwise. A split operand
 * with another split or other slabs than the result is moved, which is collective.
 *
 * Gradients: differentiable, unless a function's comment says otherwise.
 *
 * In place: a function whose name ends in an underscore writes its result to its first operand. It
 * is recorded in the graph as the other form is. The second operand broadcasts to the first. It may
 * overlap it in memory, also in part: elements are read before they are written. PyTorch refuses
 * that. The first operand keeps its split and slabs. If it is replicated and the second one is
 * split, the result is gathered, which is collective. While gradients are recorded, the first
 * operand must not be a leaf that requires gradients, or a view of one.
 *
 * Errors: a NULL operand gives NULL, or the status of its error (ht/error.h).
 * - HT_ERR_SHAPE if shapes do not broadcast.
 * - HT_ERR_DTYPE if the function is not defined for the dtype.
 * - HT_ERR_COMM if operands have different communicators.
 * - HT_ERR_DEVICE if operands are on different devices.
 * - HT_ERR_ARGUMENT if an integer is out of the range of the dtype that it takes (ht/number.h).
 * - HT_ERR_ARGUMENT if an axis is outside x.
 * - In place, HT_ERR_DTYPE if the kind of the result is higher than that of the first operand.
 * - In place, HT_ERR_STATE where ht_copy_ refuses the first operand.
 *
 * Source: heat.arithmetics. */
#ifndef HT_ARITHMETICS_H
#define HT_ARITHMETICS_H

#include "ht/reduction.h"

HT_BEGIN_DECLS

/* a + b; for bool, a or b. */
HT_API ht_tensor *ht_add(ht_tensor *a, ht_tensor *b);

/* a - b; not for bool. */
HT_API ht_tensor *ht_sub(ht_tensor *a, ht_tensor *b);

/* a b, the product; for bool, a and b. */
HT_API ht_tensor *ht_mul(ht_tensor *a, ht_tensor *b);

/* a / b; integers and bool give float32. */
HT_API ht_tensor *ht_div(ht_tensor *a, ht_tensor *b);

/* a + b for a number b. The dtype is that of a unless b has a higher kind: see ht/number.h. */
HT_API ht_tensor *ht_add_scalar(ht_tensor *a, double b);

/* a - b for a number b. The dtype is that of a unless b has a higher kind: see ht/number.h. */
HT_API ht_tensor *ht_sub_scalar(ht_tensor *a, double b);

/* a b for a number b. The dtype is that of a unless b has a higher kind: see ht/number.h. */
HT_API ht_tensor *ht_mul_scalar(ht_tensor *a, double b);

/* a / b for a number b; integers and bool give float32. */
HT_API ht_tensor *ht_div_scalar(ht_tensor *a, double b);

/* ht_add_scalar with any ht_number: a + b for an int64, a double or a complex number b. */
HT_API ht_tensor *ht_add_scalar_ext(ht_tensor *a, ht_number b);

/* ht_sub_scalar with any ht_number: a - b for an int64, a double or a complex number b. */
HT_API ht_tensor *ht_sub_scalar_ext(ht_tensor *a, ht_number b);

/* ht_mul_scalar with any ht_number: a b for an int64, a double or a complex number b. */
HT_API ht_tensor *ht_mul_scalar_ext(ht_tensor *a, ht_number b);

/* ht_div_scalar with any ht_number: a / b for an int64, a double or a complex number b. */
HT_API ht_tensor *ht_div_scalar_ext(ht_tensor *a, ht_number b);

/* -x; not for bool. */
HT_API ht_tensor *ht_neg(ht_tensor *x);

/* +x, a copy of x. */
HT_API ht_tensor *ht_pos(ht_tensor *x);

/* a^b, a to the power of b; not for bool.
 *
 * Negative powers of integers are rounded towards 0. So these are 0, except for a = 1 and a = -1;
 * NumPy refuses them. */
HT_API ht_tensor *ht_pow(ht_tensor *a, ht_tensor *b);

/* floor(a / b); not for bool or complex numbers. Not differentiable.
 *
 * As in NumPy, integers give 0 where b is 0. Floating numbers give a / b there. */
HT_API ht_tensor *ht_floordiv(ht_tensor *a, ht_tensor *b);

/* a - b floor(a / b), with the sign of b; not for bool or complex numbers.
 *
 * As in NumPy, integers give 0 where b is 0. Floating numbers give NaN there. */
HT_API ht_tensor *ht_remainder(ht_tensor *a, ht_tensor *b);

/* a - b trunc(a / b), with the sign of a; not for bool or complex numbers.
 *
 * As in NumPy, integers give 0 where b is 0. Floating numbers give NaN there. */
HT_API ht_tensor *ht_fmod(ht_tensor *a, ht_tensor *b);

/* Computes floor(a / b) and a - b floor(a / b), as ht_floordiv and ht_remainder do.
 *
 * quotient: *quotient is set to floor(a / b) on success.
 * rest: *rest is set to a - b floor(a / b) on success.
 * Errors: HT_ERR_ARGUMENT if quotient or rest is NULL. */
HT_API ht_status ht_divmod(ht_tensor *a, ht_tensor *b, ht_tensor **quotient, ht_tensor **rest);

/* The greatest common divisor of integers a and b, at least 0; gcd(0, 0) = 0. Not for bool.
 *
 * Not differentiable. */
HT_API ht_tensor *ht_gcd(ht_tensor *a, ht_tensor *b);

/* The least common multiple of integers a and b, at least 0; lcm(a, 0) = 0. Not for bool.
 *
 * Not differentiable. */
HT_API ht_tensor *ht_lcm(ht_tensor *a, ht_tensor *b);

/* sqrt(a^2 + b^2) without overflow; not for complex numbers. Integers and bool give float32. */
HT_API ht_tensor *ht_hypot(ht_tensor *a, ht_tensor *b);

/* |a| with the sign of b; not for complex numbers. Integers and bool give float32. */
HT_API ht_tensor *ht_copysign(ht_tensor *a, ht_tensor *b);

/* x with NaN replaced by 0, and infinities by the greatest and least finite numbers of its dtype.
 *
 * Integers and bool are copied. Not for complex numbers. The gradient is 0 at replaced elements. */
HT_API ht_tensor *ht_nan_to_num(ht_tensor *x);

/* ht_nan_to_num with given replacements.
 *
 * x: as in ht_nan_to_num.
 * nan, posinf, neginf: replace NaN, infinity and -infinity. They are rounded to the dtype of x:
 * beyond its range they become infinite. */
HT_API ht_tensor *ht_nan_to_num_ext(ht_tensor *x, double nan, double posinf, double neginf);

/* Replaces a by a - b. */
HT_API ht_status ht_sub_(ht_tensor *a, ht_tensor *b);

/* Replaces a by a b. */
HT_API ht_status ht_mul_(ht_tensor *a, ht_tensor *b);

/* Replaces a by a / b. */
HT_API ht_status ht_div_(ht_tensor *a, ht_tensor *b);

/* Replaces a by a^b, see ht_pow. */
HT_API ht_status ht_pow_(ht_tensor *a, ht_tensor *b);

/* Replaces a by floor(a / b), see ht_floordiv. */
HT_API ht_status ht_floordiv_(ht_tensor *a, ht_tensor *b);

/* Replaces a by a - b floor(a / b), see ht_remainder. */
HT_API ht_status ht_remainder_(ht_tensor *a, ht_tensor *b);

/* Replaces a by a - b trunc(a / b), see ht_fmod. */
HT_API ht_status ht_fmod_(ht_tensor *a, ht_tensor *b);

/* Replaces a by the greatest common divisor of a and b, see ht_gcd. */
HT_API ht_status ht_gcd_(ht_tensor *a, ht_tensor *b);

/* Replaces a by the least common multiple of a and b, see ht_lcm. */
HT_API ht_status ht_lcm_(ht_tensor *a, ht_tensor *b);

/* Replaces a by sqrt(a^2 + b^2), see ht_hypot. */
HT_API ht_status ht_hypot_(ht_tensor *a, ht_tensor *b);

/* Replaces a by |a| with the sign of b. */
HT_API ht_status ht_copysign_(ht_tensor *a, ht_tensor *b);

/* Replaces x by -x. */
HT_API ht_status ht_neg_(ht_tensor *x);

/* Replaces a by a + alpha b.
 *
 * Errors: HT_ERR_DTYPE if the kind of the result is higher than a's: integers plus 0.7. */
HT_API ht_status ht_add_(ht_tensor *a, ht_tensor *b, double alpha);

/* ht_add_ with any ht_number: replaces a by a + alpha b for an int64, a double or a complex number
 * alpha. */
HT_API ht_status ht_add_ext_(ht_tensor *a, ht_tensor *b, ht_number alpha);

/* Replaces a by a b for a number b. */
HT_API ht_status ht_mul_scalar_(ht_tensor *a, double b);

/* ht_mul_scalar_ with any ht_number: replaces a by a b for an int64, a double or a complex number
 * b. */
HT_API ht_status ht_mul_scalar_ext_(ht_tensor *a, ht_number b);

/* The sum of x along an axis, or of all its elements; 0 for no elements.
 *
 * - Integers and bool are summed in int64. The bits are the same on any number of ranks.
 * - Other dtypes are summed in the accumulator's dtype, float64 or complex128, between ranks too.
 *   Their sum is rounded once, and is repeatable for a given number of ranks.
 * - If partial sums are exact in that dtype, the bits are the same on any number of ranks.
 * - Otherwise the sum of n elements, before that rounding, is within n eps sum |x| of the exact
 *   sum; eps is 2^-53.
 * - Means follow these rules, and so do gradients that are summed because an operand was broadcast.
 *   Means of integers are summed in float64, where no sum overflows.
 *
 * axis: negative from the end; HT_NONE for all axes.
 * Collective if the split axis is summed.
 * Result: without the axis; int64 for integers and bool, else the dtype of x. Replicated if the
 * split axis is summed, otherwise in the split and slabs of x. */
HT_API ht_tensor *ht_sum(ht_tensor *x, int axis);

/* ht_sum with options: several axes, kept axes, dtype, initial value, `where`.
 *
 * x: as in ht_sum.
 * options: ht/reduction.h; NULL for the defaults.
 * Collective if the split axis is summed. */
HT_API ht_tensor *ht_sum_ext(ht_tensor *x, const ht_reduce_options *options);

/* The product of x along an axis, or of all its elements; 1 for no elements.
 *
 * - Integers and bool are multiplied in int64, which wraps around.
 * - Other dtypes are multiplied in the accumulator's dtype. Their product is rounded once.
 * - If partial products are exact in that dtype, the bits are the same on any number of ranks.
 * - Otherwise the product of n elements is within n eps of the exact one, relative to it; eps is
 *   2^-53.
 * - The gradient of x[i] is the product's gradient times the product of the other elements, even
 *   if some are 0. It is NaN where x[i] is infinite.
 *
 * axis: negative from the end; HT_NONE for all axes.
 * Collective if the split axis is reduced.
 * Result: axes, split, slabs and dtype as those of ht_sum. */
HT_API ht_tensor *ht_prod(ht_tensor *x, int axis);

/* ht_prod with options: several axes, kept axes, dtype, initial value, `where`.
 *
 * x: as in ht_prod.
 * options: ht/reduction.h; NULL for the defaults.
 * Collective if the split axis is reduced. */
HT_API ht_tensor *ht_prod_ext(ht_tensor *x, const ht_reduce_options *options);

/* ht_sum of x along axis with NaN taken as 0; a complex number is NaN if one of its parts is. NaN
 * has the gradient 0. Collective if the split axis is summed. */
HT_API ht_tensor *ht_nansum(ht_tensor *x, int axis);

/* ht_prod of x along axis with NaN taken as 1; a complex number is NaN if one of its parts is. NaN
 * has the gradient 0. Collective if the split axis is reduced. */
HT_API ht_tensor *ht_nanprod(ht_tensor *x, int axis);

/* y[i] = x[0] + ... + x[i] along an axis, each element rounded once like ht_sum.
 *
 * axis: negative from the end.
 * Collective if axis is the split axis.
 * Result: the shape, split and slabs of x; int64 for integers and bool, else the dtype of x. */
HT_API ht_tensor *ht_cumsum(ht_tensor *x, int axis);

/* y[i] = x[0] ... x[i] along an axis; dtypes and rounding are those of ht_prod.
 *
 * Along the split axis of P ranks, the products of slabs travel in log2(P) steps. The gradient is
 * right where x has zeros.
 *
 * axis: negative from the end.
 * Collective if axis is the split axis.
 * Result: as that of ht_cumsum. */
HT_API ht_tensor *ht_cumprod(ht_tensor *x, int axis);

/* Replaces x by ht_cumsum of x along axis. Collective if axis is the split axis.
 *
 * A sum that an integer dtype of x cannot hold keeps its low bits.
 * Errors: HT_ERR_DTYPE if x is bool, because bool cannot hold the result. */
HT_API ht_status ht_cumsum_(ht_tensor *x, int axis);

/* Replaces x by ht_cumprod of x along axis. Collective if axis is the split axis.
 *
 * A product that an integer dtype of x cannot hold keeps its low bits.
 * Errors: HT_ERR_DTYPE if x is bool, because bool cannot hold the result. */
HT_API ht_status ht_cumprod_(ht_tensor *x, int axis);

/* x[i + 1] - x[i] along an axis, repeated; for bool, whether x[i + 1] and x[i] differ.
 *
 * times: how often the difference is taken, at least 0; 0 gives x itself.
 * axis: negative from the end. It becomes shorter by 1 each time, until it is empty.
 * Collective if axis is the split axis: each time, each rank gets one element of the next rank.
 * Result: the dtype and split of x. Along the split axis it may be unbalanced (ht_balance).
 * Errors: HT_ERR_ARGUMENT if times is negative. */
HT_API ht_tensor *ht_diff(ht_tensor *x, int times, int axis);

/* The dtype in which an operation of these tensors computes.
 *
 * It is the largest dtype of the tensors with axes, by ht_promote_types. Tensors without axes, and
 * then numbers (ht_scalar), raise its kind and not its size. If no tensor has axes, it is the
 * largest dtype of those that are not numbers. If tensors without axes raise
 *     - bool or integers, the result is their own dtype;
 *     - a floating dtype, it is complex128 for float64, and complex64 for others.
 * Numbers raise dtypes as in ht/number.h.
 *
 * count: the number of tensors, at least 1.
 * xs: the tensors, on any communicators and devices.
 * Not collective.
 * Result: the dtype, or HT_DTYPE_COUNT after an error.
 * Errors: HT_ERR_ARGUMENT if count is below 1, or if xs or one of them is NULL. */
HT_API ht_dtype ht_result_type(int count, ht_tensor *const xs[]);

HT_END_DECLS
#endif

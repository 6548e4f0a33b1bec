/* SPDX-License-Identifier: MIT
 *
 * Arithmetic, element by element. Operands broadcast as in NumPy and promote as in PyTorch: beside
 * a tensor with axes one without raises the kind only (bool, integer, floating, complex), as a
 * number does: float32 with a float64 of no axes is float32. Numbers are operands by ht_scalar.
 * Logically collective: the result is split where an operand is (a replicated operand costs
 * nothing, two different splits cost a resplit of the second). Differentiable. NULL operands give
 * NULL. Errors: HT_ERR_SHAPE, HT_ERR_COMM, HT_ERR_DEVICE. Source: heat.arithmetics. */
#ifndef HT_ARITHMETICS_H
#define HT_ARITHMETICS_H

#include "ht/reduction.h"

HT_BEGIN_DECLS

HT_API ht_tensor *ht_add(ht_tensor *a, ht_tensor *b); /* a + b; bool: or */
HT_API ht_tensor *ht_sub(ht_tensor *a, ht_tensor *b); /* a - b; not bool */
HT_API ht_tensor *ht_mul(ht_tensor *a, ht_tensor *b); /* a b; bool: and */
HT_API ht_tensor *ht_div(ht_tensor *a, ht_tensor *b); /* a / b; integers give float32 */

/* With a number, which takes the tensor's dtype unless its kind is higher (ht/number.h). */
HT_API ht_tensor *ht_add_scalar(ht_tensor *a, double b);
HT_API ht_tensor *ht_sub_scalar(ht_tensor *a, double b);
HT_API ht_tensor *ht_mul_scalar(ht_tensor *a, double b);
HT_API ht_tensor *ht_div_scalar(ht_tensor *a, double b);
HT_API ht_tensor *ht_add_scalar_ext(ht_tensor *a, ht_number b);
HT_API ht_tensor *ht_sub_scalar_ext(ht_tensor *a, ht_number b);
HT_API ht_tensor *ht_mul_scalar_ext(ht_tensor *a, ht_number b);
HT_API ht_tensor *ht_div_scalar_ext(ht_tensor *a, ht_number b);

HT_API ht_tensor *ht_neg(ht_tensor *x); /* -x; not bool */
HT_API ht_tensor *ht_pos(ht_tensor *x); /* +x, a copy */

/* a^b; not of bool. Of integers it wraps around, and negative powers are rounded towards 0: 0, but
 * of 1 and -1. */
HT_API ht_tensor *ht_pow(ht_tensor *a, ht_tensor *b);

/* floor(a / b), a - b floor(a / b) with the sign of b, and a - b trunc(a / b) with the sign of a;
 * not of bool and complex numbers. Of integers over 0 they are 0, as in NumPy; floating numbers
 * give what a / b is, and NaN. ht_floordiv has no gradient. divmod: the first two, set on success.
 */
HT_API ht_tensor *ht_floordiv(ht_tensor *a, ht_tensor *b);
HT_API ht_tensor *ht_remainder(ht_tensor *a, ht_tensor *b);
HT_API ht_tensor *ht_fmod(ht_tensor *a, ht_tensor *b);
HT_API ht_status ht_divmod(ht_tensor *a, ht_tensor *b, ht_tensor **quotient, ht_tensor **rest);

/* The greatest common divisor, gcd(0, 0) = 0, and the least common multiple, not negative; of
 * integers, which wrap around. No gradients. */
HT_API ht_tensor *ht_gcd(ht_tensor *a, ht_tensor *b);
HT_API ht_tensor *ht_lcm(ht_tensor *a, ht_tensor *b);

HT_API ht_tensor *ht_hypot(ht_tensor *a, ht_tensor *b);    /* sqrt(a^2 + b^2) without overflow */
HT_API ht_tensor *ht_copysign(ht_tensor *a, ht_tensor *b); /* |a| with the sign of b; both give
                                                              float32 of integers, not of complex */

/* NaN as 0 and infinities as the dtype's greatest and least numbers, or as told; integers and bool
 * are copied. Not of complex numbers. */
HT_API ht_tensor *ht_nan_to_num(ht_tensor *x);
HT_API ht_tensor *ht_nan_to_num_ext(ht_tensor *x, double nan, double posinf, double neginf);

/* In place: a <- f(a, b), in the graph as f is; b broadcasts to a. a must not be a leaf that
 * requires gradients. HT_ERR_DTYPE where the result's kind is higher than a's. */
HT_API ht_status ht_sub_(ht_tensor *a, ht_tensor *b);
HT_API ht_status ht_mul_(ht_tensor *a, ht_tensor *b);
HT_API ht_status ht_div_(ht_tensor *a, ht_tensor *b);
HT_API ht_status ht_pow_(ht_tensor *a, ht_tensor *b);
HT_API ht_status ht_floordiv_(ht_tensor *a, ht_tensor *b);
HT_API ht_status ht_remainder_(ht_tensor *a, ht_tensor *b);
HT_API ht_status ht_fmod_(ht_tensor *a, ht_tensor *b);
HT_API ht_status ht_gcd_(ht_tensor *a, ht_tensor *b);
HT_API ht_status ht_lcm_(ht_tensor *a, ht_tensor *b);
HT_API ht_status ht_hypot_(ht_tensor *a, ht_tensor *b);
HT_API ht_status ht_copysign_(ht_tensor *a, ht_tensor *b);
HT_API ht_status ht_neg_(ht_tensor *x);

/* a <- a + alpha b, in place; b broadcasts to a. a must not be a leaf that requires gradients.
 * HT_ERR_DTYPE where the result's kind is higher than a's: 0.7 added to integers. */
HT_API ht_status ht_add_(ht_tensor *a, ht_tensor *b, double alpha);
HT_API ht_status ht_add_ext_(ht_tensor *a, ht_tensor *b, ht_number alpha);
HT_API ht_status ht_mul_scalar_(ht_tensor *a, double b);
HT_API ht_status ht_mul_scalar_ext_(ht_tensor *a, ht_number b);

/* Sum over one axis (negative from the end) or all (HT_NONE); the axis is dropped. Collective when
 * the split axis is summed: the result then has no split; otherwise it is split as x.
 * Integers and bool sum in int64: the same bits on any number of ranks. Others sum in the
 * accumulator's dtype, float64 or complex128, between ranks too, and are rounded once: the same
 * bits where partial sums are exact there, else within n eps sum |x| of the exact sum (eps 2^-53)
 * before that rounding; repeatable for a given number of ranks. So are means and gradients that are
 * summed because an operand was broadcast. */
HT_API ht_tensor *ht_sum(ht_tensor *x, int axis);
HT_API ht_tensor *ht_sum_ext(ht_tensor *x, const ht_reduce_options *options);

/* Product over one axis or all, with the axes, the split and the dtype of ht_sum: integers and bool
 * in int64, which wraps around, others in the accumulator's dtype, rounded once; the same bits
 * where partial products are exact there, else within n eps of the exact one. Of no elements 1. The
 * gradient of x[i] is that of the product times the product of the others, zeros among them, but
 * NaN where x[i] is infinite. */
HT_API ht_tensor *ht_prod(ht_tensor *x, int axis);
HT_API ht_tensor *ht_prod_ext(ht_tensor *x, const ht_reduce_options *options);

/* The same as if NaN were 0, and 1. */
HT_API ht_tensor *ht_nansum(ht_tensor *x, int axis);
HT_API ht_tensor *ht_nanprod(ht_tensor *x, int axis);

/* y[i] = x[0] + ... + x[i] along one axis, each rounded once as ht_sum is. Collective when that is
 * the split axis; split as x. */
HT_API ht_tensor *ht_cumsum(ht_tensor *x, int axis);

/* y[i] = x[0] ... x[i] along one axis, as ht_prod has it, and split as x. Along the split axis the
 * products of slabs travel, in log2 of the ranks steps. The gradient of x takes zeros into account.
 */
HT_API ht_tensor *ht_cumprod(ht_tensor *x, int axis);

/* The same in place; HT_ERR_DTYPE where x is bool, which cannot hold the result. */
HT_API ht_status ht_cumsum_(ht_tensor *x, int axis);
HT_API ht_status ht_cumprod_(ht_tensor *x, int axis);

/* x[i + 1] - x[i] along one axis, `times` times; of bool whether they differ. Split as x; along the
 * split axis each rank gets one element of the next. */
HT_API ht_tensor *ht_diff(ht_tensor *x, int times, int axis);

/* The dtype that an operation of these tensors computes in: the largest of those with axes by
 * ht_promote_types; tensors without axes, and then numbers (ht_scalar), raise its kind and not its
 * size. HT_DTYPE_COUNT after an error. Not collective. */
HT_API ht_dtype ht_result_type(int count, ht_tensor *const xs[]);

HT_END_DECLS
#endif

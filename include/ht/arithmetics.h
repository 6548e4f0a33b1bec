/* SPDX-License-Identifier: MIT
 *
 * Arithmetic, element by element. Operands broadcast as in NumPy and promote as in PyTorch: beside
 * a tensor with axes one without raises the kind only (bool, integer, floating, complex), as a
 * number does: float32 with a float64 of no axes is float32.
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

/* y[i] = x[0] + ... + x[i] along one axis, each rounded once as ht_sum is. Collective when that is
 * the split axis; split as x. */
HT_API ht_tensor *ht_cumsum(ht_tensor *x, int axis);

HT_END_DECLS
#endif

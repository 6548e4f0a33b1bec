/* SPDX-License-Identifier: MIT
 *
 * Logical operations and tests of numbers, element by element.
 *
 * A number is true unless it is 0; NaN is true. Broadcasting, promotion and numbers are those of
 * ht/arithmetics.h. Unless a function's comment says otherwise, logically collective; collective if
 * an operand has to be moved (ht/arithmetics.h). Not differentiable.
 * Result: scoped; bool, with the split of ht/arithmetics.h.
 * Errors: those of ht/arithmetics.h.
 * Source: heat.logical. */
#ifndef HT_LOGICAL_H
#define HT_LOGICAL_H

#include "ht/reduction.h"

HT_BEGIN_DECLS

/* Whether a and b are both true. */
HT_API ht_tensor *ht_logical_and(ht_tensor *a, ht_tensor *b);

/* Whether a or b is true, or both are. */
HT_API ht_tensor *ht_logical_or(ht_tensor *a, ht_tensor *b);

/* Whether exactly one of a and b is true. */
HT_API ht_tensor *ht_logical_xor(ht_tensor *a, ht_tensor *b);

/* Whether x is 0. */
HT_API ht_tensor *ht_logical_not(ht_tensor *x);

/* Whether x is NaN; for a complex number, whether one of its parts is. */
HT_API ht_tensor *ht_isnan(ht_tensor *x);

/* Whether x is infinite; for a complex number, whether one of its parts is. */
HT_API ht_tensor *ht_isinf(ht_tensor *x);

/* Whether x is finite; for a complex number, whether both of its parts are. */
HT_API ht_tensor *ht_isfinite(ht_tensor *x);

/* Whether x is positive infinity; not for complex numbers. */
HT_API ht_tensor *ht_isposinf(ht_tensor *x);

/* Whether x is negative infinity; not for complex numbers. */
HT_API ht_tensor *ht_isneginf(ht_tensor *x);

/* Whether the sign bit of x is set, also for -0 and NaN; not for complex numbers.
 *
 * For an integer, whether it is negative; false for bool. */
HT_API ht_tensor *ht_signbit(ht_tensor *x);

/* Whether |a - b| <= atol + rtol |b|, computed in the operands' dtype, or a == b.
 *
 * An infinity is close to itself alone. For integers and bool, the right side is a double. torch
 * refuses operands of two dtypes, which promote here.
 *
 * rtol: the relative tolerance, any number; NumPy's is 1e-5.
 * atol: the absolute tolerance, any number; NumPy's is 1e-8.
 * equal_nan: whether NaN is close to NaN. */
HT_API ht_tensor *ht_isclose(ht_tensor *a, ht_tensor *b, double rtol, double atol, bool equal_nan);

/* Whether all elements of a and b, broadcast, are close, see ht_isclose; the same answer on every
 * rank, and true for no elements.
 *
 * rtol, atol, equal_nan: as in ht_isclose.
 * close: *close is set to the answer on success.
 * Collective if a or b is split.
 * Errors: HT_ERR_ARGUMENT if close is NULL. */
HT_API ht_status ht_allclose(ht_tensor *a, ht_tensor *b, double rtol, double atol, bool equal_nan,
                             bool *close);

/* Whether all elements of x along an axis are true; true for no elements.
 *
 * axis: negative from the end; HT_NONE for all axes.
 * Collective if the split axis is reduced.
 * Result: bool; shape and split as those of ht_sum. */
HT_API ht_tensor *ht_all(ht_tensor *x, int axis);

/* Whether any element of x along an axis is true; false for no elements.
 *
 * axis: negative from the end; HT_NONE for all axes.
 * Collective if the split axis is reduced.
 * Result: bool; shape and split as those of ht_sum. */
HT_API ht_tensor *ht_any(ht_tensor *x, int axis);

/* ht_all with options: several axes, kept axes.
 *
 * x: as in ht_all.
 * options: axes, count and keepdims (ht/reduction.h); NULL for the defaults.
 * Collective if the split axis is reduced.
 * Result: bool; as ht_sum_ext of these options: without a split if the split axis is reduced, else
 * in the split and slabs of x.
 * Errors: HT_ERR_ARGUMENT if another option is set. */
HT_API ht_tensor *ht_all_ext(ht_tensor *x, const ht_reduce_options *options);

/* ht_any with options: several axes, kept axes.
 *
 * x: as in ht_any.
 * options: axes, count and keepdims (ht/reduction.h); NULL for the defaults.
 * Collective if the split axis is reduced.
 * Result: bool; as ht_sum_ext of these options: without a split if the split axis is reduced, else
 * in the split and slabs of x.
 * Errors: HT_ERR_ARGUMENT if another option is set. */
HT_API ht_tensor *ht_any_ext(ht_tensor *x, const ht_reduce_options *options);

HT_END_DECLS
#endif

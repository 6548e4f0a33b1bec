/* SPDX-License-Identifier: MIT
 *
 * Rounding, absolute values, signs and bounds, element by element.
 *
 * Not for bool, except ht_fabs, ht_modf and ht_clip.
 *
 * Collectivity: logically collective, without communication.
 *
 * Result: the shape, dtype, split and slabs of x. Comments name other dtypes.
 *
 * Gradients: differentiable; the gradient of a rounded number is 0.
 *
 * In place: a function whose name ends in an underscore, by the rules of ht/arithmetics.h.
 *
 * Errors: a NULL operand gives NULL, or the status of its error (ht/error.h).
 * - HT_ERR_DTYPE if the function is not defined for the dtype.
 * - In place, HT_ERR_STATE if x must not be written.
 *
 * Source: heat.rounding. */
#ifndef HT_ROUNDING_H
#define HT_ROUNDING_H

#include "ht/number.h"
#include "ht/tensor.h"

HT_BEGIN_DECLS

/* The least whole number not below x. Integers stay the same. Not for complex numbers. */
HT_API ht_tensor *ht_ceil(ht_tensor *x);

/* The greatest whole number not above x. Integers stay the same. Not for complex numbers. */
HT_API ht_tensor *ht_floor(ht_tensor *x);

/* x rounded towards 0. Integers stay the same. Not for complex numbers. */
HT_API ht_tensor *ht_trunc(ht_tensor *x);

/* x rounded to the nearest whole number, halves to the even one.
 *
 * Integers stay the same. Not for complex numbers. */
HT_API ht_tensor *ht_round(ht_tensor *x);

/* ht_round to decimals: rint(x 10^decimals) / 10^decimals, as NumPy computes it.
 *
 * 16-bit numbers are computed in float32, which is more exact than NumPy's float16.
 * x: as in ht_round; integers stay the same.
 * decimals: digits after the point; a negative number rounds before the point.
 * Errors: HT_ERR_DTYPE if decimals is negative and x is an integer. */
HT_API ht_tensor *ht_round_ext(ht_tensor *x, int decimals);

/* Splits x into fraction + whole, both with the sign of x; not for complex numbers.
 *
 * fraction: *fraction is set on success: the part after the point. Scoped.
 * whole: *whole is set on success: the part before the point. Scoped.
 * Result: both have the dtype of x; integers and bool give float32.
 * Errors: HT_ERR_ARGUMENT if fraction or whole is NULL. */
HT_API ht_status ht_modf(ht_tensor *x, ht_tensor **fraction, ht_tensor **whole);

/* |x|. Complex numbers give the dtype of their parts. The least integer stays the same. The
 * gradient at 0 is 0. */
HT_API ht_tensor *ht_abs(ht_tensor *x);

/* |x|, where integers and bool give float32; not for complex numbers. */
HT_API ht_tensor *ht_fabs(ht_tensor *x);

/* The sign of x: -1, 0 or 1, and NaN for NaN. A complex number z gives z / |z|, and 0 for 0. */
HT_API ht_tensor *ht_sign(ht_tensor *x);

/* Replaces x by ht_ceil of x. */
HT_API ht_status ht_ceil_(ht_tensor *x);

/* Replaces x by ht_floor of x. */
HT_API ht_status ht_floor_(ht_tensor *x);

/* Replaces x by ht_trunc of x. */
HT_API ht_status ht_trunc_(ht_tensor *x);

/* Replaces x by ht_round of x. */
HT_API ht_status ht_round_(ht_tensor *x);

/* Replaces x by |x|. Errors: HT_ERR_DTYPE for complex numbers, whose |x| is real. */
HT_API ht_status ht_abs_(ht_tensor *x);

/* Replaces x by its sign, see ht_sign. */
HT_API ht_status ht_sign_(ht_tensor *x);

/* min(max(x, min), max): x kept between two bounds.
 *
 * NaN stays NaN. If a bound is NaN, all elements become NaN. If min exceeds max, the result is max
 * everywhere. The gradient passes where min <= x <= max.
 * A bound raises the dtype of x as any number operand does (ht/number.h): clip(int32, 0.5, 2) is
 * float32. A bound beyond the range of that dtype counts as the end of the range. No bound raises
 * nothing: clip(int32, 0, INFINITY) is int32, and a bool x without bounds stays bool.
 *
 * min: the lower bound; -INFINITY for no bound.
 * max: the upper bound; INFINITY for no bound.
 * Errors: HT_ERR_DTYPE if x is complex. */
HT_API ht_tensor *ht_clip(ht_tensor *x, double min, double max);

/* ht_clip with any ht_number as min and max.
 *
 * x: as in ht_clip.
 * min, max: HT_NUM(-INFINITY) and HT_NUM(INFINITY) for no bound.
 * Errors: HT_ERR_DTYPE if x or a bound is complex. */
HT_API ht_tensor *ht_clip_ext(ht_tensor *x, ht_number min, ht_number max);

HT_END_DECLS
#endif

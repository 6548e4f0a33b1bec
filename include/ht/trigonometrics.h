/* SPDX-License-Identifier: MIT
 *
 * Trigonometric and hyperbolic functions and their inverses, element by element.
 *
 * Angles are in radians. Integers and bool give float32. A real function is NaN outside its domain.
 *
 * Collectivity: logically collective, without communication. ht_atan2 follows ht/arithmetics.h.
 *
 * Result: the shape and split of x, in new memory.
 *
 * Gradients: differentiable.
 *
 * In place: a function whose name ends in an underscore, by the rules of ht/arithmetics.h.
 *
 * Errors: a NULL operand gives NULL, or the status of its error (ht/error.h).
 * - HT_ERR_DTYPE for complex numbers where a comment excludes them.
 * - In place, HT_ERR_DTYPE for integers and bool, because they cannot hold the result.
 * - In place, HT_ERR_STATE if the first operand must not be written.
 *
 * Source: heat.trigonometrics. */
#ifndef HT_TRIGONOMETRICS_H
#define HT_TRIGONOMETRICS_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* The sine of x. */
HT_API ht_tensor *ht_sin(ht_tensor *x);

/* The cosine of x. */
HT_API ht_tensor *ht_cos(ht_tensor *x);

/* The tangent of x. */
HT_API ht_tensor *ht_tan(ht_tensor *x);

/* The inverse sine of x. */
HT_API ht_tensor *ht_asin(ht_tensor *x);

/* The inverse cosine of x. */
HT_API ht_tensor *ht_acos(ht_tensor *x);

/* The inverse tangent of x. */
HT_API ht_tensor *ht_atan(ht_tensor *x);

/* The hyperbolic sine of x. */
HT_API ht_tensor *ht_sinh(ht_tensor *x);

/* The hyperbolic cosine of x. */
HT_API ht_tensor *ht_cosh(ht_tensor *x);

/* The hyperbolic tangent of x. */
HT_API ht_tensor *ht_tanh(ht_tensor *x);

/* The inverse hyperbolic sine of x. */
HT_API ht_tensor *ht_asinh(ht_tensor *x);

/* The inverse hyperbolic cosine of x. */
HT_API ht_tensor *ht_acosh(ht_tensor *x);

/* The inverse hyperbolic tangent of x. */
HT_API ht_tensor *ht_atanh(ht_tensor *x);

/* The angle of the point (x, y) from the positive x axis, in (-pi, pi]; not for complex numbers.
 *
 * Broadcasting, promotion, numbers, split and errors as in ht/arithmetics.h. The gradient is 0
 * where x and y are both 0. */
HT_API ht_tensor *ht_atan2(ht_tensor *y, ht_tensor *x);

/* x pi / 180, degrees as radians; not for complex numbers. */
HT_API ht_tensor *ht_deg2rad(ht_tensor *x);

/* x 180 / pi, radians as degrees; not for complex numbers. */
HT_API ht_tensor *ht_rad2deg(ht_tensor *x);

/* Replaces x by its sine. */
HT_API ht_status ht_sin_(ht_tensor *x);

/* Replaces x by its cosine. */
HT_API ht_status ht_cos_(ht_tensor *x);

/* Replaces x by its tangent. */
HT_API ht_status ht_tan_(ht_tensor *x);

/* Replaces x by its inverse sine. */
HT_API ht_status ht_asin_(ht_tensor *x);

/* Replaces x by its inverse cosine. */
HT_API ht_status ht_acos_(ht_tensor *x);

/* Replaces x by its inverse tangent. */
HT_API ht_status ht_atan_(ht_tensor *x);

/* Replaces x by its hyperbolic sine. */
HT_API ht_status ht_sinh_(ht_tensor *x);

/* Replaces x by its hyperbolic cosine. */
HT_API ht_status ht_cosh_(ht_tensor *x);

/* Replaces x by its hyperbolic tangent. */
HT_API ht_status ht_tanh_(ht_tensor *x);

/* Replaces x by its inverse hyperbolic sine. */
HT_API ht_status ht_asinh_(ht_tensor *x);

/* Replaces x by its inverse hyperbolic cosine. */
HT_API ht_status ht_acosh_(ht_tensor *x);

/* Replaces x by its inverse hyperbolic tangent. */
HT_API ht_status ht_atanh_(ht_tensor *x);

/* Replaces y by the angle of the point (x, y), see ht_atan2. */
HT_API ht_status ht_atan2_(ht_tensor *y, ht_tensor *x);

HT_END_DECLS
#endif

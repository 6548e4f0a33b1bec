/* SPDX-License-Identifier: MIT
 *
 * Trigonometric and hyperbolic functions and their inverses, element by element, in radians.
 * Integers and bool give float32; outside of its domain a real function is NaN. Split as x; no
 * communication. Differentiable. Source: heat.trigonometrics.
 */
#ifndef HT_TRIGONOMETRICS_H
#define HT_TRIGONOMETRICS_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

HT_API ht_tensor *ht_sin(ht_tensor *x);
HT_API ht_tensor *ht_cos(ht_tensor *x);
HT_API ht_tensor *ht_tan(ht_tensor *x);
HT_API ht_tensor *ht_asin(ht_tensor *x);
HT_API ht_tensor *ht_acos(ht_tensor *x);
HT_API ht_tensor *ht_atan(ht_tensor *x);
HT_API ht_tensor *ht_sinh(ht_tensor *x);
HT_API ht_tensor *ht_cosh(ht_tensor *x);
HT_API ht_tensor *ht_tanh(ht_tensor *x);
HT_API ht_tensor *ht_asinh(ht_tensor *x);
HT_API ht_tensor *ht_acosh(ht_tensor *x);
HT_API ht_tensor *ht_atanh(ht_tensor *x);

/* The angle of (x, y) from the first axis, in (-pi, pi]; not of complex numbers. Broadcasting,
 * promotion and numbers as in ht/arithmetics.h. */
HT_API ht_tensor *ht_atan2(ht_tensor *y, ht_tensor *x);

/* x pi / 180 and x 180 / pi; not of complex numbers. */
HT_API ht_tensor *ht_deg2rad(ht_tensor *x);
HT_API ht_tensor *ht_rad2deg(ht_tensor *x);

/* In place: x <- f(x), in the graph as f is. HT_ERR_DTYPE for integers and bool. */
HT_API ht_status ht_sin_(ht_tensor *x);
HT_API ht_status ht_cos_(ht_tensor *x);
HT_API ht_status ht_tan_(ht_tensor *x);
HT_API ht_status ht_asin_(ht_tensor *x);
HT_API ht_status ht_acos_(ht_tensor *x);
HT_API ht_status ht_atan_(ht_tensor *x);
HT_API ht_status ht_sinh_(ht_tensor *x);
HT_API ht_status ht_cosh_(ht_tensor *x);
HT_API ht_status ht_tanh_(ht_tensor *x);
HT_API ht_status ht_asinh_(ht_tensor *x);
HT_API ht_status ht_acosh_(ht_tensor *x);
HT_API ht_status ht_atanh_(ht_tensor *x);
HT_API ht_status ht_atan2_(ht_tensor *y, ht_tensor *x);

HT_END_DECLS
#endif

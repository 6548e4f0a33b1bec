/* SPDX-License-Identifier: MIT
 *
 * Rounding, absolute values, signs and bounds, element by element. Split as x; no communication.
 * Differentiable: the gradient of what is rounded is 0. Not of bool, but for ht_fabs, ht_modf and
 * ht_clip. Source: heat.rounding. */
#ifndef HT_ROUNDING_H
#define HT_ROUNDING_H

#include "ht/number.h"
#include "ht/tensor.h"

HT_BEGIN_DECLS

/* To whole numbers: up, down, towards 0, to the nearest one (halves to the even one). Integers are
 * whole. Not of complex numbers. */
HT_API ht_tensor *ht_ceil(ht_tensor *x);
HT_API ht_tensor *ht_floor(ht_tensor *x);
HT_API ht_tensor *ht_trunc(ht_tensor *x);
HT_API ht_tensor *ht_round(ht_tensor *x);

/* To 10^-decimals: rint(x 10^decimals) / 10^decimals, as NumPy has it; of integers decimals is 0 or
 * more, and nothing changes. */
HT_API ht_tensor *ht_round_ext(ht_tensor *x, int decimals);

/* What is behind the point and what is before it, both with the sign of x: x = fraction + whole;
 * integers and bool give float32. Both are set on success. Not of complex numbers. */
HT_API ht_status ht_modf(ht_tensor *x, ht_tensor **fraction, ht_tensor **whole);

/* |x|, of complex numbers in the dtype of their parts; the least integer stays as it is. fabs: in
 * float32 of integers and bool, and not of complex numbers. */
HT_API ht_tensor *ht_abs(ht_tensor *x);
HT_API ht_tensor *ht_fabs(ht_tensor *x);

HT_API ht_tensor *ht_sign(ht_tensor *x); /* -1, 0, 1; NaN of NaN; z / |z| of complex numbers */

/* In place: x <- f(x), in the graph as f is. HT_ERR_DTYPE for ht_abs_ of complex numbers. */
HT_API ht_status ht_ceil_(ht_tensor *x);
HT_API ht_status ht_floor_(ht_tensor *x);
HT_API ht_status ht_trunc_(ht_tensor *x);
HT_API ht_status ht_round_(ht_tensor *x);
HT_API ht_status ht_abs_(ht_tensor *x);
HT_API ht_status ht_sign_(ht_tensor *x);

/* min(max(x, min), max): max everywhere where min is the larger one. A min of -INFINITY and a max
 * of INFINITY are none. NaN stays NaN, and bounds that are NaN make all elements so. Bounds meet x
 * as numbers beside a tensor do (ht/number.h: clip(int32, 0.5, 2) is float32), but one beyond the
 * range of its dtype is the end of that range. The gradient passes where min <= x <= max. Errors:
 * HT_ERR_DTYPE for complex x or bounds. */
HT_API ht_tensor *ht_clip(ht_tensor *x, double min, double max);
HT_API ht_tensor *ht_clip_ext(ht_tensor *x, ht_number min, ht_number max);

HT_END_DECLS
#endif

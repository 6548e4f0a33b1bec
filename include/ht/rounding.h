/* SPDX-License-Identifier: MIT
 *
 * Numbers kept inside of bounds, element by element. Split as x; no communication. Differentiable.
 * Source: heat.rounding. */
#ifndef HT_ROUNDING_H
#define HT_ROUNDING_H

#include "ht/number.h"
#include "ht/tensor.h"

HT_BEGIN_DECLS

/* min(max(x, min), max): max everywhere where min is the larger one. A min of -INFINITY and a max
 * of INFINITY are none. NaN stays NaN, and bounds that are NaN make all elements so. Bounds meet x
 * as numbers beside a tensor do (ht/number.h: clip(int32, 0.5, 2) is float32), but one beyond the
 * range of its dtype is the end of that range. The gradient passes where min <= x <= max. Errors:
 * HT_ERR_DTYPE for complex x or bounds. */
HT_API ht_tensor *ht_clip(ht_tensor *x, double min, double max);
HT_API ht_tensor *ht_clip_ext(ht_tensor *x, ht_number min, ht_number max);

HT_END_DECLS
#endif

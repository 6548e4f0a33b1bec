/* SPDX-License-Identifier: MIT
 *
 * Truth, and what kind of number one is, element by element, to bool; what is not 0 is true, NaN
 * too. Broadcasting, promotion, numbers, split and errors as in ht/arithmetics.h; no gradients.
 * Source: heat.logical.
 */
#ifndef HT_LOGICAL_H
#define HT_LOGICAL_H

#include "ht/reduction.h"

HT_BEGIN_DECLS

HT_API ht_tensor *ht_logical_and(ht_tensor *a, ht_tensor *b);
HT_API ht_tensor *ht_logical_or(ht_tensor *a, ht_tensor *b);
HT_API ht_tensor *ht_logical_xor(ht_tensor *a, ht_tensor *b);
HT_API ht_tensor *ht_logical_not(ht_tensor *x);

/* Complex numbers are NaN or infinite where one of their parts is, and finite where both are. */
HT_API ht_tensor *ht_isnan(ht_tensor *x);
HT_API ht_tensor *ht_isinf(ht_tensor *x);
HT_API ht_tensor *ht_isfinite(ht_tensor *x);

/* Not of complex numbers. signbit: of -0 too, and of NaN its sign. */
HT_API ht_tensor *ht_isposinf(ht_tensor *x);
HT_API ht_tensor *ht_isneginf(ht_tensor *x);
HT_API ht_tensor *ht_signbit(ht_tensor *x);

/* |a - b| <= atol + rtol |b|, computed in the operands' dtype; infinities are close to themselves
 * alone, and NaN to NaN with equal_nan. NumPy's are rtol = 1e-5 and atol = 1e-8. */
HT_API ht_tensor *ht_isclose(ht_tensor *a, ht_tensor *b, double rtol, double atol, bool equal_nan);

/* Whether all are close, the same answer on every rank. Collective. *close is set on success. */
HT_API ht_status ht_allclose(ht_tensor *a, ht_tensor *b, double rtol, double atol, bool equal_nan,
                             bool *close);

/* Whether all, or any, of the elements along one axis (negative from the end) or of x (HT_NONE) are
 * true, as bool; of none all are, and not any. Axes, split and communication as those of ht_sum. Of
 * the options axes and keepdims. */
HT_API ht_tensor *ht_all(ht_tensor *x, int axis);
HT_API ht_tensor *ht_any(ht_tensor *x, int axis);
HT_API ht_tensor *ht_all_ext(ht_tensor *x, const ht_reduce_options *options);
HT_API ht_tensor *ht_any_ext(ht_tensor *x, const ht_reduce_options *options);

HT_END_DECLS
#endif

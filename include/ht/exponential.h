/* SPDX-License-Identifier: MIT
 *
 * Exponential and trigonometric functions, element by element; integers and bool give float32.
 * Split as x; no communication. Differentiable. The value of an element never depends on its
 * position. Source: heat.exponential, heat.trigonometrics. */
#ifndef HT_EXPONENTIAL_H
#define HT_EXPONENTIAL_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

HT_API ht_tensor *ht_exp(ht_tensor *x);
HT_API ht_tensor *ht_log(ht_tensor *x);
HT_API ht_tensor *ht_sqrt(ht_tensor *x);
HT_API ht_tensor *ht_tanh(ht_tensor *x);

/* e^x - 1 and log(1 + x), accurate where x is small; not for complex numbers. */
HT_API ht_tensor *ht_expm1(ht_tensor *x);
HT_API ht_tensor *ht_log1p(ht_tensor *x);

HT_END_DECLS
#endif

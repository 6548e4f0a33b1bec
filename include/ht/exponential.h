/* SPDX-License-Identifier: MIT
 *
 * Exponentials, logarithms and roots, element by element; integers and bool give float32. Split as
 * x; no communication. Differentiable. The value of an element never depends on its position.
 * Source: heat.exponential.
 */
#ifndef HT_EXPONENTIAL_H
#define HT_EXPONENTIAL_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

HT_API ht_tensor *ht_exp(ht_tensor *x);
HT_API ht_tensor *ht_exp2(ht_tensor *x);
HT_API ht_tensor *ht_log(ht_tensor *x);
HT_API ht_tensor *ht_log2(ht_tensor *x);
HT_API ht_tensor *ht_log10(ht_tensor *x);
HT_API ht_tensor *ht_sqrt(ht_tensor *x);
HT_API ht_tensor *ht_square(ht_tensor *x); /* integers stay what they are, and wrap around */

/* e^x - 1 and log(1 + x), accurate where x is small; not of complex numbers. */
HT_API ht_tensor *ht_expm1(ht_tensor *x);
HT_API ht_tensor *ht_log1p(ht_tensor *x);

/* log(e^a + e^b) and log2(2^a + 2^b) without overflow; not of complex numbers. Broadcasting,
 * promotion and numbers as in ht/arithmetics.h. */
HT_API ht_tensor *ht_logaddexp(ht_tensor *a, ht_tensor *b);
HT_API ht_tensor *ht_logaddexp2(ht_tensor *a, ht_tensor *b);

/* In place: x <- f(x), in the graph as f is. HT_ERR_DTYPE where x cannot hold the result. */
HT_API ht_status ht_exp_(ht_tensor *x);
HT_API ht_status ht_exp2_(ht_tensor *x);
HT_API ht_status ht_log_(ht_tensor *x);
HT_API ht_status ht_log2_(ht_tensor *x);
HT_API ht_status ht_log10_(ht_tensor *x);
HT_API ht_status ht_sqrt_(ht_tensor *x);
HT_API ht_status ht_square_(ht_tensor *x);
HT_API ht_status ht_expm1_(ht_tensor *x);
HT_API ht_status ht_log1p_(ht_tensor *x);
HT_API ht_status ht_logaddexp_(ht_tensor *a, ht_tensor *b);
HT_API ht_status ht_logaddexp2_(ht_tensor *a, ht_tensor *b);

HT_END_DECLS
#endif

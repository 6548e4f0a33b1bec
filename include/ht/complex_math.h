/* SPDX-License-Identifier: MIT
 *
 * Parts of complex numbers, element by element. Split as x; no communication. Differentiable, by
 * PyTorch's convention. Source: heat.complex_math.
 */
#ifndef HT_COMPLEX_MATH_H
#define HT_COMPLEX_MATH_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

HT_API ht_tensor *ht_conj(ht_tensor *x); /* of real numbers x itself */
HT_API ht_tensor *ht_real(ht_tensor *x); /* likewise */
HT_API ht_tensor *ht_imag(ht_tensor *x); /* of real numbers zeros */

/* The angle from the positive real axis, in [-pi, pi]: of real numbers 0, pi below 0, NaN of NaN.
 * Integers and bool give float32. */
HT_API ht_tensor *ht_angle(ht_tensor *x);

/* Bool: whether the imaginary part is not 0, and whether it is. */
HT_API ht_tensor *ht_iscomplex(ht_tensor *x);
HT_API ht_tensor *ht_isreal(ht_tensor *x);

HT_END_DECLS
#endif

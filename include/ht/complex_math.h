/* SPDX-License-Identifier: MIT
 *
 * Parts of complex numbers, element by element.
 *
 * Collectivity: logically collective, without communication.
 *
 * Result: the shape and split of x. The parts of complex64 are float32, those of complex128 are
 * float64.
 *
 * Gradients: differentiable by PyTorch's convention, except ht_iscomplex and ht_isreal.
 *
 * Errors: a NULL operand gives NULL (ht/error.h). All dtypes are accepted.
 *
 * Source: heat.complex_math. */
#ifndef HT_COMPLEX_MATH_H
#define HT_COMPLEX_MATH_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* The complex conjugate of x, in new memory; x itself if it is not complex. */
HT_API ht_tensor *ht_conj(ht_tensor *x);

/* The real part of x, in new memory; x itself if it is not complex. */
HT_API ht_tensor *ht_real(ht_tensor *x);

/* The imaginary part of x, in new memory; zeros of its dtype if x is not complex. */
HT_API ht_tensor *ht_imag(ht_tensor *x);

/* The angle of x from the positive real axis, in [-pi, pi].
 *
 * A real number gives 0, pi if it is negative, and NaN for NaN. Complex numbers give the dtype of
 * their parts. Integers and bool give float32. */
HT_API ht_tensor *ht_angle(ht_tensor *x);

/* Whether the imaginary part of x is not 0, as bool; true for NaN. */
HT_API ht_tensor *ht_iscomplex(ht_tensor *x);

/* Whether the imaginary part of x is 0, as bool. */
HT_API ht_tensor *ht_isreal(ht_tensor *x);

HT_END_DECLS
#endif

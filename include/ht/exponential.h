/* SPDX-License-Identifier: MIT
 *
 * Exponentials, logarithms and roots, element by element.
 *
 * Integers and bool give float32, except in ht_square. Outside of the real domain of a function, a
 * real x gives NaN. The value of an element never depends on its position.
 *
 * Collectivity: logically collective, without communication. ht_logaddexp and ht_logaddexp2 follow
 * ht/arithmetics.h.
 *
 * Result: the shape, split and slabs of x; the dtype of x if it is floating or complex. Scoped.
 *
 * Gradients: differentiable.
 *
 * In place: a function whose name ends in an underscore, by the rules of ht/arithmetics.h.
 *
 * Errors: a NULL operand gives NULL, or the status of its error (ht/error.h).
 * - HT_ERR_DTYPE for a complex x where a comment says "not for complex numbers".
 * - In place, HT_ERR_DTYPE if the first operand cannot hold the result: integers and bool, except
 *   in ht_square_.
 * - In place, HT_ERR_STATE if the first operand must not be written.
 *
 * Source: heat.exponential. */
#ifndef HT_EXPONENTIAL_H
#define HT_EXPONENTIAL_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* e^x. */
HT_API ht_tensor *ht_exp(ht_tensor *x);

/* 2^x. */
HT_API ht_tensor *ht_exp2(ht_tensor *x);

/* The natural logarithm of x. */
HT_API ht_tensor *ht_log(ht_tensor *x);

/* The logarithm of x to base 2. */
HT_API ht_tensor *ht_log2(ht_tensor *x);

/* The logarithm of x to base 10. */
HT_API ht_tensor *ht_log10(ht_tensor *x);

/* The square root of x. */
HT_API ht_tensor *ht_sqrt(ht_tensor *x);

/* x^2, in the dtype of x, bool too; integers wrap around. */
HT_API ht_tensor *ht_square(ht_tensor *x);

/* e^x - 1, accurate where x is small; not for complex numbers. */
HT_API ht_tensor *ht_expm1(ht_tensor *x);

/* log(1 + x), accurate where x is small; not for complex numbers. */
HT_API ht_tensor *ht_log1p(ht_tensor *x);

/* log(e^a + e^b) without overflow; not for complex numbers.
 *
 * Broadcasting, promotion, numbers, split and errors as in ht/arithmetics.h. */
HT_API ht_tensor *ht_logaddexp(ht_tensor *a, ht_tensor *b);

/* log2(2^a + 2^b) without overflow; not for complex numbers.
 *
 * Broadcasting, promotion, numbers, split and errors as in ht/arithmetics.h. */
HT_API ht_tensor *ht_logaddexp2(ht_tensor *a, ht_tensor *b);

/* Replaces x by e^x. */
HT_API ht_status ht_exp_(ht_tensor *x);

/* Replaces x by 2^x. */
HT_API ht_status ht_exp2_(ht_tensor *x);

/* Replaces x by its natural logarithm. */
HT_API ht_status ht_log_(ht_tensor *x);

/* Replaces x by its logarithm to base 2. */
HT_API ht_status ht_log2_(ht_tensor *x);

/* Replaces x by its logarithm to base 10. */
HT_API ht_status ht_log10_(ht_tensor *x);

/* Replaces x by its square root. */
HT_API ht_status ht_sqrt_(ht_tensor *x);

/* Replaces x by x^2; integers wrap around. */
HT_API ht_status ht_square_(ht_tensor *x);

/* Replaces x by e^x - 1, see ht_expm1. */
HT_API ht_status ht_expm1_(ht_tensor *x);

/* Replaces x by log(1 + x), see ht_log1p. */
HT_API ht_status ht_log1p_(ht_tensor *x);

/* Replaces a by log(e^a + e^b), see ht_logaddexp. */
HT_API ht_status ht_logaddexp_(ht_tensor *a, ht_tensor *b);

/* Replaces a by log2(2^a + 2^b), see ht_logaddexp2. */
HT_API ht_status ht_logaddexp2_(ht_tensor *a, ht_tensor *b);

HT_END_DECLS
#endif

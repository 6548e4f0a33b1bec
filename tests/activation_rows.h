/* SPDX-License-Identifier: MIT
 *
 * Activations of x alone that are compositions of operations: a row each makes their tests and
 * joins the fuzzer. */
#ifndef HT_TESTS_ACTIVATION_ROWS_H
#define HT_TESTS_ACTIVATION_ROWS_H

#include <math.h>

static inline double sigmoid_of(double x)
{
    return 1 / (1 + exp(-x));
}

/* The argument of the sigmoid that approximates Phi, and its derivative. */
static inline double gelu_inner(double x)
{
    return sqrt(8 / acos(-1)) * (x + 0.044715 * x * x * x);
}

static inline double gelu_inner_slope(double x)
{
    return sqrt(8 / acos(-1)) * (1 + 3 * 0.044715 * x * x);
}

/* Function and layer; value and slope in double at x; two bends of the function, where a value in
 * doubt may be on either side (NAN: none). */
/* clang-format off */
#define ACTIVATIONS_OF_X(X) \
    X(selu, ht_selu, ht_nn_selu, 1.0507009873554804934 * (x > 0 ? x : 1.6732632423543772848 * expm1(x)), \
      1.0507009873554804934 * (x > 0 ? 1 : 1.6732632423543772848 * exp(x)), 0, 0) \
    X(gelu_tanh, ht_gelu_tanh, ht_nn_gelu_tanh, x * sigmoid_of(gelu_inner(x)), \
      sigmoid_of(gelu_inner(x)) * (1 + x * sigmoid_of(-gelu_inner(x)) * gelu_inner_slope(x)), NAN, NAN) \
    X(relu6, ht_relu6, ht_nn_relu6, fmin(fmax(x, 0), 6), x > 0 && x < 6, 0, 6) \
    X(hardsigmoid, ht_hardsigmoid, ht_nn_hardsigmoid, fmin(fmax(x + 3, 0), 6) / 6, (x > -3 && x < 3) / 6.0, -3, 3) \
    X(logsigmoid, ht_logsigmoid, ht_nn_logsigmoid, fmin(x, 0) - log1p(exp(-fabs(x))), sigmoid_of(-x), NAN, NAN) \
    X(softsign, ht_softsign, ht_nn_softsign, x / (1 + fabs(x)), 1 / ((1 + fabs(x)) * (1 + fabs(x))), NAN, NAN) \
    X(tanhshrink, ht_tanhshrink, ht_nn_tanhshrink, x - tanh(x), tanh(x) * tanh(x), NAN, NAN)

#define VALUE_OF_X(f, function, layer, value, slope, ...) \
    static double f(double x) { return value; } \
    static double f##_slope(double x) { return slope; }
/* clang-format on */

#endif

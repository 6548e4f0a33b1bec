/* SPDX-License-Identifier: MIT
 *
 * Values and derivatives of activations in double, for the table of elementwise functions alone. */
#ifndef HT_TESTS_ACTIVATION_VALUES_H
#define HT_TESTS_ACTIVATION_VALUES_H

#include <math.h>

#include "ht.h"

static double relu(double x)
{
    return x <= 0 ? 0 : x;
}

static double relu_slope(double x)
{
    return x > 0;
}

static double leaky_relu(double x)
{
    return x > 0 ? x : 0.75 * x;
}

static double leaky_relu_slope(double x)
{
    return x > 0 ? 1 : 0.75;
}

static ht_tensor *call_leaky_relu(ht_tensor *x)
{
    return ht_leaky_relu(x, 0.75);
}

static ht_module *layer_leaky_relu(void)
{
    return ht_nn_leaky_relu(0.75);
}

static double gelu(double x)
{
    return x * 0.5 * erfc(-M_SQRT1_2 * x);
}

static double gelu_slope(double x)
{
    return 0.5 * erfc(-M_SQRT1_2 * x) + x * exp(-0.5 * x * x) / sqrt(2 * M_PI);
}

static double silu(double x)
{
    return x * (1 / (1 + exp(-x)));
}

static double silu_slope(double x)
{
    const double s = 1 / (1 + exp(-x));

    return s * (1 + x * (1 - s));
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double sigmoid_slope(double x)
{
    return sigmoid(x) * sigmoid(-x);
}

static double softplus(double x)
{
    return 0.5 * x > 20 ? x : 2 * log1p(exp(0.5 * x));
}

static double softplus_slope(double x)
{
    return 0.5 * x > 20 ? 1 : sigmoid(0.5 * x);
}

static ht_tensor *call_softplus(ht_tensor *x)
{
    return ht_softplus(x, 0.5, 20);
}

static double elu(double x)
{
    return x > 0 ? x : 0.75 * expm1(x);
}

static double elu_slope(double x)
{
    return x <= 0 ? 0.75 * exp(x) : 1;
}

static ht_tensor *call_elu(ht_tensor *x)
{
    return ht_elu(x, 0.75);
}

static double mish(double x)
{
    return x * tanh(log1p(exp(x)));
}

static double mish_slope(double x)
{
    const double gate = tanh(log1p(exp(x)));

    return gate + x * sigmoid(x) * (1 - gate * gate);
}

#endif

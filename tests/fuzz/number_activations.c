/* SPDX-License-Identifier: MIT
 *
 * Activations of one element of a floating dtype. */
#include "number_functions.h"

/* y = f(a), whose slope is a sum of two terms, and below 1.2 everywhere. */
static struct number activation(ht_dtype dtype, struct number a, double y, double slope[2])
{
    struct number r = {.re = y};

    chain(&r, slope[0] + slope[1], a, 0, NULL);
    for (int k = 0; r.d != NULL && k < MAX_DUALS; k++) /* the terms cancel */
        r.d[k].size = a.d[k].size * (fabs(slope[0]) + fabs(slope[1]));
    return finish(dtype, r, 1.2 * a.err, 4);
}

struct number number_gelu(ht_dtype dtype, struct number a)
{
    const double below = 0.5 * erfc(-0.70710678118654752 * a.re);
    const double density = 0.39894228040143268 * exp(-0.5 * a.re * a.re);

    return activation(dtype, a, a.re * below, (double[]){below, a.re * density});
}

struct number number_silu(ht_dtype dtype, struct number a)
{
    const double s = 1 / (1 + exp(-a.re));

    return activation(dtype, a, a.re * s, (double[]){s, s * a.re * (1 - s)});
}

struct number number_mish(ht_dtype dtype, struct number a)
{
    const double gate = tanh(log1p(exp(a.re))), s = 1 / (1 + exp(-a.re));

    return activation(dtype, a, a.re * gate, (double[]){gate, a.re * s * (1 - gate * gate)});
}

struct number number_sigmoid(ht_dtype dtype, struct number a)
{
    const double s = 1 / (1 + exp(-a.re));

    return activation(dtype, a, s, (double[]){s * (1 - s), 0});
}

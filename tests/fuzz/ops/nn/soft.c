/* SPDX-License-Identifier: MIT */
#include "fuzz/ops/nn/soft.h"

#include "fuzz/number_functions.h"

struct number exactly(double x)
{
    struct number a = {.re = x};

    return a;
}

struct number soft(ht_dtype dtype, struct number r)
{
    if (is_unknown(r))
        return number_unknown();
    r.err += 8 * eps_of(dtype) * fabs(r.re);
    return r;
}

#define SOFT_BINARY(name)                                                       \
    struct number soft_##name(ht_dtype dtype, struct number a, struct number b) \
    {                                                                           \
        if (is_unknown(a) || is_unknown(b))                                     \
            return number_unknown();                                            \
        return soft(dtype, number_##name(HT_FLOAT64, a, b));                    \
    }
SOFT_BINARY(add)
SOFT_BINARY(sub)
SOFT_BINARY(mul)
SOFT_BINARY(div)

#define SOFT_UNARY(name)                                       \
    struct number soft_##name(ht_dtype dtype, struct number a) \
    {                                                          \
        if (is_unknown(a))                                     \
            return number_unknown();                           \
        return soft(dtype, number_##name(HT_FLOAT64, a));      \
    }
SOFT_UNARY(exp)
SOFT_UNARY(log)
SOFT_UNARY(sqrt)
SOFT_UNARY(tanh)
SOFT_UNARY(sigmoid)
SOFT_UNARY(relu)

/* With a slope of 0 at 0. */
struct number soft_abs(ht_dtype dtype, struct number a)
{
    (void)dtype;
    if (is_unknown(a) || (a.err > 0 && fabs(a.re) <= a.err))
        return number_unknown();
    if (a.re == 0)
        return exactly(0);
    return a.re < 0 ? number_neg(HT_FLOAT64, a) : a;
}

struct number soft_larger(ht_dtype dtype, struct number a, struct number b)
{
    (void)dtype;
    if (is_unknown(a) || is_unknown(b) || fabs(a.re - b.re) <= a.err + b.err)
        return number_unknown();
    return a.re > b.re ? a : b;
}

struct number soft_total(ht_dtype dtype, const struct total *total)
{
    return soft(dtype, total_round(total, HT_FLOAT64, dtype));
}

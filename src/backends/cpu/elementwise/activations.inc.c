/* SPDX-License-Identifier: MIT
 *
 * Template: activations, and gradients that are computed from the output alone. */

/* clang-format off */
#if HT_IS_BOOL
#define ROWS(X)
#elif HT_IS_INTEGER
#define ROWS(X) X(Ss, RELU, (a)) X(Sss, RELU_GRAD, (a, b))
#elif HT_IS_FLOAT
#define ROWS(X) \
    X(Ss, RELU, (a)) X(Sss, RELU_GRAD, (a, b)) X(Sss, TANH_GRAD, (a, b)) \
    X(Ss, LEAKY_RELU, (a, p[0])) X(Sss, LEAKY_RELU_GRAD, (a, b, p[0])) \
    X(Ss, GELU, (a)) X(Sss, GELU_GRAD, (a, b)) \
    X(Ss, SILU, (a)) X(Sss, SILU_GRAD, (a, b)) \
    X(Ss, SIGMOID, (a)) X(Sss, SIGMOID_GRAD, (a, b)) \
    X(Ss, ELU, (a, p[0], p[1], p[2])) X(Sss, ELU_GRAD, (a, b, p[0], p[1], p[2])) \
    X(Ss, SOFTPLUS, (a, p[0], p[1])) X(Sss, SOFTPLUS_GRAD, (a, b, p[0], p[1])) \
    X(Ss, MISH, (a)) X(Sss, MISH_GRAD, (a, b))
#else
#define ROWS(X) X(Sss, RELU_GRAD, (a, b)) X(Sss, TANH_GRAD, (a, b))
#endif
/* clang-format on */

#if !HT_IS_COMPLEX
/* Written so that NaN stays NaN. */
HT_INLINE C NAME(RELU)(C x)
{
    return x <= 0 ? 0 : x;
}
#endif

HT_INLINE C NAME(RELU_GRAD)(C g, C y)
{
#if HT_IS_COMPLEX
    return creal(y) <= 0 ? 0 : g;
#else
    return y <= 0 ? 0 : g;
#endif
}

#if HT_IS_FLOAT || HT_IS_COMPLEX
HT_INLINE C NAME(TANH_GRAD)(C g, C y)
{
    return g * (1 - y * y);
}
#endif

#if HT_IS_FLOAT
HT_INLINE C NAME(LEAKY_RELU)(C x, PARAM slope)
{
    return x > 0 ? x : slope * x;
}

HT_INLINE C NAME(LEAKY_RELU_GRAD)(C g, C x, PARAM slope)
{
    return x > 0 ? g : slope * g;
}

HT_INLINE C NAME(GELU)(C x)
{
    C slope;

    return HT_GELU(x, &slope);
}

HT_INLINE C NAME(GELU_GRAD)(C g, C x)
{
    C slope;

    (void)HT_GELU(x, &slope);
    return g * slope;
}

HT_INLINE C NAME(SILU)(C x)
{
    C slope;

    return HT_SILU(x, &slope);
}

HT_INLINE C NAME(SILU_GRAD)(C g, C x)
{
    C slope;

    (void)HT_SILU(x, &slope);
    return g * slope;
}

HT_INLINE C NAME(MISH)(C x)
{
    C slope;

    return HT_MISH(x, &slope);
}

HT_INLINE C NAME(MISH_GRAD)(C g, C x)
{
    C slope;

    (void)HT_MISH(x, &slope);
    return g * slope;
}

HT_INLINE C NAME(SIGMOID)(C x)
{
    return HT_SIGMOID(x);
}

HT_INLINE C NAME(SIGMOID_GRAD)(C g, C y)
{
    return g * ((1 - y) * y);
}

HT_INLINE C NAME(ELU)(C x, PARAM below, PARAM above, PARAM rate)
{
    return x > 0 ? above * x : below * HT_REAL_MATH(expm1, rate * x);
}

/* In double, because float's exponentials have few digits where they are subnormal. */
HT_INLINE double NAME(exp_wide)(C x)
{
    return HT_EXP_WIDE(x);
}

/* For NaN it is g, as in PyTorch. */
HT_INLINE C NAME(ELU_GRAD)(C g, C x, PARAM below, PARAM above, PARAM rate)
{
    return (C)(g * (x <= 0 ? below * rate / NAME(exp_wide)(-rate * x) : (double)above));
}

/* For a large z, log(1 + e^z) is z or slightly more, although e^z overflows. */
HT_INLINE C NAME(SOFTPLUS)(C x, PARAM beta, PARAM threshold)
{
    const C z = beta * x, e = HT_MATH(exp, z > 0 ? -z : z);

    return z > threshold ? x : ((z > 0 ? z : 0) + HT_REAL_MATH(log1p, e)) / beta;
}

HT_INLINE C NAME(SOFTPLUS_GRAD)(C g, C x, PARAM beta, PARAM threshold)
{
    const C z = beta * x;

    return z > threshold ? g : g * HT_SIGMOID(z);
}
#endif

#include HT_ROWS_TEMPLATE

/* SPDX-License-Identifier: MIT
 *
 * Template: activations, and gradients of which the output is enough. */

/* clang-format off */
#if HT_IS_BOOL
#define ROWS(X)
#elif HT_IS_INTEGER
#define ROWS(X) X(Ss, RELU, (a)) X(Sss, RELU_GRAD, (a, b))
#elif HT_IS_FLOAT
#define ROWS(X) \
    X(Ss, RELU, (a)) X(Sss, RELU_GRAD, (a, b)) X(Sss, TANH_GRAD, (a, b)) X(Sss, LEAKY_RELU, (a, b, p[0]))
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
    return creal(y) > 0 ? g : 0;
#else
    return y > 0 ? g : 0;
#endif
}

#if HT_IS_FLOAT || HT_IS_COMPLEX
HT_INLINE C NAME(TANH_GRAD)(C g, C y)
{
    return g * (1 - y * y);
}
#endif

#if HT_IS_FLOAT
HT_INLINE C NAME(LEAKY_RELU)(C a, C x, PARAM slope)
{
    return x > 0 ? a : slope * a;
}
#endif

#include "backends/cpu/elementwise/rows.inc.c"

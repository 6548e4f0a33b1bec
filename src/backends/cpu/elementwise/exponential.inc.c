/* SPDX-License-Identifier: MIT
 *
 * Template: exponentials, logarithms, roots. */

#define LN2  0.693147180559945309417
#define LN10 2.302585092994045684018

/* clang-format off */
#define COMPLEX_ROWS(X) \
    X(Ss, EXP, (a)) X(Ss, LOG, (a)) X(Ss, SQRT, (a)) X(Ss, EXP2, (a)) X(Ss, LOG2, (a)) \
    X(Ss, LOG10, (a))

#if HT_IS_FLOAT
#define ROWS(X) \
    COMPLEX_ROWS(X) X(Ss, EXPM1, (a)) X(Ss, LOG1P, (a)) X(Sss, LOGADDEXP, (a, b)) \
    X(Sss, LOGADDEXP2, (a, b))
#elif HT_IS_COMPLEX
#define ROWS(X) COMPLEX_ROWS(X)
#else
#define ROWS(X)
#endif
/* clang-format on */

#if HT_IS_FLOAT || HT_IS_COMPLEX
HT_INLINE C NAME(EXP)(C x)
{
    return HT_MATH(exp, x);
}

HT_INLINE C NAME(LOG)(C x)
{
    return HT_MATH(log, x);
}

HT_INLINE C NAME(SQRT)(C x)
{
    return HT_MATH(sqrt, x);
}
#endif

#if HT_IS_COMPLEX
HT_INLINE C NAME(EXP2)(C x)
{
    return (C)cexp((ht_complex128)x * LN2); /* the product's rounding grows with it */
}

HT_INLINE C NAME(LOG2)(C x)
{
    return HT_LIBM(log, x) / (HT_REAL_TYPE)LN2;
}

HT_INLINE C NAME(LOG10)(C x)
{
    return HT_LIBM(log, x) / (HT_REAL_TYPE)LN10;
}
#endif

#if HT_IS_FLOAT
HT_INLINE C NAME(EXPM1)(C x)
{
    return HT_REAL_MATH(expm1, x);
}

HT_INLINE C NAME(LOG1P)(C x)
{
    return HT_REAL_MATH(log1p, x);
}

HT_INLINE C NAME(EXP2)(C x)
{
    return HT_REAL_LIBM(exp2, x);
}

HT_INLINE C NAME(LOG2)(C x)
{
    return HT_REAL_LIBM(log2, x);
}

HT_INLINE C NAME(LOG10)(C x)
{
    return (C)log10((double)x); /* log10f is off by more than 2 ulp near 1 */
}

/* The larger one and what the smaller one adds: no step overflows. Equal operands are a separate
 * case because of infinities. */
HT_INLINE C NAME(LOGADDEXP)(C a, C b)
{
    const C large = a > b ? a : b, distance = a > b ? a - b : b - a;

    if (a == b)
        return a + (C)LN2;
    return distance != distance ? distance : large + HT_REAL_MATH(log1p, HT_MATH(exp, -distance));
}

HT_INLINE C NAME(LOGADDEXP2)(C a, C b)
{
    const C large = a > b ? a : b, distance = a > b ? a - b : b - a;

    if (a == b)
        return a + 1;
    return distance != distance
               ? distance
               : large + HT_REAL_MATH(log1p, HT_REAL_LIBM(exp2, -distance)) / (C)LN2;
}
#endif

#include HT_ROWS_TEMPLATE

#undef COMPLEX_ROWS
#undef LN2
#undef LN10

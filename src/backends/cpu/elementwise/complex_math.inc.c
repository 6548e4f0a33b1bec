/* SPDX-License-Identifier: MIT
 *
 * Template: parts of complex numbers. */

/* clang-format off */
#if HT_IS_COMPLEX
#define ROWS(X) X(Ss, CONJ, (a)) X(Ps, REAL, (a)) X(Ps, IMAG, (a)) X(Ps, ANGLE, (a))
#elif HT_IS_FLOAT
#define ROWS(X) X(Ps, ANGLE, (a))
#else
#define ROWS(X)
#endif
/* clang-format on */

#if HT_IS_COMPLEX
HT_INLINE C NAME(CONJ)(C x)
{
    return HT_CONJ(x);
}

HT_INLINE HT_REAL_TYPE NAME(REAL)(C x)
{
    return (HT_REAL_TYPE)creal(x);
}

HT_INLINE HT_REAL_TYPE NAME(IMAG)(C x)
{
    return (HT_REAL_TYPE)cimag(x);
}

HT_INLINE HT_REAL_TYPE NAME(ANGLE)(C x)
{
    return HT_REAL_LIBM2(atan2, (HT_REAL_TYPE)cimag(x), (HT_REAL_TYPE)creal(x));
}
#elif HT_IS_FLOAT
HT_INLINE C NAME(ANGLE)(C x)
{
    return x < 0 ? (C)3.14159265358979323846 : x != x ? x : 0;
}
#endif

#include HT_ROWS_TEMPLATE

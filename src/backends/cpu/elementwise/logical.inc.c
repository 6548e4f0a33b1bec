/* SPDX-License-Identifier: MIT
 *
 * Template: logical functions, for which any number but 0 is true, and tests for kinds of
 * numbers. */

/* clang-format off */
#define TRUTH_ROWS(X) \
    X(Bss, LOGICAL_AND, (a, b)) X(Bss, LOGICAL_OR, (a, b)) X(Bss, LOGICAL_XOR, (a, b)) \
    X(Bs, LOGICAL_NOT, (a)) X(Bs, ISNAN, (a)) X(Bs, ISINF, (a)) X(Bs, ISFINITE, (a)) \
    X(Bss, ISCLOSE, (a, b, p[0], p[1], p[2] != 0))
#define SIGN_ROWS(X) X(Bs, ISPOSINF, (a)) X(Bs, ISNEGINF, (a)) X(Bs, SIGNBIT, (a))

#if HT_IS_COMPLEX
#define ROWS(X) TRUTH_ROWS(X)
#else
#define ROWS(X) TRUTH_ROWS(X) SIGN_ROWS(X)
#endif
/* clang-format on */

HT_INLINE bool NAME(LOGICAL_AND)(C a, C b)
{
    return (int)(a != 0) & (b != 0);
}

HT_INLINE bool NAME(LOGICAL_OR)(C a, C b)
{
    return (int)(a != 0) | (b != 0);
}

HT_INLINE bool NAME(LOGICAL_XOR)(C a, C b)
{
    return (a != 0) != (b != 0);
}

HT_INLINE bool NAME(LOGICAL_NOT)(C a)
{
    return a == 0;
}

#if HT_IS_COMPLEX
HT_INLINE bool NAME(ISNAN)(C a)
{
    return isnan(creal(a)) || isnan(cimag(a));
}

HT_INLINE bool NAME(ISINF)(C a)
{
    return isinf(creal(a)) || isinf(cimag(a));
}

HT_INLINE bool NAME(ISFINITE)(C a)
{
    return isfinite(creal(a)) && isfinite(cimag(a));
}

HT_INLINE PARAM NAME(distance)(C a, C b)
{
    return (PARAM)HT_MODULUS(a - b);
}

HT_INLINE PARAM NAME(size)(C a)
{
    return (PARAM)HT_MODULUS(a);
}
#else
HT_INLINE bool NAME(ISNAN)(C a)
{
    return HT_IS_FLOAT && isnan((double)a);
}

HT_INLINE bool NAME(ISPOSINF)(C a)
{
    return HT_IS_FLOAT && (double)a == INFINITY;
}

HT_INLINE bool NAME(ISNEGINF)(C a)
{
    return HT_IS_FLOAT && (double)a == -INFINITY;
}

HT_INLINE bool NAME(ISINF)(C a)
{
    return NAME(ISPOSINF)(a) || NAME(ISNEGINF)(a);
}

HT_INLINE bool NAME(ISFINITE)(C a)
{
    return !NAME(ISNAN)(a) && !NAME(ISINF)(a);
}

HT_INLINE bool NAME(SIGNBIT)(C a)
{
    return HT_IS_FLOAT ? signbit((double)a) != 0 : (double)a < 0;
}

/* For integers it is the exact one, which is rounded once. */
HT_INLINE PARAM NAME(distance)(C a, C b)
{
#if HT_IS_FLOAT
    return a > b ? a - b : b - a;
#else
    return (PARAM)(a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a);
#endif
}

HT_INLINE PARAM NAME(size)(C a)
{
    return (double)a < 0 ? -(PARAM)a : (PARAM)a;
}
#endif

/* |a - b| <= atol + rtol |b|; infinities are close to themselves alone. */
HT_INLINE bool NAME(ISCLOSE)(C a, C b, PARAM rtol, PARAM atol, bool equal_nan)
{
    if (a == b || !NAME(ISFINITE)(a) || !NAME(ISFINITE)(b))
        return a == b || (equal_nan && NAME(ISNAN)(a) && NAME(ISNAN)(b));
    return NAME(distance)(a, b) <= atol + rtol * NAME(size)(b);
}

#include HT_ROWS_TEMPLATE

#undef TRUTH_ROWS
#undef SIGN_ROWS

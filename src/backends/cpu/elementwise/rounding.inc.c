/* SPDX-License-Identifier: MIT
 *
 * Template: rounding, absolute values, signs. Rounding leaves integers as they are. */

/* clang-format off */
#define WHOLE_ROWS(X) X(Ss, CEIL, (a)) X(Ss, FLOOR, (a)) X(Ss, TRUNC, (a)) X(Ss, ROUND, (a))

#if HT_IS_BOOL
#define ROWS(X)
#elif HT_IS_INTEGER
#define ROWS(X) WHOLE_ROWS(X) X(Ps, ABS, (a)) X(Ss, SIGN, (a))
#elif HT_IS_FLOAT
#define ROWS(X) \
    WHOLE_ROWS(X) X(Ps, ABS, (a)) X(Ss, SIGN, (a)) X(Ss, FRAC, (a)) \
    X(Ss, ROUND_DECIMALS, (a, p[0], p[1]))
#else
#define ROWS(X) X(Ps, ABS, (a)) X(Ss, SIGN, (a))
#endif
/* clang-format on */

#if HT_IS_INTEGER
HT_INLINE C NAME(CEIL)(C x)
{
    return x;
}

HT_INLINE C NAME(FLOOR)(C x)
{
    return x;
}

HT_INLINE C NAME(TRUNC)(C x)
{
    return x;
}

HT_INLINE C NAME(ROUND)(C x)
{
    return x;
}

/* The least number, which has no opposite, stays. */
HT_INLINE C NAME(ABS)(C x)
{
    const int64_t wide = x;

    return (C)(wide < 0 ? -(WRAP)x : (WRAP)x);
}

HT_INLINE C NAME(SIGN)(C x)
{
    const int64_t wide = x;

    return (C)((wide > 0) - (wide < 0));
}
#elif HT_IS_FLOAT
HT_INLINE C NAME(CEIL)(C x)
{
    return HT_REAL_LIBM(ceil, x);
}

HT_INLINE C NAME(FLOOR)(C x)
{
    return HT_REAL_LIBM(floor, x);
}

HT_INLINE C NAME(TRUNC)(C x)
{
    return HT_REAL_LIBM(trunc, x);
}

/* Halves to the even one. */
HT_INLINE C NAME(ROUND)(C x)
{
    return HT_REAL_LIBM(rint, x);
}

/* up: 10^decimals, or 1; down: 10^-decimals, or 1. A number for which x up overflows has no digits
 * there. If down is infinite, every number is small in comparison. */
HT_INLINE C NAME(ROUND_DECIMALS)(C x, PARAM up, PARAM down)
{
    const C whole = HT_REAL_LIBM(rint, x * up / down);
    const C y = whole / up * down;

    if (isfinite((double)y))
        return y;
    return isinf((double)down) && isfinite((double)x) ? 0 * x : x;
}

HT_INLINE C NAME(ABS)(C x)
{
    return HT_REAL_LIBM(fabs, x);
}

HT_INLINE C NAME(SIGN)(C x)
{
    return x != x ? x : (C)((x > 0) - (x < 0));
}

/* x - TRUNC(x), with the sign of x; 0 for infinities. */
HT_INLINE C NAME(FRAC)(C x)
{
    const C cut = isinf((double)x) ? 0 : x - HT_REAL_LIBM(trunc, x);

    return HT_REAL_LIBM2(copysign, cut, x);
}
#elif HT_IS_COMPLEX
HT_INLINE HT_REAL_TYPE NAME(ABS)(C x)
{
    return HT_MODULUS(x);
}

/* x / |x|; 0 of 0. */
HT_INLINE C NAME(SIGN)(C x)
{
    const HT_REAL_TYPE size = NAME(ABS)(x);

    return size == 0 ? 0 : x / size;
}
#endif

#include HT_ROWS_TEMPLATE

#undef WHOLE_ROWS

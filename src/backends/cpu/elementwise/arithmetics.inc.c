/* SPDX-License-Identifier: MIT
 *
 * Template: arithmetic. Integers wrap around; their quotients and remainders by 0 are 0. */

/* clang-format off */
#define RING_ROWS(X) X(Sss, ADD, (a, b)) X(Sss, MUL, (a, b))
#define SIGNED_ROWS(X) RING_ROWS(X) X(Sss, SUB, (a, b)) X(Ss, NEG, (a)) X(Sss, POW, (a, b))
#define DIVISION_ROWS(X) \
    X(Sss, FLOORDIV, (a, b)) X(Sss, REMAINDER, (a, b)) X(Sss, FMOD, (a, b))

#if HT_IS_BOOL
#define ROWS(X) RING_ROWS(X)
#elif HT_IS_INTEGER
#define ROWS(X) SIGNED_ROWS(X) DIVISION_ROWS(X) X(Sss, GCD, (a, b)) X(Sss, LCM, (a, b))
#elif HT_IS_FLOAT
#define ROWS(X) \
    SIGNED_ROWS(X) DIVISION_ROWS(X) X(Sss, DIV, (a, b)) X(Sss, HYPOT, (a, b)) \
    X(Sss, COPYSIGN, (a, b)) X(Ss, NAN_TO_NUM, (a, p)) \
    X(Ss, SCALE, (a, p[0])) AXPBY_ROW(X)
#else
#define ROWS(X) SIGNED_ROWS(X) X(Sss, DIV, (a, b))
#endif

#if HT_IS_HALF /* would be rounded once, not thrice */
#define AXPBY_ROW(X)
#else
#define AXPBY_ROW(X) X(Sss, AXPBY, (a, b, p[0], p[1]))
#endif
/* clang-format on */

/* The sum of two bools is their or, the product their and. */
HT_INLINE C NAME(ADD)(C a, C b)
{
    return (C)(HT_IS_BOOL ? (int)(a != 0) | (b != 0) : (WRAP)a + (WRAP)b);
}

HT_INLINE C NAME(SUB)(C a, C b)
{
    return (C)((WRAP)a - (WRAP)b);
}

HT_INLINE C NAME(MUL)(C a, C b)
{
    return (C)((WRAP)a * (WRAP)b);
}

HT_INLINE C NAME(NEG)(C x)
{
    return (C) - (WRAP)x;
}

#if HT_IS_INTEGER
/* Negative powers are rounded towards 0: of 1 and -1 alone something is left. */
HT_INLINE C NAME(POW)(C a, C b)
{
    const int64_t base = a;
    int64_t n = b;
    WRAP power = 1, square = (WRAP)a;

    if (n < 0)
        return (C)(base == 1 || (base == -1 && n % 2 == 0) ? 1 : base == -1 ? base : 0);
    for (; n > 0; n /= 2) {
        if (n % 2 == 1)
            power = (WRAP)(power * square);
        square = (WRAP)(square * square);
    }
    return (C)power;
}

/* Division by -1 is a separate case: the least number has no opposite. */
HT_INLINE C NAME(FLOORDIV)(C a, C b)
{
    const int64_t n = a, d = b;

    if (d == 0 || d == -1)
        return d == 0 ? 0 : NAME(NEG)(a);
    return (C)(n / d - (n % d != 0 && (n < 0) != (d < 0)));
}

HT_INLINE C NAME(REMAINDER)(C a, C b)
{
    const int64_t n = a, d = b;

    if (d == 0 || d == -1)
        return 0;
    return (C)(n % d + (n % d != 0 && (n < 0) != (d < 0) ? d : 0));
}

HT_INLINE C NAME(FMOD)(C a, C b)
{
    const int64_t n = a, d = b;

    return (C)(d == 0 || d == -1 ? 0 : n % d);
}

HT_INLINE uint64_t NAME(magnitude)(C x)
{
    const int64_t wide = x;

    return wide < 0 ? -(uint64_t)wide : (uint64_t)wide;
}

HT_INLINE C NAME(GCD)(C a, C b)
{
    uint64_t x = NAME(magnitude)(a), y = NAME(magnitude)(b);

    while (y != 0) {
        const uint64_t rest = x % y;

        x = y;
        y = rest;
    }
    return (C)x;
}

HT_INLINE C NAME(LCM)(C a, C b)
{
    const uint64_t x = NAME(magnitude)(a), y = NAME(magnitude)(b);

    return (C)(x == 0 || y == 0 ? 0 : x / NAME(magnitude)(NAME(GCD)(a, b)) * y);
}
#endif

#if HT_IS_FLOAT || HT_IS_COMPLEX
HT_INLINE C NAME(DIV)(C a, C b)
{
    return a / b;
}
#endif

#if HT_IS_COMPLEX
/* The system's library gives NaN for 0 to the power of 0. */
HT_INLINE C NAME(POW)(C a, C b)
{
    if (b == 0)
        return 1;
    return HT_COMPLEX_POW(a, b);
}
#endif

#if HT_IS_FLOAT
HT_INLINE C NAME(POW)(C a, C b)
{
    return HT_REAL_LIBM2(pow, a, b);
}

HT_INLINE C NAME(FMOD)(C a, C b)
{
    return HT_REAL_LIBM2(fmod, a, b);
}

/* With the sign of b, zeros too. */
HT_INLINE C NAME(REMAINDER)(C a, C b)
{
    const C rest = NAME(FMOD)(a, b);

    if (rest == 0)
        return HT_REAL_LIBM2(copysign, rest, b);
    return (rest < 0) != (b < 0) && rest == rest ? rest + b : rest;
}

/* The floor of the exact quotient, which a / b may be rounded away from: a - fmod(a, b) is nearly a
 * multiple of b. */
HT_INLINE C NAME(FLOORDIV)(C a, C b)
{
    const C rest = NAME(FMOD)(a, b);
    const C near = (a - rest) / b - (C)(rest != 0 && (rest < 0) != (b < 0));
    const C whole = HT_REAL_LIBM(floor, near);

    if (b == 0)
        return a / b;
    if (near == 0)
        return HT_REAL_LIBM2(copysign, (C)0, a / b);
    return near - whole > (C)0.5 ? whole + 1 : whole;
}

HT_INLINE C NAME(HYPOT)(C a, C b)
{
    return HT_REAL_LIBM2(hypot, a, b);
}

HT_INLINE C NAME(COPYSIGN)(C a, C b)
{
    return HT_REAL_LIBM2(copysign, a, b);
}

HT_INLINE C NAME(NAN_TO_NUM)(C x, const PARAM p[])
{
    const C finite = x == (C)INFINITY ? p[1] : x == (C)-INFINITY ? p[2] : x;

    return x != x ? p[0] : finite;
}

HT_INLINE C NAME(SCALE)(C x, PARAM factor)
{
    return x * factor;
}

HT_INLINE C NAME(AXPBY)(C a, C b, PARAM alpha, PARAM beta)
{
    return alpha * a + beta * b;
}
#endif

#include HT_ROWS_TEMPLATE

#undef RING_ROWS
#undef SIGNED_ROWS
#undef DIVISION_ROWS
#undef AXPBY_ROW

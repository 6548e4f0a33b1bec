/* SPDX-License-Identifier: MIT
 *
 * Template: trigonometric and hyperbolic functions and their inverses. */

/* clang-format off */
#define LIBM_ROWS(X) \
    X(Ss, SIN, sin) X(Ss, COS, cos) X(Ss, TAN, tan) X(Ss, ASIN, asin) X(Ss, ACOS, acos) \
    X(Ss, ATAN, atan) X(Ss, SINH, sinh) X(Ss, COSH, cosh) X(Ss, ASINH, asinh) \
    X(Ss, ACOSH, acosh) X(Ss, ATANH, atanh)
#define ONE_ROWS(X) \
    X(Ss, SIN, (a)) X(Ss, COS, (a)) X(Ss, TAN, (a)) X(Ss, ASIN, (a)) X(Ss, ACOS, (a)) \
    X(Ss, ATAN, (a)) X(Ss, SINH, (a)) X(Ss, COSH, (a)) X(Ss, TANH, (a)) X(Ss, ASINH, (a)) \
    X(Ss, ACOSH, (a)) X(Ss, ATANH, (a))

#if HT_IS_FLOAT
#define ROWS(X) ONE_ROWS(X) X(Sss, ATAN2, (a, b))
#elif HT_IS_COMPLEX
#define ROWS(X) ONE_ROWS(X)
#else
#define ROWS(X)
#endif

#if HT_IS_FLOAT || HT_IS_COMPLEX
#define LIBM_FUNCTION(operands, op, function) HT_INLINE C NAME(op)(C x) { return HT_LIBM(function, x); }
LIBM_ROWS(LIBM_FUNCTION)
#undef LIBM_FUNCTION
#endif
/* clang-format on */

#if HT_IS_FLOAT || HT_IS_COMPLEX
HT_INLINE C NAME(TANH)(C x)
{
    return HT_MATH(tanh, x);
}
#endif

#if HT_IS_FLOAT
HT_INLINE C NAME(ATAN2)(C y, C x)
{
    return HT_REAL_LIBM2(atan2, y, x);
}
#endif

#include HT_ROWS_TEMPLATE

#undef LIBM_ROWS
#undef ONE_ROWS

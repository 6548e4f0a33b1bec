/* SPDX-License-Identifier: MIT
 *
 * Template: comparisons. */

/* clang-format off */
#if HT_IS_COMPLEX
#define ROWS(X) X(Bss, EQ, (a, b)) X(Bss, NE, (a, b))
#else
#define ROWS(X) \
    X(Bss, EQ, (a, b)) X(Bss, NE, (a, b)) X(Bss, LT, (a, b)) X(Bss, LE, (a, b)) \
    X(Bss, GT, (a, b)) X(Bss, GE, (a, b))
#endif
/* clang-format on */

HT_INLINE bool NAME(EQ)(C a, C b)
{
    return a == b;
}

HT_INLINE bool NAME(NE)(C a, C b)
{
    return a != b;
}

#if !HT_IS_COMPLEX
HT_INLINE bool NAME(LT)(C a, C b)
{
    return a < b;
}

HT_INLINE bool NAME(LE)(C a, C b)
{
    return a <= b;
}

HT_INLINE bool NAME(GT)(C a, C b)
{
    return a > b;
}

HT_INLINE bool NAME(GE)(C a, C b)
{
    return a >= b;
}
#endif

#include HT_ROWS_TEMPLATE

/* SPDX-License-Identifier: MIT
 *
 * Template: operations on the bits of integers, and `and`, `or`, `not` of bool. A shift by a
 * negative number, or by all bits or more, leaves no bit: the result is 0, or -1 for negative
 * numbers shifted to the right. */

/* clang-format off */
#define BIT_ROWS(X) \
    X(Sss, BITWISE_AND, (a, b)) X(Sss, BITWISE_OR, (a, b)) X(Sss, BITWISE_XOR, (a, b)) \
    X(Ss, BITWISE_NOT, (a))

#if HT_IS_BOOL
#define ROWS(X) BIT_ROWS(X)
#elif HT_IS_INTEGER
#define ROWS(X) BIT_ROWS(X) X(Sss, LEFT_SHIFT, (a, b)) X(Sss, RIGHT_SHIFT, (a, b))
#else
#define ROWS(X)
#endif
/* clang-format on */

#if HT_IS_BOOL || HT_IS_INTEGER
HT_INLINE C NAME(BITWISE_AND)(C a, C b)
{
    return (C)(a & b);
}

HT_INLINE C NAME(BITWISE_OR)(C a, C b)
{
    return (C)(a | b);
}

HT_INLINE C NAME(BITWISE_XOR)(C a, C b)
{
    return (C)(a ^ b);
}

HT_INLINE C NAME(BITWISE_NOT)(C a)
{
    return (C)(HT_IS_BOOL ? a == 0 : ~a);
}
#endif

#if HT_IS_INTEGER
HT_INLINE C NAME(LEFT_SHIFT)(C a, C b)
{
    const int64_t by = b;

    return (C)(by < 0 || by >= (int64_t)(8 * sizeof(C)) ? 0 : (uint64_t)a << by);
}

HT_INLINE C NAME(RIGHT_SHIFT)(C a, C b)
{
    const int64_t by = b, wide = a;

    return (C)(wide >> (by < 0 || by > 63 ? 63 : by));
}
#endif

#include HT_ROWS_TEMPLATE

#undef BIT_ROWS

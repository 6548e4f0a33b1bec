/* SPDX-License-Identifier: MIT
 *
 * Template: elementwise functions of two operands. A new one is a row of HT_BINARY_LIST and an
 * inline function here, named as the row; comparisons return bool. */

#if HT_IS_BOOL
#define ARITHMETIC_LIST(X) X(ADD) X(MUL)
#elif HT_IS_INTEGER
#define ARITHMETIC_LIST(X) X(ADD) X(SUB) X(MUL) X(MINIMUM) X(MAXIMUM) X(RELU_GRAD)
#elif HT_IS_FLOAT
#define ARITHMETIC_LIST(X) \
    X(ADD) X(SUB) X(MUL) X(DIV) X(MINIMUM) X(MAXIMUM) X(RELU_GRAD) X(TANH_GRAD)
#else
#define ARITHMETIC_LIST(X) X(ADD) X(SUB) X(MUL) X(DIV) X(TANH_GRAD)
#endif

#if HT_IS_COMPLEX
#define COMPARISON_LIST(X) X(EQ) X(NE)
#else
#define COMPARISON_LIST(X) X(EQ) X(NE) X(LT) X(LE) X(GT) X(GE)
#endif

/* The sum of two bools is their or, the product their and. */
HT_INLINE C NAME(ADD)(C a, C b)
{
    return (C)(HT_IS_BOOL ? (a != 0) | (b != 0) : (WRAP)a + (WRAP)b);
}

HT_INLINE C NAME(SUB)(C a, C b)
{
    return (C)((WRAP)a - (WRAP)b);
}

HT_INLINE C NAME(MUL)(C a, C b)
{
    return (C)((WRAP)a * (WRAP)b);
}

#if HT_IS_FLOAT || HT_IS_COMPLEX
HT_INLINE C NAME(DIV)(C a, C b)
{
    return a / b;
}

HT_INLINE C NAME(TANH_GRAD)(C g, C y)
{
    return g * (1 - y * y);
}
#endif

HT_INLINE bool NAME(EQ)(C a, C b)
{
    return a == b;
}

HT_INLINE bool NAME(NE)(C a, C b)
{
    return a != b;
}

#if !HT_IS_COMPLEX
HT_INLINE C NAME(RELU_GRAD)(C g, C y)
{
    return y > 0 ? g : 0;
}

HT_INLINE C NAME(MINIMUM)(C a, C b)
{
    return a < b || (HT_IS_FLOAT && isnan((double)a)) ? a : b;
}

HT_INLINE C NAME(MAXIMUM)(C a, C b)
{
    return a > b || (HT_IS_FLOAT && isnan((double)a)) ? a : b;
}

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

#define RESULT       T
#define RESULT_C     C
#define RESULT_STORE STORE
#define WALK         arithmetic
#include "backends/cpu/elementwise/binary_walk.inc.c"

#define RESULT          uint8_t
#define RESULT_C        bool
#define RESULT_STORE(x) ((uint8_t)(x))
#define WALK            comparison
#include "backends/cpu/elementwise/binary_walk.inc.c"

/* clang-format off */
#define ARITHMETIC(op) HT_LOOP_KERNEL(binary_##op) { return NAME(arithmetic)(stream, loop, NAME(op)); }
#define COMPARISON(op) HT_LOOP_KERNEL(binary_##op) { return NAME(comparison)(stream, loop, NAME(op)); }
/* clang-format on */
ARITHMETIC_LIST(ARITHMETIC)
COMPARISON_LIST(COMPARISON)
#undef ARITHMETIC
#undef COMPARISON

static void NAME(fill_binary)(ht_kernels *k)
{
#define BINARY_ROW(op) k->binary[HT_BINARY_##op][ID] = NAME(binary_##op);
    ARITHMETIC_LIST(BINARY_ROW)
    COMPARISON_LIST(BINARY_ROW)
#undef BINARY_ROW
}

#undef ARITHMETIC_LIST
#undef COMPARISON_LIST

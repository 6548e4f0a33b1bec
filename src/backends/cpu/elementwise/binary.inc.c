/* SPDX-License-Identifier: MIT
 *
 * Template: elementwise functions of two operands. A new one is a row of HT_BINARY_KERNELS, an
 * inline function here, named as the row, and in the lists of the dtypes that have it what it is
 * called with: operands a and b and, of ht_loop.param, the p that it takes. Comparisons return
 * bool. */

/* clang-format off */
#if HT_IS_BOOL
#define ARITHMETIC_LIST(X) X(ADD, (a, b)) X(MUL, (a, b))
#elif HT_IS_INTEGER
#define ARITHMETIC_LIST(X) \
    X(ADD, (a, b)) X(SUB, (a, b)) X(MUL, (a, b)) X(MINIMUM, (a, b)) X(MAXIMUM, (a, b)) \
    X(RELU_GRAD, (a, b))
#elif HT_IS_FLOAT
#define ARITHMETIC_LIST(X) \
    X(ADD, (a, b)) X(SUB, (a, b)) X(MUL, (a, b)) X(DIV, (a, b)) X(MINIMUM, (a, b)) \
    X(MAXIMUM, (a, b)) X(RELU_GRAD, (a, b)) X(TANH_GRAD, (a, b)) X(LEAKY_RELU, (a, b, p[0])) \
    AXPBY_LIST(X)
#else
#define ARITHMETIC_LIST(X) \
    X(ADD, (a, b)) X(SUB, (a, b)) X(MUL, (a, b)) X(DIV, (a, b)) X(RELU_GRAD, (a, b)) \
    X(TANH_GRAD, (a, b))
#endif

#if HT_IS_HALF /* would be rounded once, not thrice */
#define AXPBY_LIST(X)
#else
#define AXPBY_LIST(X) X(AXPBY, (a, b, p[0], p[1]))
#endif

#if HT_IS_COMPLEX
#define COMPARISON_LIST(X) X(EQ, (a, b)) X(NE, (a, b))
#else
#define COMPARISON_LIST(X) \
    X(EQ, (a, b)) X(NE, (a, b)) X(LT, (a, b)) X(LE, (a, b)) X(GT, (a, b)) X(GE, (a, b))
#endif
/* clang-format on */

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

HT_INLINE C NAME(RELU_GRAD)(C g, C y)
{
#if HT_IS_COMPLEX
    return creal(y) > 0 ? g : 0;
#else
    return y > 0 ? g : 0;
#endif
}

#if !HT_IS_COMPLEX
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

#if HT_IS_FLOAT
HT_INLINE C NAME(LEAKY_RELU)(C a, C x, PARAM slope)
{
    return x > 0 ? a : slope * a;
}

HT_INLINE C NAME(AXPBY)(C a, C b, PARAM alpha, PARAM beta)
{
    return alpha * a + beta * b;
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

/* A row's function as the walk calls it, and its kernel. */
/* clang-format off */
#define BINARY(walk, result, op, arguments) \
    HT_INLINE result NAME(row_##op)(C a, C b, const PARAM p[]) { (void)p; return NAME(op) arguments; } \
    HT_KERNEL(binary_##op) { (void)stream; return NAME(walk)(call, NAME(row_##op)); }
#define ARITHMETIC(op, arguments) BINARY(arithmetic, C, op, arguments)
#define COMPARISON(op, arguments) BINARY(comparison, bool, op, arguments)
/* clang-format on */
ARITHMETIC_LIST(ARITHMETIC)
COMPARISON_LIST(COMPARISON)
#undef ARITHMETIC
#undef COMPARISON
#undef BINARY

static void NAME(fill_binary)(ht_kernel_table *k)
{
#define BINARY_ROW(op, arguments) k->at[HT_KERNEL_##op][ID] = NAME(binary_##op);
    ARITHMETIC_LIST(BINARY_ROW)
    COMPARISON_LIST(BINARY_ROW)
#undef BINARY_ROW
}

#undef ARITHMETIC_LIST
#undef COMPARISON_LIST
#undef AXPBY_LIST

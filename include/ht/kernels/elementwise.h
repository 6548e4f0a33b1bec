/* SPDX-License-Identifier: MIT
 *
 * Elementwise kernels, whose arguments are an ht_loop.
 *
 * A row of a list has the name of a kernel, and a letter for each operand, the output first.
 * Capitals are written, small letters are read:
 *     S, s   the kernel's dtype;
 *     B, b   bool;
 *     P      the kernel's dtype, or the dtype of its parts if it is complex;
 *     C      the dtype in the kernel's name.
 * The output may be one of the inputs, with equal strides. It does not overlap an input in another
 * way. Formulas below use ht_loop.param for the parameters of a kernel. */
#ifndef HT_KERNELS_ELEMENTWISE_H
#define HT_KERNELS_ELEMENTWISE_H

#include "ht/backend.h"

/* y = f(x).
 *   ANGLE           for real numbers pi if x < 0, NaN for NaN, else 0;
 *   SIGN            z / |z| for complex numbers;
 *   FRAC            x - trunc(x);
 *   ROUND           to the nearest integer, halves to the even one;
 *   ROUND_DECIMALS  rint(x param[0] / param[1]) / param[0] param[1];
 *   NAN_TO_NUM      param[0] for NaN, param[1] for infinity, param[2] for minus infinity;
 *   SCALE           param[0] x;
 *   LEAKY_RELU      x if x > 0, else param[0] x;
 *   GELU            x Phi(x);
 *   SILU            x / (1 + exp(-x));
 *   SIGMOID         1 / (1 + exp(-x));
 *   ELU             param[1] x if x > 0, else param[0] (exp(param[2] x) - 1);
 *   SOFTPLUS        x if param[0] x > param[1], else log(1 + exp(param[0] x)) / param[0];
 *   MISH            x tanh(log(1 + exp(x))). */
/* clang-format off */
#define HT_UNARY_KERNELS(X) \
    X(NEG, "Ss") X(EXP, "Ss") X(LOG, "Ss") X(SQRT, "Ss") X(EXP2, "Ss") X(LOG2, "Ss") \
    X(LOG10, "Ss") X(EXPM1, "Ss") X(LOG1P, "Ss") X(SIN, "Ss") X(COS, "Ss") X(TAN, "Ss") \
    X(ASIN, "Ss") X(ACOS, "Ss") X(ATAN, "Ss") X(SINH, "Ss") X(COSH, "Ss") X(TANH, "Ss") \
    X(ASINH, "Ss") X(ACOSH, "Ss") X(ATANH, "Ss") X(CEIL, "Ss") X(FLOOR, "Ss") X(TRUNC, "Ss") \
    X(ROUND, "Ss") X(ROUND_DECIMALS, "Ss") X(FRAC, "Ss") X(SIGN, "Ss") X(ABS, "Ps") \
    X(NAN_TO_NUM, "Ss") X(SCALE, "Ss") X(RELU, "Ss") X(LEAKY_RELU, "Ss") X(GELU, "Ss") \
    X(SILU, "Ss") X(SIGMOID, "Ss") X(ELU, "Ss") X(SOFTPLUS, "Ss") X(MISH, "Ss") X(CONJ, "Ss") X(REAL, "Ps") X(IMAG, "Ps") \
    X(ANGLE, "Ps") X(BITWISE_NOT, "Ss") X(LOGICAL_NOT, "Bs") X(ISNAN, "Bs") X(ISINF, "Bs") X(ISFINITE, "Bs") \
    X(ISPOSINF, "Bs") X(ISNEGINF, "Bs") X(SIGNBIT, "Bs")

/* y = f(a, b).
 *   RELU_GRAD         f(g, y) = y <= 0 ? 0 : g;
 *   TANH_GRAD         f(g, y) = g (1 - y^2);
 *   SIGMOID_GRAD      f(g, y) = g y (1 - y);
 *   K_GRAD            f(g, x) = g K'(x) for other kernels K, with the parameters of K;
 *   MINIMUM, MAXIMUM  NaN if an operand is NaN;
 *   REMAINDER         has the sign of b;
 *   FMOD              has the sign of a;
 *   AXPBY             param[0] a + param[1] b, rounded after each of the three operations;
 *   ISCLOSE           a = b or |a - b| <= param[1] + param[0] |b|; if param[2] is not 0, also for
 *                     NaN and NaN.
 * Integers wrap around. Division of an integer by 0 gives 0 in FLOORDIV, REMAINDER and FMOD.
 * Negative powers of integers are rounded towards 0. A shift by a negative number, or by all bits
 * or more, leaves no bit. */
#define HT_BINARY_KERNELS(X) \
    X(ADD, "Sss") X(SUB, "Sss") X(MUL, "Sss") X(DIV, "Sss") X(POW, "Sss") X(FLOORDIV, "Sss") \
    X(REMAINDER, "Sss") X(FMOD, "Sss") X(GCD, "Sss") X(LCM, "Sss") X(HYPOT, "Sss") \
    X(COPYSIGN, "Sss") X(ATAN2, "Sss") X(LOGADDEXP, "Sss") X(LOGADDEXP2, "Sss") \
    X(BITWISE_AND, "Sss") X(BITWISE_OR, "Sss") X(BITWISE_XOR, "Sss") X(LEFT_SHIFT, "Sss") \
    X(RIGHT_SHIFT, "Sss") X(LOGICAL_AND, "Bss") X(LOGICAL_OR, "Bss") X(LOGICAL_XOR, "Bss") \
    X(ISCLOSE, "Bss") X(EQ, "Bss") X(NE, "Bss") X(LT, "Bss") X(LE, "Bss") X(GT, "Bss") \
    X(GE, "Bss") X(MINIMUM, "Sss") X(MAXIMUM, "Sss") X(RELU_GRAD, "Sss") X(TANH_GRAD, "Sss") \
    X(LEAKY_RELU_GRAD, "Sss") X(GELU_GRAD, "Sss") X(SILU_GRAD, "Sss") X(SIGMOID_GRAD, "Sss") \
    X(ELU_GRAD, "Sss") X(SOFTPLUS_GRAD, "Sss") X(MISH_GRAD, "Sss") X(AXPBY, "Sss")

/* y = f(a, b, c).
 *   CLIP   f(x, low, high) = min(max(x, low), high); NaN if an operand is NaN;
 *   WHERE  f(mask, a, b) = mask ? a : b. */
#define HT_TERNARY_KERNELS(X) X(CLIP, "Ssss") X(WHERE, "Sbss")

/* y = f(x) and slope = f'(x) for the kernels of one operand with these names, with the same y. They
 * are for float32 and float64, and optional: where a backend lacks one, K and K_GRAD run. */
#define HT_SLOPE_KERNELS(X) X(GELU_SLOPE, "SSs") X(SILU_SLOPE, "SSs") X(MISH_SLOPE, "SSs")

/* y = x, converted from the kernel's dtype to the dtype in the name. With equal dtypes this copies,
 * or fills y if x is a value. */
#define HT_CONVERT_KERNELS(X) \
    X(CONVERT_BOOL, "Cs") X(CONVERT_UINT8, "Cs") X(CONVERT_INT8, "Cs") X(CONVERT_INT16, "Cs") \
    X(CONVERT_INT32, "Cs") X(CONVERT_INT64, "Cs") X(CONVERT_FLOAT16, "Cs") \
    X(CONVERT_BFLOAT16, "Cs") X(CONVERT_FLOAT32, "Cs") X(CONVERT_FLOAT64, "Cs") \
    X(CONVERT_COMPLEX64, "Cs") X(CONVERT_COMPLEX128, "Cs")
/* clang-format on */

#define HT_ELEMENTWISE_KERNELS(X) \
    HT_CONVERT_KERNELS(X)         \
    HT_UNARY_KERNELS(X) HT_BINARY_KERNELS(X) HT_TERNARY_KERNELS(X) HT_SLOPE_KERNELS(X)

#define HT_KERNEL_ID(name, operands) HT_KERNEL_##name,
enum {
    HT_KERNEL_BEFORE_ELEMENTWISE = HT_KERNELS_ELEMENTWISE - 1,
    HT_ELEMENTWISE_KERNELS(HT_KERNEL_ID) HT_KERNELS_ELEMENTWISE_END
};
#undef HT_KERNEL_ID

/* The conversion to a dtype. */
#define HT_KERNEL_CONVERT(dtype) ((ht_kernel)(HT_KERNEL_CONVERT_BOOL + (int)(dtype)))

#endif

/* SPDX-License-Identifier: MIT
 *
 * Elementwise kernels, given an ht_loop. A row: name, and what the operands are, the output first:
 *     S, s   of the kernel's dtype        B, b   bool
 *     C      of the dtype in its name     capitals are written, the others read
 * The output may be an input, with its strides, and overlaps none in another way. A kernel with
 * parameters says which of ht_loop.param they are. */
#ifndef HT_KERNELS_ELEMENTWISE_H
#define HT_KERNELS_ELEMENTWISE_H

#include "ht/backend.h"

/* y = f(x) */
/* clang-format off */
#define HT_UNARY_KERNELS(X) \
    X(NEG, "Ss") X(EXP, "Ss") X(LOG, "Ss") X(SQRT, "Ss") X(TANH, "Ss") X(RELU, "Ss") X(CONJ, "Ss") \
    X(EXPM1, "Ss") X(LOG1P, "Ss")

/* y = f(a, b). RELU_GRAD(g, y) = y > 0 ? g : 0; TANH_GRAD(g, y) = g (1 - y^2). MINIMUM and MAXIMUM
 * are NaN where an operand is.
 * LEAKY_RELU(a, x) = x > 0 ? a : param[0] a.
 * AXPBY: param[0] a + param[1] b, rounded after each of the three operations. */
#define HT_BINARY_KERNELS(X) \
    X(ADD, "Sss") X(SUB, "Sss") X(MUL, "Sss") X(DIV, "Sss") \
    X(EQ, "Bss") X(NE, "Bss") X(LT, "Bss") X(LE, "Bss") X(GT, "Bss") X(GE, "Bss") \
    X(MINIMUM, "Sss") X(MAXIMUM, "Sss") X(RELU_GRAD, "Sss") X(TANH_GRAD, "Sss") \
    X(LEAKY_RELU, "Sss") X(AXPBY, "Sss")

/* y = f(a, b, c). CLIP(x, low, high) = min(max(x, low), high), NaN where an operand is. */
#define HT_TERNARY_KERNELS(X) X(CLIP, "Ssss")

/* y = x converted from the kernel's dtype; the same dtype copies, and fills where x is a value. */
#define HT_CONVERT_KERNELS(X) \
    X(CONVERT_BOOL, "Cs") X(CONVERT_UINT8, "Cs") X(CONVERT_INT8, "Cs") X(CONVERT_INT16, "Cs") \
    X(CONVERT_INT32, "Cs") X(CONVERT_INT64, "Cs") X(CONVERT_FLOAT16, "Cs") \
    X(CONVERT_BFLOAT16, "Cs") X(CONVERT_FLOAT32, "Cs") X(CONVERT_FLOAT64, "Cs") \
    X(CONVERT_COMPLEX64, "Cs") X(CONVERT_COMPLEX128, "Cs")
/* clang-format on */

#define HT_ELEMENTWISE_KERNELS(X) \
    HT_CONVERT_KERNELS(X) HT_UNARY_KERNELS(X) HT_BINARY_KERNELS(X) HT_TERNARY_KERNELS(X)

#define HT_KERNEL_ID(name, operands) HT_KERNEL_##name,
enum {
    HT_KERNEL_BEFORE_ELEMENTWISE = HT_KERNELS_ELEMENTWISE - 1,
    HT_ELEMENTWISE_KERNELS(HT_KERNEL_ID) HT_KERNELS_ELEMENTWISE_END
};
#undef HT_KERNEL_ID

/* The conversion to a dtype. */
#define HT_KERNEL_CONVERT(dtype) ((ht_kernel)(HT_KERNEL_CONVERT_BOOL + (int)(dtype)))

#endif

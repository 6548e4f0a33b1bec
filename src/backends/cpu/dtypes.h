/* SPDX-License-Identifier: MIT
 *
 * The properties of each dtype that kernels use. A template (*.inc.c) is plain C over the names at
 * the end of dtype_names.h. It is instantiated by defining HT_TEMPLATE and including
 * foreach_dtype.h. */
#ifndef HT_BACKENDS_CPU_DTYPES_H
#define HT_BACKENDS_CPU_DTYPES_H

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "backends/cpu/float_math.h"
#include "core/base/half.h"
#include "ht/backend.h"

#undef I

typedef float complex ht_complex64;
typedef double complex ht_complex128;

#include "backends/cpu/dtype_names.h"

/* A function of <math.h> for the type of x: float32 has its own, which become vector code. */
/* clang-format off */
#define HT_MATH(fn, x)                                 \
    _Generic((x), float: ht__##fn##_float, double: fn, \
             ht_complex64: c##fn##f, ht_complex128: c##fn)(x)

/* One that C has for real numbers alone: where HT_IS_FLOAT. */
#define HT_REAL_MATH(fn, x) _Generic((x), float: ht__##fn##_float, double: fn)(x)

/* The same by the system's library, element by element, where there is no vector code yet. */
#define HT_LIBM(fn, x)                             \
    _Generic((x), float: fn##f, double: fn,        \
             ht_complex64: c##fn##f, ht_complex128: c##fn)(x)
#define HT_MODULUS(x)           _Generic((x), ht_complex64: cabsf, ht_complex128: cabs)(x)
#define HT_REAL_LIBM(fn, x)     _Generic((x), float: fn##f, double: fn)(x)
#define HT_REAL_LIBM2(fn, x, y) _Generic((x), float: fn##f, double: fn)(x, y)

/* e^x of numbers up to 43; e^x that is never subnormal; 1 / (1 + e^-x); activations, which give the
 * derivative, too; the conjugate of a complex number, and its powers. */
#define HT_EXP_BELOW(x)         _Generic((x), float: ht__exp_below_float, double: exp)(x)
#define HT_EXP_WIDE(x)          _Generic((x), float: ht__exp_wide, double: exp)(x)
#define HT_SIGMOID(x)           _Generic((x), float: ht__sigmoid_float, double: ht__sigmoid)(x)
#define HT_GELU(x, slope)       _Generic((x), float: ht__gelu_float, double: ht__gelu)(x, slope)
#define HT_SILU(x, slope)       _Generic((x), float: ht__silu_float, double: ht__silu)(x, slope)
#define HT_MISH(x, slope)       _Generic((x), float: ht__mish_float, double: ht__mish)(x, slope)
#define HT_CONJ(x)              _Generic((x), ht_complex64: conjf, ht_complex128: conj)(x)
#define HT_COMPLEX_POW(x, y)    _Generic((x), ht_complex64: cpowf, ht_complex128: cpow)(x, y)
/* clang-format on */

/* The head of a kernel. */
#define HT_KERNEL(x) static int NAME(x)(void *stream, const ht_kernel_call *call)

/* Before a loop over elements: operands are equal or disjoint, never shifted against each other. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* not every dtype has the vector code */
#define HT_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#define HT_UNROLL    _Pragma("clang loop unroll(full)")
#else
#define HT_VECTORIZE _Pragma("GCC ivdep")
#define HT_UNROLL    _Pragma("GCC unroll 128") /* after that, for loops that are constant */
#endif

#endif

/* SPDX-License-Identifier: MIT
 *
 * For a kernel's source that includes templates of the CPU (backends/cpu/...inc.c): what these are
 * written in, for nvcc. Macros of one letter come with it, so headers of the toolkit and those with
 * C++ templates are included before. */
#ifndef HT_BACKENDS_CUDA_DTYPES_H
#define HT_BACKENDS_CUDA_DTYPES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "backends/cuda/complex_functions.h"
#include "backends/cuda/launch.h"
#include "backends/cpu/float_math.h"
#include "ht/backend.h"

#include "backends/cpu/dtype_names.h"

/* clang-format off */
#define HT_CUDA_REAL_LIST(X) \
    X(HT_BOOL) X(HT_UINT8) X(HT_INT8) X(HT_INT16) X(HT_INT32) X(HT_INT64) \
    HT_FLOATING_LIST(X)
#define HT_CUDA_LIST(X) HT_CUDA_REAL_LIST(X) X(HT_COMPLEX64) X(HT_COMPLEX128)
/* clang-format on */

/* float32 has functions of its own, which are the CPU's; the others are the toolkit's, within a few
 * units in the last place of the CPU's. */
#define HT_CUDA_MATH(fn)                    \
    HT_INLINE float ht_cuda_##fn(float x)   \
    {                                       \
        return ht__##fn##_float(x);         \
    }                                       \
    HT_INLINE double ht_cuda_##fn(double x) \
    {                                       \
        return fn(x);                       \
    }
#define HT_CUDA_COMPLEX_MATH(fn)                                                                \
    template <class real> HT_INLINE ht_cuda_complex<real> ht_cuda_##fn(ht_cuda_complex<real> x) \
    {                                                                                           \
        return fn(x);                                                                           \
    }
HT_CUDA_MATH(exp)
HT_CUDA_MATH(expm1)
HT_CUDA_MATH(log)
HT_CUDA_MATH(log1p)
HT_CUDA_MATH(sqrt)
HT_CUDA_MATH(tanh)
HT_CUDA_COMPLEX_MATH(exp)
HT_CUDA_COMPLEX_MATH(log)
HT_CUDA_COMPLEX_MATH(sqrt)
HT_CUDA_COMPLEX_MATH(tanh)
#undef HT_CUDA_MATH
#undef HT_CUDA_COMPLEX_MATH

HT_INLINE double ht_cuda_exp_wide(float x)
{
    return ht__exp_wide(x);
}

HT_INLINE double ht_cuda_exp_wide(double x)
{
    return exp(x);
}

HT_INLINE float ht_cuda_gelu(float x)
{
    return ht__gelu_float(x);
}

HT_INLINE double ht_cuda_gelu(double x)
{
    return ht__gelu(x);
}

HT_INLINE float ht_cuda_gelu_slope(float x)
{
    return ht__gelu_slope_float(x);
}

HT_INLINE double ht_cuda_gelu_slope(double x)
{
    return ht__gelu_slope(x);
}

HT_INLINE float ht_cuda_times_logistic(float number, float x)
{
    return ht__times_logistic_float(number, x);
}

HT_INLINE double ht_cuda_times_logistic(double number, double x)
{
    return ht__times_logistic(number, x);
}

HT_INLINE float ht_cuda_silu_grad(float g, float x)
{
    return ht__silu_grad_float(g, x);
}

HT_INLINE double ht_cuda_silu_grad(double g, double x)
{
    return ht__silu_grad(g, x);
}

/* Functions of <math.h> are overloaded in C++. */
#define HT_MATH(fn, x)               ht_cuda_##fn(x)
#define HT_REAL_MATH(fn, x)          ht_cuda_##fn(x)
#define HT_LIBM(fn, x)               fn(x)
#define HT_REAL_LIBM(fn, x)          fn(x)
#define HT_REAL_LIBM2(fn, x, y)      fn(x, y)
#define HT_EXP_WIDE(x)               ht_cuda_exp_wide(x)
#define HT_GELU(x)                   ht_cuda_gelu(x)
#define HT_GELU_SLOPE(x)             ht_cuda_gelu_slope(x)
#define HT_SILU_GRAD(g, x)           ht_cuda_silu_grad(g, x)
#define HT_TIMES_LOGISTIC(number, x) ht_cuda_times_logistic(number, x)
#define HT_MODULUS(x)                ht_cuda_modulus(x)
#define HT_CONJ(x)                   ht_cuda_conj(x)
#define HT_COMPLEX_POW(x, y)         ht_cuda_power(x, y)

#endif

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

/* float32 has the CPU's functions; other dtypes have the toolkit's, within a few units in the last
 * place of the CPU's. */
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

HT_INLINE float ht_cuda_sigmoid(float x)
{
    return ht__sigmoid_float(x);
}

HT_INLINE double ht_cuda_sigmoid(double x)
{
    return ht__sigmoid(x);
}

#define HT_CUDA_ACTIVATION(fn)                             \
    HT_INLINE float ht_cuda_##fn(float x, float *slope)    \
    {                                                      \
        return ht__##fn##_float(x, slope);                 \
    }                                                      \
    HT_INLINE double ht_cuda_##fn(double x, double *slope) \
    {                                                      \
        return ht__##fn(x, slope);                         \
    }
HT_CUDA_ACTIVATION(gelu)
HT_CUDA_ACTIVATION(silu)
HT_CUDA_ACTIVATION(mish)
#undef HT_CUDA_ACTIVATION

/* Functions of <math.h> are overloaded in C++. */
#define HT_MATH(fn, x)          ht_cuda_##fn(x)
#define HT_REAL_MATH(fn, x)     ht_cuda_##fn(x)
#define HT_LIBM(fn, x)          fn(x)
#define HT_REAL_LIBM(fn, x)     fn(x)
#define HT_REAL_LIBM2(fn, x, y) fn(x, y)
#define HT_EXP_WIDE(x)          ht_cuda_exp_wide(x)
#define HT_SIGMOID(x)           ht_cuda_sigmoid(x)
#define HT_GELU(x, slope)       ht_cuda_gelu(x, slope)
#define HT_SILU(x, slope)       ht_cuda_silu(x, slope)
#define HT_MISH(x, slope)       ht_cuda_mish(x, slope)
#define HT_MODULUS(x)           ht_cuda_modulus(x)
#define HT_CONJ(x)              ht_cuda_conj(x)
#define HT_COMPLEX_POW(x, y)    ht_cuda_power(x, y)

#endif

/* SPDX-License-Identifier: MIT
 *
 * Matrix products of the emulated runtime, as cuBLAS has them. */
#include "core/base/half.h"
#include "emulated_runtime.h"

int ht_cuda_blas_new(void **blas, void *handle, char *)
{
    ALONE;
    *blas = NULL;
    if (emulated_is("EMULATED_BLAS", "no"))
        return 0;
    if (!emulated_take(static_cast<stream *>(handle)->device,
                       (size_t)emulated_setting("EMULATED_HANDLE", 0)))
        return NO_MEMORY;
    *blas = handle;
    return 0;
}

void ht_cuda_blas_free(void *)
{
}

double emulated_element(ht_dtype dtype, const void *array, int64_t i)
{
    switch (dtype) {
    case HT_FLOAT16:
        return ht__float16_to_float(static_cast<const uint16_t *>(array)[i]);
    case HT_BFLOAT16:
        return ht__bfloat16_to_float(static_cast<const uint16_t *>(array)[i]);
    case HT_FLOAT32:
        return static_cast<const float *>(array)[i];
    default:
        return static_cast<const double *>(array)[i];
    }
}

void emulated_set_element(ht_dtype dtype, void *array, int64_t i, double value)
{
    switch (dtype) {
    case HT_FLOAT16:
        static_cast<uint16_t *>(array)[i] = ht__float_to_float16((float)value);
        break;
    case HT_BFLOAT16:
        static_cast<uint16_t *>(array)[i] = ht__float_to_bfloat16((float)value);
        break;
    case HT_FLOAT32:
        static_cast<float *>(array)[i] = (float)value;
        break;
    default:
        static_cast<double *>(array)[i] = value;
    }
}

/* c (m, n), column-major; c is not read where beta is 0. */
static void multiply(const ht_cuda_product &p)
{
    for (int64_t i = 0; i < p.batch * p.n * p.m; i++) {
        const int64_t row = i % p.m, column = i / p.m % p.n, batch = i / p.m / p.n;
        const int64_t at = batch * p.c_step + column * p.ldc + row;
        double sum = 0;

        for (int64_t k = 0; k < p.k; k++)
            sum += emulated_element(p.dtype, p.a,
                                    batch * p.a_step +
                                        (p.trans_a ? row * p.lda + k : k * p.lda + row)) *
                   emulated_element(p.dtype, p.b,
                                    batch * p.b_step +
                                        (p.trans_b ? k * p.ldb + column : column * p.ldb + k));
        emulated_set_element(p.dtype, p.c, at,
                             p.alpha * sum +
                                 (p.beta != 0 ? p.beta * emulated_element(p.dtype, p.c, at) : 0));
    }
}

int ht_cuda_blas_multiply(void *handle, const ht_cuda_product *given)
{
    ALONE;
    const ht_cuda_product p = *given;

    if (static_cast<stream *>(handle)->device != emulated_current)
        return BAD_STREAM;
    emulated_give(static_cast<stream *>(handle), [=] { multiply(p); });
    return emulated_error_now();
}

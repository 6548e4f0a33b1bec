/* SPDX-License-Identifier: MIT
 *
 * Matrix products: CBLAS for its four types, half precision through float32. */
#include <cblas.h>
#include <string.h>

#include "core/base/base.h"
#include "config.h"
#include "backends/cpu/cpu.h"
#include "backends/cpu/nn/kernels.h"
#include "core/base/half.h"
#include "ht/kernels/elementwise.h"

static CBLAS_TRANSPOSE flag(bool transposed)
{
    return transposed ? CblasTrans : CblasNoTrans;
}

/* BLAS counts in int: larger matrices are refused rather than wrapped. */
static bool fits_int(const ht_gemm_call *g)
{
    const int64_t sizes[7] = {g->m, g->n, g->k, g->lda, g->ldb, g->ldc, 2 * g->n};
    const int count = ht_dtype_is_complex(g->call.dtype) ? 7 : 6; /* a bias is added as floats */

    for (int i = 0; i < count; i++) {
        if (sizes[i] > INT32_MAX)
            return false;
    }
    return true;
}

static void multiply(const ht_gemm_call *g, double beta)
{
    const int m = (int)g->m, n = (int)g->n, k = (int)g->k;
    const int lda = (int)g->lda, ldb = (int)g->ldb, ldc = (int)g->ldc;
    const CBLAS_TRANSPOSE ta = flag(g->trans_a), tb = flag(g->trans_b);
    const float alpha_c[2] = {(float)g->alpha, 0}, beta_c[2] = {(float)beta, 0};
    const double alpha_z[2] = {g->alpha, 0}, beta_z[2] = {beta, 0};

    switch (g->call.dtype) {
    case HT_FLOAT32:
        cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, (float)g->alpha, g->a.data, lda, g->b.data, ldb,
                    (float)beta, g->c.data, ldc);
        break;
    case HT_FLOAT64:
        cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, g->alpha, g->a.data, lda, g->b.data, ldb, beta,
                    g->c.data, ldc);
        break;
    case HT_COMPLEX64:
        cblas_cgemm(CblasRowMajor, ta, tb, m, n, k, alpha_c, g->a.data, lda, g->b.data, ldb, beta_c,
                    g->c.data, ldc);
        break;
    default:
        cblas_zgemm(CblasRowMajor, ta, tb, m, n, k, alpha_z, g->a.data, lda, g->b.data, ldb, beta_z,
                    g->c.data, ldc);
    }
}

/* Every row of c gets the bias: before the product when beta is 0, since c may hold anything then.
 */
static void put_bias(const ht_gemm_call *g, bool add)
{
    const size_t size = ht_dtype_size(g->call.dtype);
    const int64_t floats = g->call.dtype == HT_COMPLEX64 || g->call.dtype == HT_COMPLEX128
                               ? 2 * g->n
                               : g->n;
    const bool is_double = g->call.dtype == HT_FLOAT64 || g->call.dtype == HT_COMPLEX128;

    for (int64_t i = 0; i < g->m; i++) {
        char *row = (char *)g->c.data + (size_t)(i * g->ldc) * size;

        if (!add)
            memcpy(row, g->bias.data, (size_t)g->n * size);
        else if (is_double)
            cblas_daxpy((int)floats, 1, g->bias.data, 1, (double *)row, 1);
        else
            cblas_saxpy((int)floats, 1, g->bias.data, 1, (float *)row, 1);
    }
}

static float load_half(ht_dtype dtype, const uint16_t *from)
{
    return dtype == HT_FLOAT16 ? ht__float16_to_float(*from) : ht__bfloat16_to_float(*from);
}

static uint16_t store_half(ht_dtype dtype, float value)
{
    return dtype == HT_FLOAT16 ? ht__float_to_float16(value) : ht__float_to_bfloat16(value);
}

static float *widen(ht_dtype dtype, const void *from, int64_t rows, int64_t columns,
                    int64_t leading)
{
    float *wide = ht__alloc((size_t)(rows * columns) * sizeof *wide);
    const uint16_t *half = from;

    for (int64_t i = 0; half != NULL && i < rows; i++) {
        for (int64_t j = 0; j < columns; j++)
            wide[i * columns + j] = load_half(dtype, half + i * leading + j);
    }
    return wide;
}

static int gemm_half(const ht_gemm_call *g)
{
    ht_gemm_call wide = *g;
    float *a = widen(g->call.dtype, g->a.data, g->trans_a ? g->k : g->m, g->trans_a ? g->m : g->k,
                     g->lda);
    float *b = widen(g->call.dtype, g->b.data, g->trans_b ? g->n : g->k, g->trans_b ? g->k : g->n,
                     g->ldb);
    float *c = widen(g->call.dtype, g->beta != 0 ? g->c.data : NULL, g->m, g->n, g->ldc);
    float *bias = g->bias.data != NULL ? widen(g->call.dtype, g->bias.data, 1, g->n, g->n) : NULL;
    int failed;

    wide.call.dtype = HT_FLOAT32;
    wide.a.data = a;
    wide.b.data = b;
    wide.c.data = c;
    wide.bias.data = bias;
    wide.lda = g->trans_a ? g->m : g->k;
    wide.ldb = g->trans_b ? g->k : g->n;
    wide.ldc = g->n;
    failed = ht__cpu_gemm(&wide);
    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < g->n; j++)
            ((uint16_t *)g->c.data)[i * g->ldc + j] = store_half(g->call.dtype, c[i * g->n + j]);
    }
    ht__free(a);
    ht__free(b);
    ht__free(c);
    ht__free(bias);
    return failed;
}

int ht__cpu_gemm(const ht_gemm_call *g)
{
    if (!fits_int(g)) {
        ht__error_set(HT_ERR_UNSUPPORTED,
                      "a matrix product of %lld x %lld x %lld is too large for BLAS",
                      (long long)g->m, (long long)g->k, (long long)g->n);
        return 1;
    }
    if (g->call.dtype == HT_FLOAT16 || g->call.dtype == HT_BFLOAT16)
        return gemm_half(g);
    if (g->call.dtype < HT_FLOAT32) {
        ht__error_set(HT_ERR_DTYPE, "matrix products are not defined for %s",
                      ht_dtype_name(g->call.dtype));
        return 1;
    }
    if (g->bias.data != NULL && g->beta == 0)
        put_bias(g, false);
    multiply(g, g->bias.data != NULL && g->beta == 0 ? 1 : g->beta);
    if (g->bias.data != NULL && g->beta != 0)
        put_bias(g, true);
    return 0;
}

static void *step(const void *matrix, int64_t i, int64_t elements, size_t size)
{
    return (char *)(uintptr_t)matrix + (size_t)(i * elements) * size;
}

static void relu(const ht_gemm_call *g)
{
    const ht_loop loop = {
        .call = {.bytes = sizeof loop, .kernel = HT_KERNEL_RELU, .dtype = g->call.dtype},
        .operand = {g->c, g->c},
        .ndim = 2,
        .shape = {g->m, g->n},
        .stride = {{g->ldc, 1}, {g->ldc, 1}}};

    ht__cpu_kernel(HT_KERNEL_RELU, g->call.dtype)(NULL, &loop.call);
}

static int gemm(void *stream, const ht_kernel_call *call)
{
    const ht_gemm_call *all = (const ht_gemm_call *)call;
    const size_t size = ht_dtype_size(call->dtype);
    ht_gemm_call one = *all;

    (void)stream;
    if (all->compute != (size < sizeof(float) ? HT_FLOAT32 : call->dtype))
        return HT_KERNEL_REFUSED;
    if (all->epilogue != HT_EPILOGUE_NONE &&
        (all->epilogue != HT_EPILOGUE_RELU || !ht_dtype_is_floating(call->dtype)))
        return HT_KERNEL_REFUSED;
    for (int64_t i = 0; i < all->batch; i++) {
        one.a.data = step(all->a.data, i, all->a_step, size);
        one.b.data = step(all->b.data, i, all->b_step, size);
        one.c.data = step(all->c.data, i, all->c_step, size);
        if (ht__cpu_gemm(&one) != 0)
            return 1;
        if (all->epilogue == HT_EPILOGUE_RELU)
            relu(&one);
    }
    return 0;
}

void ht__cpu_fill_gemm(ht_kernel_table *kernels)
{
    for (int dtype = HT_FLOAT16; dtype <= HT_COMPLEX128; dtype++)
        kernels->at[HT_KERNEL_GEMM][dtype] = gemm;
}

/* SPDX-License-Identifier: MIT
 *
 * Matrix products by cuBLAS, which is loaded when a device is opened: a machine without it has the
 * module all the same. */
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/library/handle.h"
#include "backends/cuda/runtime.h"

#if __has_include(<cublas_v2.h>)
#include <cublas_v2.h>

#include "backends/cuda/library/library.h"

typedef struct blas {
    cublasHandle_t handle;
    cublasStatus_t (*create)(cublasHandle_t *handle), (*destroy)(cublasHandle_t handle);
    cublasStatus_t (*set_stream)(cublasHandle_t handle, cudaStream_t stream);
    cublasStatus_t (*set_mode)(cublasHandle_t handle, cublasMath_t mode);
    cublasStatus_t (*multiply)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int64_t,
                               int64_t, int64_t, const void *, const void *, cudaDataType, int64_t,
                               long long int, const void *, cudaDataType, int64_t, long long int,
                               const void *, void *, cudaDataType, int64_t, long long int, int64_t,
                               cublasComputeType_t, cublasGemmAlgo_t);
} blas;

/* An error of cuBLAS as one of the runtime. */
static int error_of(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return cudaSuccess;
    case CUBLAS_STATUS_ALLOC_FAILED:
        return cudaErrorMemoryAllocation;
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return cudaErrorNotSupported;
    case CUBLAS_STATUS_INVALID_VALUE:
        return cudaErrorInvalidValue;
    default:
        return cudaErrorUnknown;
    }
}

static const char *const files[] = {"libcublas.so." HT_CUDA_TEXT_OF(CUBLAS_VER_MAJOR), NULL};

static const ht_cuda_symbol symbols[] = {
    {"cublasCreate_v2", offsetof(blas, create)},
    {"cublasDestroy_v2", offsetof(blas, destroy)},
    {"cublasSetStream_v2", offsetof(blas, set_stream)},
    {"cublasSetMathMode", offsetof(blas, set_mode)},
    {"cublasGemmStridedBatchedEx_64", offsetof(blas, multiply)},
    {NULL, 0}};

int ht_cuda_blas_new(void **made, void *stream, char *missing)
{
    blas *b = calloc(1, sizeof *b);
    cublasStatus_t status;

    *made = NULL;
    if (b == NULL)
        return cudaErrorMemoryAllocation;
    if (!ht_cuda_library_load(files, symbols, b, missing, HT_CUDA_MISSING_ROOM)) {
        free(b);
        return 0;
    }
    status = b->create(&b->handle);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = b->set_stream(b->handle, stream);
    if (status == CUBLAS_STATUS_SUCCESS) /* parts of a sum stay in float32, too */
        status = b->set_mode(b->handle, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
    if (status != CUBLAS_STATUS_SUCCESS) {
        snprintf(missing, HT_CUDA_MISSING_ROOM, "cublasCreate: status %d", (int)status);
        ht_cuda_blas_free(b);
        return error_of(status);
    }
    *made = b;
    return 0;
}

void ht_cuda_blas_free(void *made)
{
    blas *b = made;

    if (b != NULL && b->handle != NULL)
        b->destroy(b->handle);
    free(b);
}

static cudaDataType type_of(ht_dtype dtype)
{
    switch (dtype) {
    case HT_FLOAT16:
        return CUDA_R_16F;
    case HT_BFLOAT16:
        return CUDA_R_16BF;
    case HT_FLOAT32:
        return CUDA_R_32F;
    default:
        return CUDA_R_64F;
    }
}

int ht_cuda_blas_multiply(void *made, const ht_cuda_product *p)
{
    const blas *b = made;
    const cudaDataType type = type_of(p->dtype);
    const float alpha = (float)p->alpha, beta = (float)p->beta;
    const bool wide = p->dtype == HT_FLOAT64;

    return error_of(b->multiply(
        b->handle, p->trans_a ? CUBLAS_OP_T : CUBLAS_OP_N, p->trans_b ? CUBLAS_OP_T : CUBLAS_OP_N,
        p->m, p->n, p->k, wide ? (const void *)&p->alpha : &alpha, p->a, type, p->lda, p->a_step,
        p->b, type, p->ldb, p->b_step, wide ? (const void *)&p->beta : &beta, p->c, type, p->ldc,
        p->c_step, p->batch, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}
#else
int ht_cuda_blas_new(void **made, void *stream, char *missing)
{
    (void)stream;
    (void)missing;
    *made = NULL;
    return 0;
}

void ht_cuda_blas_free(void *made)
{
    (void)made;
}

int ht_cuda_blas_multiply(void *made, const ht_cuda_product *product)
{
    (void)made;
    (void)product;
    return 0;
}
#endif

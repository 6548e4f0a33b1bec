/* SPDX-License-Identifier: MIT
 *
 * A matrix product by cuBLAS, without libht. */
#include "gpu.h"

#if __has_include(<cublas_v2.h>)
#include <cublas_v2.h>

#include "backends/cuda/library/library.h"

static struct product {
    cublasHandle_t handle; /* its work is in the default stream */
    cublasStatus_t status;
    cudaDataType type;
    int n;
    const void *a, *b;
    void *c;
} p;

static struct functions {
    cublasStatus_t (*create)(cublasHandle_t *);
    cublasStatus_t (*get)(int, int, const void *, int, void *, int);
    cublasStatus_t (*multiply)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                               const void *, const void *, cudaDataType, int, const void *,
                               cudaDataType, int, const void *, void *, cudaDataType, int,
                               cublasComputeType_t, cublasGemmAlgo_t);
} cublas;

static bool load(void)
{
    static const char *const files[] = {"libcublas.so." HT_CUDA_TEXT_OF(CUBLAS_VER_MAJOR), NULL};
    static const ht_cuda_symbol symbols[] = {
        {"cublasCreate_v2", offsetof(struct functions, create)},
        {"cublasGetVector", offsetof(struct functions, get)},
        {"cublasGemmEx", offsetof(struct functions, multiply)},
        {NULL, 0}};
    char missing[256];

    if (!ht_cuda_library_load(files, symbols, &cublas, missing, sizeof missing)) {
        fprintf(stderr, "# %s\n", missing);
        return false;
    }
    return cublas.create(&p.handle) == CUBLAS_STATUS_SUCCESS;
}

/* Rows are cuBLAS's columns: it computes the transpose, b^T a^T. */
static void run(void)
{
    const float one = 1, zero = 0;

    p.status = cublas.multiply(p.handle, CUBLAS_OP_N, CUBLAS_OP_N, p.n, p.n, p.n, &one, p.b, p.type,
                               p.n, p.a, p.type, p.n, &zero, p.c, p.type, p.n, CUBLAS_COMPUTE_32F,
                               CUBLAS_GEMM_DEFAULT);
}

/* A copy in the default stream ends after all that is in it. */
static void finish(void)
{
    float element;

    cublas.get(1, 4, p.c, 1, &element, 1);
}

double cublas_seconds(const ht_tensor *a, const ht_tensor *b, const ht_tensor *c)
{
    if (p.handle == NULL && !load())
        return 0;
    p.type = ht_tensor_dtype(a) == HT_FLOAT32 ? CUDA_R_32F : CUDA_R_16BF;
    p.n = (int)ht_tensor_shape(a)[0];
    p.a = ht__body_data(a->body);
    p.b = ht__body_data(b->body);
    p.c = ht__body_data(c->body);
    const double seconds = best_of(run, finish);

    return p.status == CUBLAS_STATUS_SUCCESS ? seconds : 0;
}
#else
double cublas_seconds(const ht_tensor *a, const ht_tensor *b, const ht_tensor *c)
{
    (void)a;
    (void)b;
    (void)c;
    return 0;
}
#endif

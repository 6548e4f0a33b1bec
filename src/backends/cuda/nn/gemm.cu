/* SPDX-License-Identifier: MIT
 *
 * Matrix products: cuBLAS for floating dtypes. Integers, complex numbers, and machines without
 * cuBLAS have a plain kernel, a thread for each element of c. */
#include "backends/cuda/axes.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/library/handle.h"
#include "backends/cuda/nn/product.h"
#include "backends/cuda/scratch.h"

#include "backends/cuda/dtypes.h"

/* cuBLAS is column-major: the rows of c are the columns of its transpose, op(b)^T op(a)^T. */
static ht_cuda_product transposed(const ht_gemm_call *g)
{
    ht_cuda_product p = {};

    p.dtype = g->call.dtype;
    p.trans_a = g->trans_b;
    p.trans_b = g->trans_a;
    p.m = g->n;
    p.n = g->m;
    p.k = g->k;
    p.a = g->b.data;
    p.b = g->a.data;
    p.c = g->c.data;
    p.lda = g->ldb > 0 ? g->ldb : 1;
    p.ldb = g->lda > 0 ? g->lda : 1;
    p.ldc = g->ldc;
    p.batch = g->batch;
    p.a_step = g->b_step;
    p.b_step = g->a_step;
    p.c_step = g->c_step;
    p.alpha = g->alpha;
    p.beta = g->beta;
    return p;
}

/* cuBLAS may need memory for a product, and begins with that. */
static int multiply_by_blas(const ht_cuda_device *device, void *blas, const ht_cuda_product *p,
                            const char *what)
{
    int error = ht_cuda_blas_multiply(blas, p);

    if (ht_cuda_try_again(error, device->stream))
        error = ht_cuda_blas_multiply(blas, p);
    if (error == 0)
        ht_cuda_set_work(true);
    return ht_cuda_check(error, device, what);
}

/* A complex x keeps its infinities: the product with `factor` and an imaginary part of 0 would not. */
template <class number> static __forceinline__ __device__ number scaled(number x, double factor)
{
    return x * (number)factor;
}

template <class real>
static __forceinline__ __device__ ht_cuda_complex<real> scaled(ht_cuda_complex<real> x,
                                                               double factor)
{
    return x * (real)factor;
}

/* The batch, the row and the column of an element of c. */
struct c_lengths {
    ht_cuda_length n, m;
};

static c_lengths lengths_of(const ht_gemm_call *g)
{
    const int64_t count = g->batch * g->m * g->n;

    return {ht_cuda_length_of(g->n, count), ht_cuda_length_of(g->m, count)};
}

static __forceinline__ __device__ int64_t find_element(const c_lengths &lengths, int64_t i,
                                                       int64_t *row, int64_t *column)
{
    return ht_cuda_divide(ht_cuda_divide(i, lengths.n, column), lengths.m, row);
}

#define HT_TEMPLATE "backends/cuda/nn/gemm.inc.cu"
#include "backends/cpu/foreach_dtype.h"

int ht_cuda_multiply(const ht_cuda_device *device, const ht_gemm_call *g)
{
    switch (g->call.dtype) {
    case HT_FLOAT16:
        return multiply_HT_FLOAT16(device, g);
    case HT_BFLOAT16:
        return multiply_HT_BFLOAT16(device, g);
    case HT_FLOAT32:
        return multiply_HT_FLOAT32(device, g);
    default:
        return multiply_HT_FLOAT64(device, g);
    }
}

#define ADD(dtype) ht_cuda_add(backend, "GEMM", dtype, gemm_##dtype);

void ht_cuda_add_gemm(ht_backend *backend)
{
    ADD(HT_UINT8)
    ADD(HT_INT8)
    ADD(HT_INT16)
    ADD(HT_INT32)
    ADD(HT_INT64)
    HT_FLOATING_LIST(ADD)
    ADD(HT_COMPLEX64)
    ADD(HT_COMPLEX128)
}

/* SPDX-License-Identifier: MIT
 *
 * The additions of a link, and the factor of its averages. Memory limits their speed. */
#include "backends/cuda/link/link.h"
#include "backends/cuda/scratch.h"

/* By value, in the launch. */
struct additions {
    ht_cuda_addition of[HT_CUDA_ADDITIONS];
};

/* The blocks are dealt to the additions. */
template <class real> static __global__ void add_kernel(additions all, unsigned count, int64_t n)
{
    real *to = (real *)all.of[blockIdx.x % count].to;
    const real *from = (const real *)all.of[blockIdx.x % count].from;
    const int64_t step = (int64_t)(gridDim.x / count) * blockDim.x;

    HT_CUDA_ROLLED
    for (int64_t i = (int64_t)(blockIdx.x / count) * blockDim.x + threadIdx.x; i < n; i += step)
        to[i] += from[i];
}

template <class real>
static __global__ void scale_kernel(int64_t n, real *y, const real *x, real scale)
{
    HT_CUDA_EACH(i, n)
    y[i] = scale == 1 ? x[i] : x[i] * scale;
}

int ht_cuda_link_add(const ht_cuda_device *device, void *stream, ht_dtype dtype,
                     const ht_cuda_addition *given, int count, int64_t n)
{
    const unsigned blocks = ht_cuda_blocks(device, n) * (unsigned)count;
    additions all = {};

    for (int i = 0; i < count; i++)
        all.of[i] = given[i];
    if (dtype == HT_FLOAT32)
        HT_CUDA_LAUNCH(add_kernel<float>, blocks, HT_CUDA_THREADS, stream, all, (unsigned)count, n);
    else
        HT_CUDA_LAUNCH(add_kernel<double>, blocks, HT_CUDA_THREADS, stream, all, (unsigned)count,
                       n);
    return ht_cuda_launched();
}

int ht_cuda_link_scale(const ht_cuda_device *device, void *stream, ht_dtype dtype, void *y,
                       const void *x, int64_t n, double scale)
{
    const unsigned blocks = ht_cuda_blocks(device, n);

    if (x == y && scale == 1)
        return 0;
    if (dtype == HT_FLOAT32)
        HT_CUDA_LAUNCH(scale_kernel<float>, blocks, HT_CUDA_THREADS, stream, n, (float *)y,
                       (const float *)x, (float)scale);
    else
        HT_CUDA_LAUNCH(scale_kernel<double>, blocks, HT_CUDA_THREADS, stream, n, (double *)y,
                       (const double *)x, scale);
    return ht_cuda_launched();
}

/* SPDX-License-Identifier: MIT
 *
 * Mean and squares about it, for folds. */
#ifndef HT_BACKENDS_CUDA_REDUCE_MOMENTS_H
#define HT_BACKENDS_CUDA_REDUCE_MOMENTS_H

#include <math.h>

/* n elements, their mean, and the sum of (x - mean)^2. While a thread adds elements, `mean` is its
 * first element, and `sum` and `squares` are about that. */
struct ht_cuda_moments {
    double n, mean, sum, squares;
};

static __forceinline__ __device__ void ht_cuda_moments_step(ht_cuda_moments &a, double x)
{
    if (a.n == 0)
        a.mean = isfinite(x) ? x : 0; /* infinite distances are for infinite elements */
    a.n += 1;
    a.sum += x - a.mean;
    a.squares += (x - a.mean) * (x - a.mean);
}

static __forceinline__ __device__ void ht_cuda_moments_finish(ht_cuda_moments &a)
{
    if (a.n == 0)
        return;
    const double about = a.squares - a.sum * a.sum / a.n;

    if (!(isinf(a.squares) && isfinite(a.sum))) /* squares too large stay infinite */
        a.squares = about < 0 ? 0 : about;
    a.mean += a.sum / a.n;
    a.sum = 0;
}

static __forceinline__ __device__ void ht_cuda_moments_join(ht_cuda_moments &a,
                                                            const ht_cuda_moments &b)
{
    const double n = a.n + b.n, between = b.mean - a.mean;

    if (b.n == 0)
        return;
    if (a.n == 0) {
        a = b;
        return;
    }
    a.mean += between * (b.n / n);
    a.squares += b.squares + between * between * (a.n * b.n / n);
    a.n = n;
}

#endif

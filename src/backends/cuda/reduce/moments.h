/* SPDX-License-Identifier: MIT
 *
 * Mean and squares about it, for folds. */
#ifndef HT_BACKENDS_CUDA_REDUCE_MOMENTS_H
#define HT_BACKENDS_CUDA_REDUCE_MOMENTS_H

#include <math.h>

/* n elements: the sum of x - shift, and the sum of (x - mean)^2; while a thread adds elements, that
 * of (x - shift)^2. All threads of an output have one shift, its first element, so that a large mean
 * costs no digits. */
struct ht_cuda_moments {
    double n, shift, sum, squares;
};

static __forceinline__ __device__ ht_cuda_moments ht_cuda_moments_start(double first)
{
    return {0, fabs(first) < 0x1p1022 ? first : 0, 0,
            0}; /* infinite distances: infinite elements */
}

static __forceinline__ __device__ void ht_cuda_moments_step(ht_cuda_moments &a, double x)
{
    const double distance = x - a.shift;

    a.n += 1;
    a.sum += distance;
    a.squares += distance * distance;
}

static __forceinline__ __device__ void ht_cuda_moments_finish(ht_cuda_moments &a)
{
    const double about = a.squares - a.sum * a.sum / a.n;

    if (a.n > 0 && !(isinf(a.squares) && isfinite(a.sum))) /* too large squares stay infinite */
        a.squares = about < 0 ? 0 : about;
}

static __forceinline__ __device__ void ht_cuda_moments_join(ht_cuda_moments &a,
                                                            const ht_cuda_moments &b)
{
    const double n = a.n + b.n, between = b.sum / b.n - a.sum / a.n;

    if (b.n == 0)
        return;
    if (a.n > 0)
        a.squares += between * between * (a.n * b.n / n);
    a.squares += b.squares;
    a.sum += b.sum;
    a.n = n;
}

/* Without elements, 0. */
static __forceinline__ __device__ double ht_cuda_moments_mean(const ht_cuda_moments &a)
{
    return a.n > 0 ? a.shift + a.sum / a.n : 0;
}

/* For folds of moments. */
struct ht_cuda_moments_fold {
    typedef ht_cuda_moments acc;
    static __forceinline__ __device__ void finish(acc &a)
    {
        ht_cuda_moments_finish(a);
    }
    static __forceinline__ __device__ void join(acc &a, const acc &b, int)
    {
        ht_cuda_moments_join(a, b);
    }
};

#endif

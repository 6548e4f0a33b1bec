/* SPDX-License-Identifier: MIT
 *
 * Weighted sums along an axis. The backward pass gathers: taps are sorted by their places in x, and
 * each element of x adds its own, in the CPU's order. */
#include "backends/cuda/axes.h"
#include "backends/cuda/index/sorted.h"
#include "backends/cuda/kernels.h"
#include "ht/kernels/index.h"

#include "backends/cuda/dtypes.h"

/* The divisors of the number of an element, and of that of a tap; `middle` is of y, or of x. */
struct resample_lengths {
    ht_cuda_length inner, middle, out;
};

static resample_lengths lengths_of(const ht_resample_call *r, int64_t middle)
{
    const int64_t count = r->outer * middle * r->inner;

    return {ht_cuda_length_of(r->inner, count), ht_cuda_length_of(middle, count),
            ht_cuda_length_of(r->out, r->taps * r->out)};
}

static __global__ void number_taps(int64_t taps, const int64_t *at, uint32_t *places,
                                   uint32_t *numbers)
{
    HT_CUDA_EACH(tap, taps)
    {
        places[tap] = (uint32_t)at[tap];
        numbers[tap] = (uint32_t)tap;
    }
}

/* The first of the sorted places that is not below `place`, or `count`. */
static __forceinline__ __device__ int64_t find_place(const uint32_t *places, int64_t count,
                                                     int64_t place)
{
    int64_t low = 0, high = count;

    HT_CUDA_ROLLED
    while (low < high) {
        const int64_t middle = (low + high) / 2;

        if (places[middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#define HT_TEMPLATE "backends/cuda/index/resample.inc.cu"
#include "backends/cuda/foreach_floating.h"

#define ADD(dtype) add_resample_##dtype(backend);

void ht_cuda_add_resample(ht_backend *backend)
{
    HT_FLOATING_LIST(ADD)
}

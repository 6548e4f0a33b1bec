/* SPDX-License-Identifier: MIT
 *
 * From the number of an element to its offset, in a kernel: divisions by the lengths of axes as
 * products. */
#ifndef HT_BACKENDS_CUDA_AXES_H
#define HT_BACKENDS_CUDA_AXES_H

#include <stdint.h>

#include "backends/cuda/launch.h"
#include "ht/types.h"

/* n / by for n < 2^31 is (high word of n magic + n) >> shift. */
struct ht_cuda_divisor {
    uint32_t by, magic, shift;
};

static inline ht_cuda_divisor ht_cuda_divisor_of(uint32_t by)
{
    uint32_t shift = 0;

    while (((uint64_t)1 << shift) < by)
        shift++;
    return {by, (uint32_t)((((uint64_t)1 << 32) * (((uint64_t)1 << shift) - by)) / by + 1), shift};
}

static __forceinline__ __device__ uint32_t ht_cuda_quotient(uint32_t n, const ht_cuda_divisor &d)
{
    return (__umulhi(n, d.magic) + n) >> d.shift;
}

/* The divisor of numbers from 0 to some `count` - 1: with 32 bits where they are below 2^31. */
struct ht_cuda_length {
    int64_t by;
    bool is_narrow;
    ht_cuda_divisor narrow;
};

/* by >= 1, and by <= count. */
static inline ht_cuda_length ht_cuda_length_of(int64_t by, int64_t count)
{
    if (count >= INT64_C(1) << 31)
        return {by, false, {}};
    return {by, true, ht_cuda_divisor_of((uint32_t)by)};
}

static __forceinline__ __device__ int64_t ht_cuda_quotient(int64_t i, const ht_cuda_length &length)
{
    return length.is_narrow ? ht_cuda_quotient((uint32_t)i, length.narrow) : i / length.by;
}

/* The quotient of i, and what rests: of 64 bits by an ht_cuda_length, of 32 by an ht_cuda_divisor. */
template <class number, class divisor>
static __forceinline__ __device__ number ht_cuda_divide(number i, const divisor &length,
                                                        number *rest)
{
    const number quotient = ht_cuda_quotient(i, length);

    *rest = i - quotient * length.by;
    return quotient;
}

/* Up to HT_MAX_NDIM axes, the last one innermost; ndim >= 1. */
struct ht_cuda_axes {
    int ndim;
    int64_t count; /* of elements, below 2^31 unless ndim is 1 */
    ht_cuda_divisor length[HT_MAX_NDIM];
};

/* Whether the axes have few enough elements; lengths may be 0. */
static inline bool ht_cuda_make_axes(ht_cuda_axes *axes, int ndim, const int64_t shape[])
{
    axes->ndim = ndim;
    axes->count = 1;
    for (int axis = 0; axis < ndim; axis++)
        axes->count *= shape[axis];
    if (axes->count >= INT64_C(1) << 31)
        return ndim == 1;
    for (int axis = 0; axis < ndim && axes->count > 0; axis++)
        axes->length[axis] = ht_cuda_divisor_of((uint32_t)shape[axis]);
    return true;
}

/* The offset of element i. */
static __forceinline__ __device__ int64_t ht_cuda_offset(const ht_cuda_axes &axes,
                                                         const int64_t stride[], int64_t i)
{
    uint32_t rest = (uint32_t)i;
    int64_t at = 0;

    if (axes.ndim == 1)
        return i * stride[0];
    HT_CUDA_ROLLED
    for (int axis = axes.ndim - 1; axis > 0; axis--) {
        uint32_t index;

        rest = ht_cuda_divide(rest, axes.length[axis], &index);
        at += (int64_t)index * stride[axis];
    }
    return at + (int64_t)rest * stride[0];
}

#endif

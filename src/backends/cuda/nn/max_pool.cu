/* SPDX-License-Identifier: MIT
 *
 * Max pooling over two axes. The backward pass gathers: each element of x adds the windows that
 * chose it, in the CPU's order. */
#include "backends/cuda/axes.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/scratch.h"
#include "ht/kernels/nn.h"

#include "backends/cuda/dtypes.h"

/* n, c and a pixel of an image, channels last if neighbours in memory are channels. */
struct pixels {
    ht_cuda_divisor c, h, w, step[2]; /* step: between windows */
    bool last;
};

struct pixel {
    int64_t n, c, h, w;
};

static pixels make_pixels(const ht_pool_call *p, const int64_t size[], const int64_t stride[])
{
    return {
        ht_cuda_divisor_of((uint32_t)p->c),
        ht_cuda_divisor_of((uint32_t)size[0]),
        ht_cuda_divisor_of((uint32_t)size[1]),
        {ht_cuda_divisor_of((uint32_t)p->stride[0]), ht_cuda_divisor_of((uint32_t)p->stride[1])},
        stride[1] == 1};
}

static __forceinline__ __device__ pixel find_pixel(const pixels &of, int64_t i)
{
    uint32_t n = (uint32_t)i, c = 0, h, w;

    if (of.last)
        n = ht_cuda_divide(n, of.c, &c);
    n = ht_cuda_divide(n, of.w, &w);
    n = ht_cuda_divide(n, of.h, &h);
    if (!of.last)
        n = ht_cuda_divide(n, of.c, &c);
    return {n, c, h, w};
}

static __forceinline__ __device__ int64_t offset_of(const int64_t stride[], const pixel &p)
{
    return p.n * stride[0] + p.c * stride[1] + p.h * stride[2] + p.w * stride[3];
}

/* The window of `in` that axis `axis` begins with at tap `tap`, or -1. */
static __forceinline__ __device__ int64_t window_with(const ht_pool_call &p, const pixels &of,
                                                      int axis, int64_t in, int64_t tap)
{
    const int64_t begin = in + p.padding[axis] - tap * p.dilation[axis];

    if (begin < 0)
        return -1;
    const uint32_t window = ht_cuda_quotient((uint32_t)begin, of.step[axis]);
    const bool starts = window * of.step[axis].by == (uint32_t)begin;

    return starts && window < p.out[axis] ? (int64_t)window : -1;
}

/* Whether window_with has small enough numbers. */
static bool is_small(const ht_pool_call *p)
{
    for (int axis = 0; axis < 2; axis++)
        if (p->stride[axis] > INT32_MAX || p->in[axis] > INT32_MAX - p->padding[axis])
            return false;
    return true;
}

#define HT_TEMPLATE "backends/cuda/nn/max_pool.inc.cu"
#include "backends/cuda/foreach_floating.h"

#define ADD(dtype) add_max_pool_##dtype(backend);

void ht_cuda_add_max_pool(ht_backend *backend)
{
    HT_FLOATING_LIST(ADD)
}

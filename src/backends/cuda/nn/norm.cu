/* SPDX-License-Identifier: MIT
 *
 * Normalisation by channel of x (outer, channels, inner). */
#include "backends/cuda/kernels.h"
#include "backends/cuda/reduce/fold.h"
#include "ht/kernels/nn.h"

#include "backends/cuda/dtypes.h"

#include "backends/cuda/reduce/moments.h"

/* The channels of x, with or without a second input of the same layout; false: too many elements. */
static bool over_channels(const ht_norm_call *norm, const void *x, const void *also, void *y,
                          ht_cuda_reduction *r)
{
    const int64_t reduced[2] = {norm->outer, norm->inner};

    *r = {};
    r->outputs.ndim = 1;
    r->outputs.count = norm->channels;
    r->x_stride[0] = norm->inner;
    r->y_stride[0] = 1;
    r->stride[0] = norm->channels * norm->inner;
    r->stride[1] = 1;
    r->x = x;
    r->also = also;
    r->y = y;
    return ht_cuda_make_axes(&r->reduced, 2, reduced);
}

/* The channel of an element. */
struct channel_of {
    ht_cuda_length inner, channels;
};

/* For a call with elements. */
static channel_of make_channel_of(const ht_norm_call *norm)
{
    const int64_t work = norm->outer * norm->channels * norm->inner;

    return {ht_cuda_length_of(norm->inner, work), ht_cuda_length_of(norm->channels, work)};
}

static __forceinline__ __device__ int64_t find_channel(const channel_of &c, int64_t i)
{
    int64_t channel;

    ht_cuda_divide(ht_cuda_quotient(i, c.inner), c.channels, &channel);
    return channel;
}

/* The sums of dy, and of dy (x - mean). */
struct sums_about : ht_cuda_two_sums {
    double mean;
};

#define HT_TEMPLATE "backends/cuda/nn/norm.inc.cu"
#include "backends/cuda/foreach_floating.h"

#define ADD(dtype) add_norm_##dtype(backend);

void ht_cuda_add_norm(ht_backend *backend)
{
    HT_FLOATING_LIST(ADD)
}

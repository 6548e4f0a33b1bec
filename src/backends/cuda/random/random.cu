/* SPDX-License-Identifier: MIT
 *
 * Random draws, with the CPU's bits. */
#include "backends/cuda/kernels.h"
#include "backends/cuda/random/philox.h"
#include "backends/cuda/scratch.h"

#include "backends/cuda/dtypes.h"

#include "backends/cpu/random/normal.h"

static __forceinline__ __device__ uint64_t wide_word(const ht_cuda_words &words, int at)
{
    return (uint64_t)words.at[at + 1] << 32 | words.at[at];
}

static __forceinline__ __device__ float unit_of(const ht_cuda_words &words, int at, float)
{
    return (float)(int32_t)(words.at[at] >> 8) * 0x1p-24f;
}

static __forceinline__ __device__ double unit_of(const ht_cuda_words &words, int at, double)
{
    return (double)(int64_t)(wide_word(words, at) >> 11) * 0x1p-53;
}

static __forceinline__ __device__ float normal_of(const ht_cuda_words &words, int at, float)
{
    return ht__normal_float(words.at[at]);
}

static __forceinline__ __device__ double normal_of(const ht_cuda_words &words, int at, double)
{
    return ht__normal_double(wide_word(words, at));
}

/* fill: struct { typedef out; enum { words }; a constructor from the draw; out of(words, at) } */
template <class fill>
static __global__ void draw_elements(ht_cuda_draw<fill::words> d, typename fill::out *y)
{
    const int64_t work = d.draw.outer * d.blocks.by;
    const fill f(d.draw);

    HT_CUDA_EACH(i, work)
    ht_cuda_each_drawn(
        d, i, [&](int64_t e, const ht_cuda_words &words, int at) { y[e] = f.of(words, at); });
}

template <class fill> static int run_draw(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_random_call *random = (const ht_random_call *)call;
    const ht_cuda_draw<fill::words> d = ht_cuda_make_draw<fill::words>(&random->draw);

    if (d.draw.outer == 0 || d.draw.inner == 0)
        return 0;
    if (ht_cuda_begin(device, call) != 0)
        return 1;
    HT_CUDA_LAUNCH(draw_elements<fill>, ht_cuda_blocks(device, d.draw.outer * d.blocks.by),
                   HT_CUDA_THREADS, device->stream, d,
                   static_cast<typename fill::out *>(random->out.data));
    return ht_cuda_end(device, call);
}

#define HT_TEMPLATE "backends/cuda/random/random.inc.cu"
#define HT_REAL_ONLY
#include "backends/cpu/foreach_dtype.h"

#define ADD(dtype) add_draws_##dtype(backend);

void ht_cuda_add_random(ht_backend *backend)
{
    HT_CUDA_REAL_LIST(ADD)
}

/* SPDX-License-Identifier: MIT
 *
 * The language of kernels. nvcc knows it; tests compile the same sources for the host, where
 * emulate.h replaces it. */
#ifndef HT_BACKENDS_CUDA_LAUNCH_H
#define HT_BACKENDS_CUDA_LAUNCH_H

#include "backends/cuda/retry.h"

#ifdef __CUDACC__
#include <cuda_runtime.h>
#include <stdint.h>

enum { HT_CUDA_THREADS = 256 }; /* of a block */
/* Bytes of the scores that attention computes at a time: enough that a product fills the device. */
enum { HT_CUDA_ATTENTION_TILE = 64 << 20 };

#define HT_CUDA_UNROLL           _Pragma("unroll")
#define HT_CUDA_ROLLED           _Pragma("unroll 1")
#define HT_CUDA_CALLED           __noinline__
/* Behind __global__: registers for this many blocks on a core at once. */
#define HT_CUDA_RESIDENT(blocks) __launch_bounds__(HT_CUDA_THREADS, blocks)

/* Writes *at, for the host too, after all that this thread has written before. */
static __forceinline__ __device__ void ht_cuda_publish(uint64_t *at, uint64_t value)
{
    __threadfence_system();
    *(volatile uint64_t *)at = value;
}

/* Reads a word that the host writes to *at. */
static __forceinline__ __device__ uint64_t ht_cuda_published(const uint64_t *at)
{
    return *(const volatile uint64_t *)at;
}

#define HT_CUDA_LAUNCH_ONCE(kernel, blocks, threads, stream, ...) \
    kernel<<<blocks, threads, 0, (cudaStream_t)stream>>>(__VA_ARGS__)
#else
#include "emulate.h"
#endif

/* CUDA loads the code of a kernel at its first launch, and may find too little memory for it. After a
 * launch that fails, the rest of a call, which would read its results, is not launched. */
template <class kernel, class... arguments>
static inline void ht_cuda_launch(kernel *run, unsigned blocks, unsigned threads, void *stream,
                                  const arguments &...given)
{
    if (!ht_cuda_may_launch())
        return;
    int launches = 0;

    do
        HT_CUDA_LAUNCH_ONCE(run, blocks, threads, stream, given...);
    while (ht_cuda_launch_again(stream, ++launches));
}

#define HT_CUDA_LAUNCH(kernel, blocks, threads, stream, ...) \
    ht_cuda_launch((kernel), (blocks), (threads), (stream), __VA_ARGS__)

/* A long function, compiled once for all kernels of a file that call it. */
#define HT_CUDA_FUNCTION [[maybe_unused]] static HT_CUDA_CALLED __device__

/* Names with which the CPU's sources are compiled here: with --fmad=false they give the CPU's
 * bits. */
#define HT_INLINE static __forceinline__ __device__

#endif

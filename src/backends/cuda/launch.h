/* SPDX-License-Identifier: MIT
 *
 * The language of kernels. nvcc knows it; tests compile the same sources for the host, where
 * emulate.h stands for it. */
#ifndef HT_BACKENDS_CUDA_LAUNCH_H
#define HT_BACKENDS_CUDA_LAUNCH_H

#ifdef __CUDACC__
#include <cuda_runtime.h>
#include <stdint.h>

enum { HT_CUDA_THREADS = 256 }; /* of a block */

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

/* What the host has written to *at. */
static __forceinline__ __device__ uint64_t ht_cuda_published(const uint64_t *at)
{
    return *(const volatile uint64_t *)at;
}

#define HT_CUDA_LAUNCH(kernel, blocks, threads, stream, ...) \
    (kernel)<<<(blocks), (threads), 0, (cudaStream_t)(stream)>>>(__VA_ARGS__)
#else
#include "emulate.h"
#endif

/* A long function, compiled once for all kernels of a file that call it. */
#define HT_CUDA_FUNCTION [[maybe_unused]] static HT_CUDA_CALLED __device__

/* Names with which the CPU's sources are compiled here: with --fmad=false they give the CPU's
 * bits. */
#define HT_INLINE static __forceinline__ __device__

#endif

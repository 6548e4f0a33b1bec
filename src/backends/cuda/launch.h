/* SPDX-License-Identifier: MIT
 *
 * The language of kernels. nvcc knows it; tests compile the same sources for the host, where
 * emulate.h stands for it. */
#ifndef HT_BACKENDS_CUDA_LAUNCH_H
#define HT_BACKENDS_CUDA_LAUNCH_H

#ifdef __CUDACC__
#include <cuda_runtime.h>

enum { HT_CUDA_THREADS = 256 }; /* of a block */

#define HT_CUDA_UNROLL           _Pragma("unroll")
#define HT_CUDA_ROLLED           _Pragma("unroll 1")
#define HT_CUDA_CALLED           __noinline__
/* Behind __global__: registers for this many blocks on a core at once. */
#define HT_CUDA_RESIDENT(blocks) __launch_bounds__(HT_CUDA_THREADS, blocks)
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

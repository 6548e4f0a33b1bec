/* SPDX-License-Identifier: MIT
 *
 * Kernels of the CUDA module on the host: their sources, compiled by a C++ compiler, with this for
 * the language of kernels. A launch is work of a stream of emulated_runtime.cc. The threads of a
 * block run one after the other, and so do the blocks: in the order that EMULATED_ORDER says,
 * forward, backward or mixed. A kernel whose threads depend on one another's results gives another
 * result in one of these. */
#ifndef HT_TESTS_BACKENDS_CUDA_EMULATE_H
#define HT_TESTS_BACKENDS_CUDA_EMULATE_H

#include <functional>
#include <stdint.h>

#define __global__
#define __device__
#define __forceinline__ inline
#define HT_CUDA_UNROLL

struct emulated_index {
    unsigned x;
};

inline thread_local emulated_index threadIdx, blockIdx, blockDim, gridDim;

inline uint32_t __umulhi(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b >> 32);
}

template <class type> inline type atomicMin(type *at, type value)
{
    const type before = *at;

    *at = value < before ? value : before;
    return before;
}

inline void __threadfence_system(void)
{
}

/* emulated_runtime.cc: the work is done in the stream's turn. */
void emulated_launch(void *stream, std::function<void()> work);

/* Calls visit(i) for all i < count, in the order asked for. */
void emulated_each(unsigned count, const std::function<void(unsigned)> &visit);

template <class kernel, class... arguments>
void emulated_grid(kernel *run, unsigned blocks, unsigned threads, void *stream, arguments... given)
{
    emulated_launch(stream, [=] {
        gridDim.x = blocks;
        blockDim.x = threads;
        emulated_each(blocks, [&](unsigned block) {
            blockIdx.x = block;
            emulated_each(threads, [&](unsigned thread) {
                threadIdx.x = thread;
                run(given...);
            });
        });
    });
}

#define HT_CUDA_LAUNCH(kernel, blocks, threads, stream, ...) \
    emulated_grid((kernel), (blocks), (threads), (stream), __VA_ARGS__)

#endif

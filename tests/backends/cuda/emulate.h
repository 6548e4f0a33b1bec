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

enum { HT_CUDA_THREADS = 16 };             /* few, because a launch costs a call for each */
enum { HT_CUDA_ATTENTION_TILE = 4 << 20 }; /* so that small operands have several tiles */

#define __global__
#define __device__
#define __forceinline__ inline
#define HT_CUDA_UNROLL
#define HT_CUDA_ROLLED
#define HT_CUDA_CALLED
#define HT_CUDA_RESIDENT(blocks)

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

/* A test's function, which looks at what the host sees right before a kernel publishes a number. */
extern "C" __attribute__((visibility("default"))) void (*emulated_before_publish)(void);

inline void ht_cuda_publish(uint64_t *at, uint64_t value)
{
    if (emulated_before_publish != NULL)
        emulated_before_publish();
    __atomic_store_n(at, value, __ATOMIC_RELEASE);
}

inline uint64_t ht_cuda_published(const uint64_t *at)
{
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

/* emulated_runtime.cc: the work is done in the stream's turn. */
void emulated_launch(void *stream, const void *code, std::function<void()> work);

/* The order asked for now. */
enum emulated_order { EMULATED_FORWARD, EMULATED_BACKWARD, EMULATED_MIXED };
emulated_order emulated_get_order(void);

/* Whether the kernels are to have this fault. */
bool emulated_has_flaw(const char *which);

/* The wrong stride, where the kernel is given operands that have strides. */
template <class type>
auto emulated_spoil(type &given, int) -> decltype(given.operand[1].stride[0], void())
{
    if (emulated_has_flaw("stride"))
        given.operand[1].stride[0] = 0;
}

template <class type> void emulated_spoil(type &, long)
{
}

/* The number of the i-th of `count` threads or blocks. 7919 is a prime and larger than any block. */
inline unsigned emulated_number(emulated_order order, unsigned count, unsigned i)
{
    return order == EMULATED_BACKWARD                     ? count - 1 - i
           : order == EMULATED_MIXED && count % 7919 != 0 ? (unsigned)((uint64_t)i * 7919 % count)
                                                          : i;
}

template <class kernel, class... arguments>
void emulated_grid(kernel *run, unsigned blocks, unsigned threads, void *stream, arguments... given)
{
    (emulated_spoil(given, 0), ...);
    const emulated_order order = emulated_get_order();

    emulated_launch(stream, (const void *)run, [=] {
        gridDim.x = blocks;
        blockDim.x = threads;
        for (unsigned block = 0; block < blocks; block++) {
            blockIdx.x = emulated_number(order, blocks, block);
            for (unsigned thread = 0; thread < threads; thread++) {
                threadIdx.x = emulated_number(order, threads, thread);
                run(given...);
            }
        }
    });
}

#define HT_CUDA_LAUNCH_ONCE(kernel, blocks, threads, stream, ...) \
    emulated_grid(kernel, blocks, threads, stream, __VA_ARGS__)

#endif

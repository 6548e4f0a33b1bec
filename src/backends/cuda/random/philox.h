/* SPDX-License-Identifier: MIT
 *
 * Random words on a device: those of backends/cpu/random/philox.h, one block of four at a time. A
 * thread has a block, because an element alone would use one word of the four. */
#ifndef HT_BACKENDS_CUDA_RANDOM_PHILOX_H
#define HT_BACKENDS_CUDA_RANDOM_PHILOX_H

#include <math.h>

#include "backends/cuda/axes.h"
#include "ht/kernels/random.h"

struct ht_cuda_words {
    uint32_t at[4];
};

/* Words 4 block ... 4 block + 3 of a draw. */
static __forceinline__ __device__ ht_cuda_words ht_cuda_philox(uint64_t block, uint64_t seed,
                                                               uint64_t draw)
{
    uint32_t x0 = (uint32_t)block, x1 = (uint32_t)(block >> 32);
    uint32_t x2 = (uint32_t)draw, x3 = (uint32_t)(draw >> 32);
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);

    HT_CUDA_UNROLL
    for (int round = 0; round < 10; round++) {
        const uint64_t a = (uint64_t)0xd2511f53 * x0, b = (uint64_t)0xcd9e8d57 * x2;

        x0 = (uint32_t)(b >> 32) ^ x1 ^ key0;
        x1 = (uint32_t)b;
        x2 = (uint32_t)(a >> 32) ^ x3 ^ key1;
        x3 = (uint32_t)a;
        key0 += 0x9e3779b9;
        key1 += 0xbb67ae85;
    }
    return {{x0, x1, x2, x3}};
}

/* The blocks of the elements of a draw, each of `words` words: `blocks` of them for each of the
 * `outer` rows. */
template <int words> struct ht_cuda_draw {
    ht_random_draw draw;
    ht_cuda_length blocks;
};

template <int words> static inline ht_cuda_draw<words> ht_cuda_make_draw(const ht_random_draw *draw)
{
    const int64_t blocks = (draw->inner * words + 3) / 4 + 1;

    return {*draw, ht_cuda_length_of(blocks, (draw->outer > 1 ? draw->outer : 1) * blocks)};
}

/* Calls take(i, words, at) for each element that the block has words of: i counts the slab's
 * elements, and the element's words begin at `at`. */
template <int each, class function>
static __forceinline__ __device__ void ht_cuda_each_drawn(const ht_cuda_draw<each> &d,
                                                          int64_t block, const function &take)
{
    int64_t in_row;
    const int64_t o = ht_cuda_divide(block, d.blocks, &in_row);
    const int64_t row = o * d.draw.inner_global + d.draw.start;
    const int64_t first = row * each / 4 + in_row;
    const ht_cuda_words words = ht_cuda_philox((uint64_t)first, d.draw.seed, d.draw.draw);

    HT_CUDA_UNROLL
    for (int at = 0; at < 4; at++) {
        const int64_t i = (first * 4 + at) / each - row;

        if (at % each == 0 && i >= 0 && i < d.draw.inner)
            take(o * d.draw.inner + i, words, at);
    }
}

/* Kept by dropout with probability p: where a uniform float of the same word would be at least p. */
static __forceinline__ __device__ bool ht_cuda_keeps(uint32_t word, double p)
{
    return (int32_t)(word >> 8) >= (int32_t)ceil(p * 0x1p24);
}

#endif

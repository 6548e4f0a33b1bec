/* SPDX-License-Identifier: MIT
 *
 * Philox 4x32-10 (Salmon et al., SC 2011). Word w of draw d under seed s is a function of the three
 * alone, so every slab of a tensor can be drawn by itself. Block w / 4 gives words w ... w + 3. */
#ifndef HT_BACKENDS_CPU_RANDOM_PHILOX_H
#define HT_BACKENDS_CPU_RANDOM_PHILOX_H

#include <stdint.h>

#include "backends/cpu/dtypes.h"

#define PHILOX_BLOCKS 64 /* made at a time */
#define PHILOX_WORDS  (4 * PHILOX_BLOCKS)

/* Words 4 first ... 4 (first + blocks) - 1 of a draw; blocks <= PHILOX_BLOCKS. The words of a block
 * lie in four arrays while they are mixed, which makes the rounds vector code. */
HT_INLINE void philox_fill(uint32_t *words, int64_t blocks, uint64_t first, uint64_t seed,
                           uint64_t draw)
{
    uint32_t x0[PHILOX_BLOCKS], x1[PHILOX_BLOCKS], x2[PHILOX_BLOCKS], x3[PHILOX_BLOCKS];
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);

    for (int64_t i = 0; i < blocks; i++) {
        x0[i] = (uint32_t)(first + (uint64_t)i);
        x1[i] = (uint32_t)((first + (uint64_t)i) >> 32);
        x2[i] = (uint32_t)draw;
        x3[i] = (uint32_t)(draw >> 32);
    }
    for (int round = 0; round < 10; round++) {
        HT_VECTORIZE
        for (int64_t i = 0; i < blocks; i++) {
            uint64_t a = (uint64_t)0xd2511f53 * x0[i], b = (uint64_t)0xcd9e8d57 * x2[i];

            x0[i] = (uint32_t)(b >> 32) ^ x1[i] ^ key0;
            x1[i] = (uint32_t)b;
            x2[i] = (uint32_t)(a >> 32) ^ x3[i] ^ key1;
            x3[i] = (uint32_t)a;
        }
        key0 += 0x9e3779b9;
        key1 += 0xbb67ae85;
    }
    for (int64_t i = 0; i < blocks; i++) {
        words[4 * i] = x0[i];
        words[4 * i + 1] = x1[i];
        words[4 * i + 2] = x2[i];
        words[4 * i + 3] = x3[i];
    }
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * From element numbers to random words. */
#ifndef HT_BACKENDS_CPU_RANDOM_WALK_H
#define HT_BACKENDS_CPU_RANDOM_WALK_H

#include "backends/cpu/random/normal.h"
#include "backends/cpu/random/philox.h"
#include "ht/kernels/random.h"

/* Writes n elements of the draw, whose words begin at `word`. */
typedef void random_fill_fn(const ht_random_draw *draw, const uint32_t *word, int64_t n, void *out);

HT_INLINE uint64_t random_wide_word(const uint32_t *word, int64_t i)
{
    return (uint64_t)word[2 * i + 1] << 32 | word[2 * i];
}

/* Uniform in [0, 1): 24 bits for float, 53 for double. */
HT_INLINE float random_unit_float(const uint32_t *word, int64_t i)
{
    return (float)(int32_t)(word[i] >> 8) * 0x1p-24f;
}

HT_INLINE double random_unit_double(const uint32_t *word, int64_t i)
{
    return (double)(int64_t)(random_wide_word(word, i) >> 11) * 0x1p-53;
}

HT_INLINE float random_normal_float(const uint32_t *word, int64_t i)
{
    return ht__normal_float(word[i]);
}

HT_INLINE double random_normal_double(const uint32_t *word, int64_t i)
{
    return ht__normal_double(random_wide_word(word, i));
}

#define RANDOM_UNIT(type, word, i) \
    _Generic((type)0, float : random_unit_float, double : random_unit_double)(word, i)
#define RANDOM_NORMAL(type, word, i) \
    _Generic((type)0, float : random_normal_float, double : random_normal_double)(word, i)

/* n neighbours from element g on; out has elements of `bytes`, each made of `words` words. */
HT_INLINE void random_run(const ht_random_draw *draw, uint64_t g, int64_t n, random_fill_fn *fill,
                          uint64_t words, char *out, size_t bytes)
{
    uint32_t word[PHILOX_WORDS];

    while (n > 0) {
        const uint64_t skip = g * words % 4;
        const int64_t room = (int64_t)((PHILOX_WORDS - skip) / words);
        const int64_t m = n < room ? n : room;

        philox_fill(word, (int64_t)(skip + (uint64_t)m * words + 3) / 4, g * words / 4, draw->seed,
                    draw->draw);
        fill(draw, word + skip, m, out);
        g += (uint64_t)m;
        n -= m;
        out += m * (int64_t)bytes;
    }
}

HT_INLINE int random_walk(const ht_random_call *call, random_fill_fn *fill, uint64_t words)
{
    const ht_random_draw *draw = &call->draw;
    const size_t bytes = ht_dtype_size(call->call.dtype);

    for (int64_t o = 0; o < draw->outer; o++)
        random_run(draw, (uint64_t)(o * draw->inner_global + draw->start), draw->inner, fill, words,
                   (char *)call->out.data + o * draw->inner * (int64_t)bytes, bytes);
    return 0;
}

#endif

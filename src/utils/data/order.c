/* SPDX-License-Identifier: MIT
 *
 * Random orders by counter: Philox 4x32-10 (Salmon et al., SC 2011), keyed by the seed. Its counter
 * is made of epoch, rank and stream, so that the order of any epoch can be computed without the
 * ones before. */
#include "backends/cpu/random/philox.h"
#include "utils/data/data.h"

/* Below n < 2^32 from 32 + 32 random bits: the bias is at most 2^-32. */
static uint32_t below(uint64_t bits, uint64_t n)
{
    return (uint32_t)(((bits >> 32) * n + (((bits & 0xFFFFFFFF) * n) >> 32)) >> 32);
}

void ht__order_permute(uint32_t *order, int64_t n, uint64_t seed, int64_t epoch, int rank,
                       int64_t stream)
{
    uint32_t words[4] = {0};

    for (int64_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    /* Fisher and Yates, from the end; each block of random words serves two steps. */
    for (int64_t i = n - 1; i > 0; i--) {
        int half = (int)(i & 1);

        if (half == 1 || i == n - 1) {
            philox_fill(words, 1, (uint32_t)(i >> 1) | (uint64_t)(uint32_t)stream << 32, seed,
                        (uint32_t)epoch | (uint64_t)(uint32_t)rank << 32);
        }
        uint64_t bits = (uint64_t)words[2 * half] << 32 | words[2 * half + 1];
        uint32_t j = below(bits, (uint64_t)i + 1), kept = order[i];

        order[i] = order[j];
        order[j] = kept;
    }
}

/* SPDX-License-Identifier: MIT
 *
 * Random orders by counter: Philox 4x32-10 (Salmon et al., SC 2011) keyed by the seed, its counter
 * made of what is permuted, so that any epoch's order can be had without the ones before. */
#include "data.h"

static void philox(uint32_t counter[4], uint64_t seed)
{
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};

    for (int round = 0; round < 10; round++) {
        uint64_t a = UINT64_C(0xD2511F53) * counter[0], b = UINT64_C(0xCD9E8D57) * counter[2];

        counter[0] = (uint32_t)(b >> 32) ^ counter[1] ^ key[0];
        counter[1] = (uint32_t)b;
        counter[2] = (uint32_t)(a >> 32) ^ counter[3] ^ key[1];
        counter[3] = (uint32_t)a;
        key[0] += 0x9E3779B9;
        key[1] += 0xBB67AE85;
    }
}

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
            words[0] = (uint32_t)(i >> 1);
            words[1] = (uint32_t)stream;
            words[2] = (uint32_t)epoch;
            words[3] = (uint32_t)rank;
            philox(words, seed);
        }
        uint64_t bits = (uint64_t)words[2 * half] << 32 | words[2 * half + 1];
        uint32_t j = below(bits, (uint64_t)i + 1), kept = order[i];

        order[i] = order[j];
        order[j] = kept;
    }
}

/* SPDX-License-Identifier: MIT
 *
 * A permutation of 0 ... n - 1 as a function of the seed, the draw and the place, so that a rank
 * computes only the places that it needs.
 *
 * Up to SHORT numbers it is Fisher's and Yates' shuffle, made on every rank: each order is as
 * likely as any other.
 * Longer ones are a Feistel network over pairs (Black and Rogaway, CT-RSA 2002): i = l b + r with l
 * < a and r < b, where a and b are about sqrt(n). Each of 12 rounds adds a random number to one
 * half, below the size of that half. Philox makes this number from the round and the other half. A
 * result beyond n passes through the network again, which happens to one place in sqrt(n).
 * The functions of the rounds are random, so the values of a few places look like those of a random
 * order. Luby and Rackoff (1988) show this, and Patarin (2003) for more rounds. A generator with a
 * seed of 64 bits reaches at most 2^64 of the n! orders of a long permutation. Memory: O(sqrt(n)),
 * at most 2 TABLE * ROUNDS numbers. */
#include "core/algorithms/parts/permutation.h"

#include <math.h>

#include "backends/cpu/random/philox.h"
#include "core/base/base.h"

enum { SHORT = 4096, ROUNDS = 12, TABLE = 1 << 16 };

/* Below n; of 64 random bits, so that the bias is at most n / 2^64. */
static uint64_t below(uint64_t bits, uint64_t n)
{
    return (uint64_t)((unsigned __int128)bits * n >> 64);
}

static uint64_t random_bits(const ht_permutation_map *map, uint64_t at)
{
    uint32_t words[4];

    philox_fill(words, 1, at, map->seed, map->draw);
    return (uint64_t)words[1] << 32 | words[0];
}

static void shuffle(ht_permutation_map *map)
{
    const int64_t n = map->n;

    map->forward = ht__alloc(((size_t)n + 1) * sizeof *map->forward);
    map->backward = ht__alloc(((size_t)n + 1) * sizeof *map->backward);
    for (int64_t i = 0; i < n; i++)
        map->forward[i] = (int32_t)i;
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = (int64_t)below(random_bits(map, (uint64_t)i), (uint64_t)i + 1);
        const int32_t kept = map->forward[i];

        map->forward[i] = map->forward[j];
        map->forward[j] = kept;
    }
    for (int64_t i = 0; i < n; i++)
        map->backward[map->forward[i]] = (int32_t)i;
}

/* The number that a round adds to one half, from the other one. Even rounds change the left
 * half. */
static uint64_t made(const ht_permutation_map *map, int round, uint64_t half)
{
    return below(random_bits(map, (uint64_t)round << 59 | half), round % 2 == 0 ? map->a : map->b);
}

static uint64_t added(const ht_permutation_map *map, int round, uint64_t half)
{
    return map->rounds != NULL ? map->rounds[(uint64_t)round * map->a + half]
                               : made(map, round, half);
}

/* a >= b, so that a row of the table has room for either half. */
static void make_rounds(ht_permutation_map *map)
{
    map->rounds = ht__alloc(ROUNDS * (size_t)map->a * sizeof *map->rounds);
    for (int round = 0; round < ROUNDS; round++) {
        for (uint64_t half = 0; half < map->a; half++)
            map->rounds[(uint64_t)round * map->a + half] = made(map, round, half);
    }
}

void ht__permutation_open(ht_permutation_map *map, int64_t n, uint64_t seed, uint64_t draw)
{
    *map = (ht_permutation_map){.n = n, .seed = seed, .draw = draw};
    if (n <= SHORT) {
        shuffle(map);
        return;
    }
    map->a = (uint64_t)ceil(sqrt((double)n)) + 1;
    map->b = ((uint64_t)n + map->a - 1) / map->a;
    if (map->a <= TABLE)
        make_rounds(map);
}

void ht__permutation_close(ht_permutation_map *map)
{
    ht__free(map->forward);
    ht__free(map->backward);
    ht__free(map->rounds);
}

static uint64_t encipher(const ht_permutation_map *map, uint64_t i)
{
    uint64_t left = i / map->b, right = i % map->b;

    for (int round = 0; round < ROUNDS; round += 2) {
        left += added(map, round, right);
        left -= left >= map->a ? map->a : 0;
        right += added(map, round + 1, left);
        right -= right >= map->b ? map->b : 0;
    }
    return left * map->b + right;
}

static uint64_t decipher(const ht_permutation_map *map, uint64_t i)
{
    uint64_t left = i / map->b, right = i % map->b;

    for (int round = ROUNDS - 2; round >= 0; round -= 2) {
        const uint64_t r = added(map, round + 1, left);
        uint64_t l;

        right += right < r ? map->b - r : -r;
        l = added(map, round, right);
        left += left < l ? map->a - l : -l;
    }
    return left * map->b + right;
}

int64_t ht__permutation_at(const ht_permutation_map *map, int64_t i)
{
    uint64_t value = (uint64_t)i;

    if (map->forward != NULL)
        return map->forward[i];
    do
        value = encipher(map, value);
    while (value >= (uint64_t)map->n);
    return (int64_t)value;
}

int64_t ht__permutation_from(const ht_permutation_map *map, int64_t value)
{
    uint64_t i = (uint64_t)value;

    if (map->backward != NULL)
        return map->backward[value];
    do
        i = decipher(map, i);
    while (i >= (uint64_t)map->n);
    return (int64_t)i;
}

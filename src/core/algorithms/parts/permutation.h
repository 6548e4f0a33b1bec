/* SPDX-License-Identifier: MIT
 *
 * Permutations that every rank can look up at any place, both ways (permutation.c). */
#ifndef HT_CORE_ALGORITHMS_PARTS_PERMUTATION_H
#define HT_CORE_ALGORITHMS_PARTS_PERMUTATION_H

#include <stdint.h>

typedef struct ht_permutation_map {
    int64_t n;
    uint64_t a, b; /* of long ones: places are pairs below a and b, a b >= n */
    uint64_t seed, draw;
    int32_t *forward, *backward; /* owned; of short ones, all values */
    uint64_t *rounds;            /* owned; of long ones the numbers of each round, or NULL */
} ht_permutation_map;

/* A permutation of 0 ... n - 1, n >= 0. */
void ht__permutation_open(ht_permutation_map *map, int64_t n, uint64_t seed, uint64_t draw);
void ht__permutation_close(ht_permutation_map *map);

/* p(i), and i of p(i). */
int64_t ht__permutation_at(const ht_permutation_map *map, int64_t i);
int64_t ht__permutation_from(const ht_permutation_map *map, int64_t value);

#endif

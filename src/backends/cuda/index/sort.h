/* SPDX-License-Identifier: MIT
 *
 * A stable sort on a device. It is CUB's, whose kernels have barriers, so tests link one of their
 * own. Calls return 0 or an error of CUDA. */
#ifndef HT_BACKENDS_CUDA_INDEX_SORT_H
#define HT_BACKENDS_CUDA_INDEX_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "ht/types.h"

HT_BEGIN_DECLS

/* Keys below 2^bits, each with a value, are read from [0]. They are sorted into [1]. */
typedef struct ht_cuda_pairs {
    uint32_t *key[2], *value[2];
    int count, bits;
} ht_cuda_pairs;

/* The scratch memory that the sort of this number of pairs needs. */
int ht_cuda_sort_bytes(const ht_cuda_pairs *pairs, size_t *bytes);

/* In the order of the stream. */
int ht_cuda_sort(const ht_cuda_pairs *pairs, void *memory, size_t bytes, void *stream);

HT_END_DECLS
#endif

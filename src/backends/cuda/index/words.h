/* SPDX-License-Identifier: MIT
 *
 * Kernels that move elements as they are: one for each size of an element serves all dtypes of that
 * size. */
#ifndef HT_BACKENDS_CUDA_INDEX_WORDS_H
#define HT_BACKENDS_CUDA_INDEX_WORDS_H

#include "backends/cuda/kernels.h"

struct alignas(16) ht_cuda_sixteen_bytes {
    uint64_t half[2];
};

/* Adds the kernels of a family for a dtype of as many bytes as a word has. A family is a
 *
 *     template <class word> struct family {
 *         static void add(ht_backend *backend, ht_dtype dtype);
 *     }; */
template <template <class> class family>
static void ht_cuda_add_words(ht_backend *backend, ht_dtype dtype, int bytes)
{
    switch (bytes) {
    case 1:
        return family<uint8_t>::add(backend, dtype);
    case 2:
        return family<uint16_t>::add(backend, dtype);
    case 4:
        return family<uint32_t>::add(backend, dtype);
    case 8:
        return family<uint64_t>::add(backend, dtype);
    default:
        return family<ht_cuda_sixteen_bytes>::add(backend, dtype);
    }
}

#endif

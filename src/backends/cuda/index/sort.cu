/* SPDX-License-Identifier: MIT
 *
 * CUB's radix sort, for one type of keys and values. */
#include <pthread.h>

#include "backends/cuda/index/sort.h"

/* CUB includes <iostream>, whose streams need a library of C++. The module is linked to none. */
#include <ostream>
#define _GLIBCXX_IOSTREAM
#define CCCL_DISABLE_NVTX
#define NVTX_DISABLE
#include <cub/device/device_radix_sort.cuh>

/* CUB has static variables, and the module is compiled without C++'s locks for them. */
static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;

static int sort(const ht_cuda_pairs *p, void *memory, size_t *bytes, void *stream)
{
    int error;

    pthread_mutex_lock(&alone);
    error = (int)cub::DeviceRadixSort::SortPairs(
        memory, *bytes, static_cast<const uint32_t *>(p->key[0]), p->key[1],
        static_cast<const uint32_t *>(p->value[0]), p->value[1], p->count, 0, p->bits,
        static_cast<cudaStream_t>(stream));
    pthread_mutex_unlock(&alone);
    return error;
}

int ht_cuda_sort_bytes(const ht_cuda_pairs *pairs, size_t *bytes)
{
    return sort(pairs, NULL, bytes, NULL);
}

int ht_cuda_sort(const ht_cuda_pairs *pairs, void *memory, size_t bytes, void *stream)
{
    return sort(pairs, memory, &bytes, stream);
}

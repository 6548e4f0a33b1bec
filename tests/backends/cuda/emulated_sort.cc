/* SPDX-License-Identifier: MIT
 *
 * The sort of the emulated runtime. */
#include <string.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "backends/cuda/index/sort.h"
#include "emulated_runtime.h"

int ht_cuda_sort_bytes(const ht_cuda_pairs *pairs, size_t *bytes)
{
    *bytes = (size_t)pairs->count;
    return 0;
}

/* As on a GPU, the bits above `bits` count for nothing, and memory is written. */
static void sort(const ht_cuda_pairs &p, void *memory, size_t bytes)
{
    const uint32_t mask = (uint32_t)((UINT64_C(1) << p.bits) - 1);
    std::vector<int> order((size_t)p.count);

    memset(memory, 0x5a, bytes);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return (p.key[0][a] & mask) < (p.key[0][b] & mask); });
    for (int i = 0; i < p.count; i++) {
        p.key[1][i] = p.key[0][order[(size_t)i]];
        p.value[1][i] = p.value[0][order[(size_t)i]];
    }
}

int ht_cuda_sort(const ht_cuda_pairs *pairs, void *memory, size_t bytes, void *handle)
{
    ALONE;
    const ht_cuda_pairs p = *pairs;

    if (static_cast<stream *>(handle)->device != emulated_current)
        return BAD_STREAM;
    emulated_give(
        static_cast<stream *>(handle), [=] { sort(p, memory, bytes); }, true);
    return emulated_error_now();
}

/* SPDX-License-Identifier: MIT
 *
 * Keys with the numbers of what they belong to, in the order of the keys; equal keys in the order
 * of the numbers. */
#ifndef HT_BACKENDS_CUDA_INDEX_SORTED_H
#define HT_BACKENDS_CUDA_INDEX_SORTED_H

#include "backends/cuda/index/sort.h"
#include "backends/cuda/scratch.h"

/* Whether `count` keys from 0 to `most` can be sorted. */
static inline bool ht_cuda_is_sortable(int64_t count, int64_t most)
{
    return count >= 1 && count <= INT32_MAX && most <= UINT32_MAX;
}

/* make(keys, numbers) launches what makes `count` of them, use(keys, numbers) what reads the sorted. */
template <class make_function, class use_function>
static int ht_cuda_with_sorted(ht_cuda_device *device, const ht_kernel_call *call, int64_t count,
                               int64_t most, const make_function &make, const use_function &use)
{
    const size_t room = ((size_t)count + 63) / 64 * 64;
    ht_cuda_pairs pairs = {};
    size_t bytes = 0;

    pairs.count = (int)count;
    pairs.bits = 1;
    while (most >> pairs.bits != 0)
        pairs.bits++;
    if (ht_cuda_begin(device, call) != 0 ||
        ht_cuda_check(ht_cuda_sort_bytes(&pairs, &bytes), device, call->what) != 0)
        return 1;
    return ht_cuda_with_scratch<uint32_t>(
        device, call, 4 * room + (bytes + 3) / 4, [&](uint32_t *memory) {
            for (int k = 0; k < 2; k++) {
                pairs.key[k] = memory + k * room;
                pairs.value[k] = memory + (2 + k) * room;
            }
            make(pairs.key[0], pairs.value[0]);
            int error = ht_cuda_sort(&pairs, memory + 4 * room, bytes, device->stream);

            if (ht_cuda_try_again(error, device->stream))
                error = ht_cuda_sort(&pairs, memory + 4 * room, bytes, device->stream);
            if (ht_cuda_check(error, device, call->what) != 0)
                return 1;
            use(pairs.key[1], pairs.value[1]);
            return 0;
        });
}

#endif

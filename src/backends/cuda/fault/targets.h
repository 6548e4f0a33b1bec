/* SPDX-License-Identifier: MIT
 *
 * Target classes, for kernels. */
#ifndef HT_BACKENDS_CUDA_TARGETS_H
#define HT_BACKENDS_CUDA_TARGETS_H

#include "backends/cuda/fault/fault.h"
#include "backends/cuda/launch.h"
#include "ht/kernels/nn.h"

struct ht_cuda_targets {
    ht_cuda_fault *fault;
    uint64_t call; /* a number of its own, at least 1; 0: of a call that notes nothing */
    const int64_t *target;
    int64_t columns, ignore;
    const char *what;
};

/* Whether a row has a class that counts. A target that is neither a class nor `ignore` is noted. */
static __forceinline__ __device__ bool ht_cuda_target(const ht_cuda_targets &t, int64_t row,
                                                      int64_t *column)
{
    *column = t.target[row];
    if (*column == t.ignore)
        return false;
    if (*column >= 0 && *column < t.columns)
        return true;
    atomicMin(&t.fault->first, (unsigned long long)row);
    return false;
}

static inline ht_cuda_targets ht_cuda_targets_of(const ht_cuda_device *device, const void *target,
                                                 int64_t columns, int64_t ignore, const char *what)
{
    return {device->fault, 0, static_cast<const int64_t *>(target), columns, ignore, what};
}

/* Before and after the launch of a kernel that notes bad targets: no other thread launches one. */
void ht_cuda_fault_begin(ht_cuda_device *device, ht_cuda_targets *targets);
void ht_cuda_fault_end(ht_cuda_device *device, const ht_cuda_targets &targets);

#endif

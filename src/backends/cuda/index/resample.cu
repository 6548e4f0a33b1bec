/* SPDX-License-Identifier: MIT
 *
 * Weighted sums along an axis. The backward pass gathers: each element of x looks for its taps among
 * all, in the CPU's order. */
#include "backends/cuda/kernels.h"
#include "backends/cuda/scratch.h"
#include "ht/kernels/index.h"

#include "backends/cuda/dtypes.h"

#define HT_TEMPLATE "backends/cuda/index/resample.inc.cu"
#include "backends/cuda/foreach_floating.h"

#define ADD(dtype) add_resample_##dtype(backend);

void ht_cuda_add_resample(ht_backend *backend)
{
    HT_FLOATING_LIST(ADD)
}

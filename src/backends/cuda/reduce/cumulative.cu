/* SPDX-License-Identifier: MIT
 *
 * Cumulative sums and products. */
#include "backends/cuda/kernels.h"
#include "backends/cuda/reduce/scan.h"

#include "backends/cuda/dtypes.h"

#define HT_TEMPLATE "backends/cuda/reduce/cumulative.inc.cu"
#include "backends/cpu/foreach_dtype.h"

#define ADD(dtype) add_cumulative_##dtype(backend);

void ht_cuda_add_cumulative(ht_backend *backend)
{
    HT_CUDA_LIST(ADD)
}

/* SPDX-License-Identifier: MIT
 *
 * Sums and products, and of real numbers extremes and moments. */
#include "backends/cuda/kernels.h"
#include "backends/cuda/reduce/fold.h"

enum { TOTAL_OF, WIDE_OF, MEAN_OF, ABS_OF, SQUARES_OF, LARGEST = 0, SMALLEST, SPREAD = 0, RECORD };

#include "backends/cuda/dtypes.h"

#include "backends/cuda/reduce/moments.h"

#define HT_TEMPLATE "backends/cuda/reduce/reduce.inc.cu"
#include "backends/cpu/foreach_dtype.h"

#define ADD(dtype) add_reductions_##dtype(backend);

void ht_cuda_add_reduce(ht_backend *backend)
{
    HT_CUDA_LIST(ADD)
}

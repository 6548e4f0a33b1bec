/* SPDX-License-Identifier: MIT
 *
 * Conversions between dtypes; the same dtype copies and fills. */
#include "backends/cuda/elementwise/rows.h"

#define HT_TEMPLATE "backends/cuda/elementwise/convert.inc.cu"
#include "backends/cpu/foreach_dtype.h"

#define ADD(dtype) add_conversions_##dtype(backend);

void ht_cuda_add_convert(ht_backend *backend)
{
    HT_CUDA_LIST(ADD)
}

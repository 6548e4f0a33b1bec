/* SPDX-License-Identifier: MIT
 *
 * Conversions between dtypes. Those from a dtype to itself are copies (copy.cu). */
#include "backends/cuda/elementwise/rows.h"

template <class row, bool same>
static void add_conversion(ht_backend *backend, ht_dtype to, ht_dtype from)
{
    if constexpr (!same)
        ht_cuda_add_conversion(backend, to, from, ht_cuda_run_row<row>);
}

#define HT_TEMPLATE "backends/cuda/elementwise/convert.inc.cu"
#include "backends/cpu/foreach_dtype.h"

#define ADD(dtype) add_conversions_##dtype(backend);

void ht_cuda_add_convert(ht_backend *backend)
{
    HT_CUDA_LIST(ADD)
}

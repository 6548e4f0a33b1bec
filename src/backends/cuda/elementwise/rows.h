/* SPDX-License-Identifier: MIT
 *
 * Elementwise functions of a topic for CUDA, from the same list and the same source as the CPU's:
 *
 *     #include "backends/cuda/elementwise/rows.h"
 *     #define HT_TEMPLATE "backends/cpu/elementwise/arithmetics.inc.c"
 *     #include "backends/cpu/foreach_dtype.h"
 *     HT_CUDA_ADD_ROWS(arithmetics) */
#ifndef HT_BACKENDS_CUDA_ELEMENTWISE_ROWS_H
#define HT_BACKENDS_CUDA_ELEMENTWISE_ROWS_H

#include "backends/cuda/elementwise/walk.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/dtypes.h"

#define HT_ROWS_TEMPLATE "backends/cuda/elementwise/rows.inc.cu"

#define HT_CUDA_ADD_ROWS(topic)                   \
    void ht_cuda_add_##topic(ht_backend *backend) \
    {                                             \
        HT_CUDA_LIST(HT_CUDA_ADD_ROWS_OF)         \
    }
#define HT_CUDA_ADD_ROWS_OF(dtype) add_rows_##dtype(backend);

#endif

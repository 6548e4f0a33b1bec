/* SPDX-License-Identifier: MIT
 *
 * Log-softmax, negative log likelihood and cross entropy. */
#include "backends/cuda/kernels.h"
#include "backends/cuda/nn/softmax.h"
#include "backends/cuda/scratch.h"
#include "backends/cuda/fault/targets.h"

#include "backends/cuda/dtypes.h"

static ht_cuda_targets targets_of(const ht_cuda_device *device, const ht_rows_call *rows)
{
    return ht_cuda_targets_of(device, rows->target.data, rows->columns, rows->ignore,
                              rows->call.what);
}

#define HT_TEMPLATE "backends/cuda/nn/rows.inc.cu"
#include "backends/cuda/foreach_floating.h"

#define ADD(dtype) add_rows_##dtype(backend);

void ht_cuda_add_nn_rows(ht_backend *backend)
{
    HT_FLOATING_LIST(ADD)
}

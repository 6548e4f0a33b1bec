/* SPDX-License-Identifier: MIT
 *
 * Cells of recurrent networks, a thread for each unit. */
#include "backends/cuda/axes.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/scratch.h"
#include "ht/kernels/nn.h"

#include "backends/cuda/dtypes.h"

#define HT_TEMPLATE "backends/cuda/nn/cell.inc.cu"
#include "backends/cuda/foreach_floating.h"

#define ADD(dtype) add_cell_##dtype(backend);

void ht_cuda_add_cell(ht_backend *backend)
{
    HT_FLOATING_LIST(ADD)
}

/* SPDX-License-Identifier: MIT
 *
 * Log-softmax and negative log likelihood. Sums over a row are reductions (reduce/fold.h). */
#include "backends/cuda/kernels.h"
#include "backends/cuda/reduce/fold.h"
#include "backends/cuda/scratch.h"
#include "backends/cuda/targets.h"

#include "backends/cuda/dtypes.h"

/* The rows of x (rows, columns), reduced to y (rows). */
static ht_cuda_reduction over_columns(const ht_rows_call *rows, const void *x, void *y)
{
    ht_cuda_reduction r = {};

    r.outputs.ndim = r.reduced.ndim = 1;
    r.outputs.count = rows->rows;
    r.reduced.count = rows->columns;
    r.x_stride[0] = rows->columns;
    r.y_stride[0] = r.stride[0] = 1;
    r.x = x;
    r.y = y;
    return r;
}

#define HT_TEMPLATE "backends/cuda/nn/rows.inc.cu"
#include "backends/cuda/foreach_floating.h"

#define ADD(dtype) add_rows_##dtype(backend);

void ht_cuda_add_nn_rows(ht_backend *backend)
{
    HT_FLOATING_LIST(ADD)
}

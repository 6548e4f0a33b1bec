/* SPDX-License-Identifier: MIT
 *
 * Log-softmax, negative log likelihood and cross entropy. Sums over a row are reductions (reduce/fold.h). */
#include "backends/cuda/kernels.h"
#include "backends/cuda/reduce/fold.h"
#include "backends/cuda/scratch.h"
#include "backends/cuda/targets.h"

#include "backends/cuda/dtypes.h"

/* The rows of x (rows, columns), reduced to y (rows). */
static ht_cuda_reduction over_columns(int64_t rows, int64_t columns, const void *x, void *y)
{
    ht_cuda_reduction r = {};

    r.outputs.ndim = r.reduced.ndim = 1;
    r.outputs.count = rows;
    r.reduced.count = columns;
    r.x_stride[0] = columns;
    r.y_stride[0] = r.stride[0] = 1;
    r.x = x;
    r.y = y;
    return r;
}

static ht_cuda_targets targets_of(ht_cuda_device *device, const ht_rows_call *rows)
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

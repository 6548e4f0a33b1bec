/* SPDX-License-Identifier: MIT
 *
 * Reductions over the rows of a matrix. */
#ifndef HT_BACKENDS_CUDA_NN_SOFTMAX_H
#define HT_BACKENDS_CUDA_NN_SOFTMAX_H

#include "backends/cuda/reduce/fold.h"

/* The dtype in which a sum of exponentials is stored. */
enum { HT_CUDA_SUM, HT_CUDA_LOG_SUM };

/* The rows of x (rows, columns), reduced to y (rows). */
static inline ht_cuda_reduction ht_cuda_over_columns(int64_t rows, int64_t columns, const void *x,
                                                     void *y)
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

#endif

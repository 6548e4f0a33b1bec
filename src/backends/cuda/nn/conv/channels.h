/* SPDX-License-Identifier: MIT
 *
 * Elements by channel, moved as words of their size. */
#ifndef HT_BACKENDS_CUDA_NN_CHANNELS_H
#define HT_BACKENDS_CUDA_NN_CHANNELS_H

#include "backends/cuda/axes.h"
#include "backends/cuda/scratch.h"

/* y <- its channel's bias. */
template <class word>
static __global__ void put_channels(int64_t work, ht_cuda_length pixels, ht_cuda_length channels,
                                    bool last, const word *bias, word *y)
{
    HT_CUDA_EACH(i, work)
    {
        int64_t channel;

        ht_cuda_divide(last ? i : ht_cuda_quotient(i, pixels), channels, &channel);
        y[i] = bias[channel];
    }
}

/* to (..., columns, rows) <- from (..., rows, columns) */
template <class word>
static __global__ void turn(int64_t work, ht_cuda_length rows, ht_cuda_length columns,
                            const word *from, word *to)
{
    HT_CUDA_EACH(i, work)
    {
        int64_t row, column;
        const int64_t line = ht_cuda_divide(i, rows, &row);
        const int64_t matrix = ht_cuda_divide(line, columns, &column);

        to[i] = from[(matrix * rows.by + row) * columns.by + column];
    }
}

#endif

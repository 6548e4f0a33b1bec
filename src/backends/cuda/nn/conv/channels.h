/* SPDX-License-Identifier: MIT
 *
 * Elements by channel, moved as words of their size. */
#ifndef HT_BACKENDS_CUDA_NN_CHANNELS_H
#define HT_BACKENDS_CUDA_NN_CHANNELS_H

#include "backends/cuda/scratch.h"

/* y <- its channel's bias. */
template <class word>
static __global__ void put_channels(int64_t work, int64_t pixels, int64_t channels, bool last,
                                    const word *bias, word *y)
{
    HT_CUDA_EACH(i, work)
    {
        y[i] = bias[last ? i % channels : i / pixels % channels];
    }
}

/* to (..., columns, rows) <- from (..., rows, columns) */
template <class word>
static __global__ void turn(int64_t work, int64_t rows, int64_t columns, const word *from, word *to)
{
    HT_CUDA_EACH(i, work)
    {
        const int64_t row = i % rows, column = i / rows % columns;

        to[i] = from[(i / rows / columns * rows + row) * columns + column];
    }
}

#endif

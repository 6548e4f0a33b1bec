/* SPDX-License-Identifier: MIT
 *
 * Elements by channel, moved as words of their size. */
#ifndef HT_BACKENDS_CUDA_NN_CHANNELS_H
#define HT_BACKENDS_CUDA_NN_CHANNELS_H

#include "backends/cuda/axes.h"
#include "backends/cuda/scratch.h"

template <class number>
static __forceinline__ __device__ number channel_at(number i, number pixels, number channels,
                                                    bool last)
{
    return (last ? i : i / pixels) % channels;
}

/* y <- its channel's bias. */
template <class word>
static __global__ void put_channels(int64_t work, int64_t pixels, int64_t channels, bool last,
                                    const word *bias, word *y)
{
    const bool is_narrow = work < INT64_C(1) << 31; /* then divisions of 32 bits do */

    HT_CUDA_EACH(i, work)
    {
        y[i] = bias[is_narrow ? (int64_t)channel_at((uint32_t)i, (uint32_t)pixels,
                                                    (uint32_t)channels, last)
                              : channel_at(i, pixels, channels, last)];
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

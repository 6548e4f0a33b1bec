/* SPDX-License-Identifier: MIT
 *
 * Copies of transposes and their like: input and output are contiguous along different axes. A
 * thread has a square of elements. It reads rows of the input and writes rows of the output, each
 * row at once if it is aligned. So both use complete lines of the memory. */
#ifndef HT_BACKENDS_CUDA_ELEMENTWISE_TILE_H
#define HT_BACKENDS_CUDA_ELEMENTWISE_TILE_H

#include "backends/cuda/elementwise/walk.h"
#include "backends/cuda/scratch.h"

/* at[down][across] */
template <class element, int side> struct ht_cuda_square {
    typedef ht_cuda_pack<element, side> row;
    element at[side][side];

    /* From `down` rows of x, `across` elements of each; at_once: all of them, by wide reads. */
    __forceinline__ __device__ void read(const element *x, int64_t stride, uint32_t down,
                                         uint32_t across, bool at_once)
    {
        HT_CUDA_UNROLL
        for (uint32_t i = 0; i < side; i++) {
            row one = {};

            if (at_once)
                one = *(const row *)(x + i * stride);
            HT_CUDA_UNROLL
            for (uint32_t j = 0; j < side; j++) {
                if (!at_once && i < down && j < across)
                    one.at[j] = x[i * stride + j];
                at[i][j] = one.at[j];
            }
        }
    }

    __forceinline__ __device__ void write(element *y, int64_t stride, uint32_t down,
                                          uint32_t across, bool at_once) const
    {
        HT_CUDA_UNROLL
        for (uint32_t j = 0; j < side; j++) {
            row one;

            HT_CUDA_UNROLL
            for (uint32_t i = 0; i < side; i++) {
                one.at[i] = at[i][j];
                if (!at_once && i < down && j < across)
                    y[j * stride + i] = at[i][j];
            }
            if (at_once)
                *(row *)(y + j * stride) = one;
        }
    }
};

/* Takes `bits` low bits of n. */
static __forceinline__ __device__ uint32_t ht_cuda_take_bits(int64_t *n, int bits)
{
    const uint32_t low = (uint32_t)*n & ((1U << bits) - 1);

    *n >>= bits;
    return low;
}

/* Adjacent threads have squares side by side in x, then side by side in y: a group of them has
 * 1 << bits squares in each direction. */
template <class element, int side> static __global__ void ht_cuda_tiled(ht_cuda_tiles t)
{
    HT_CUDA_EACH(i, t.work)
    {
        int64_t rest = i, from = 0, to = 0;
        uint32_t across = ht_cuda_take_bits(&rest, t.bits[0]);
        uint32_t down = ht_cuda_take_bits(&rest, t.bits[1]);

        across += ht_cuda_take_bits(&rest, t.bits[2]) << t.bits[0];
        down += ht_cuda_take_bits(&rest, t.bits[3]) << t.bits[1];
        uint32_t group = (uint32_t)rest, outer = ht_cuda_quotient(group, t.groups[0]);

        across += (group - outer * t.groups[0].by) << (t.bits[0] + t.bits[2]);
        group = outer;
        outer = ht_cuda_quotient(group, t.groups[1]);
        down += (group - outer * t.groups[1].by) << (t.bits[1] + t.bits[3]);
        HT_CUDA_ROLLED
        for (int axis = t.ndim - 1; axis >= 0; axis--) {
            const uint32_t next = ht_cuda_quotient(outer, t.length[axis]);
            const uint32_t index = outer - next * t.length[axis].by;

            from += index * t.x_stride[axis];
            to += index * t.y_stride[axis];
            outer = next;
        }
        across *= side;
        down *= side;
        if (across >= t.across || down >= t.down)
            continue;
        const uint32_t width = t.across - across, height = t.down - down;
        const bool whole = width >= side && height >= side;
        ht_cuda_square<element, side> square;

        square.read(static_cast<const element *>(t.x) + from + down * t.x_step + across, t.x_step,
                    height, width, whole && t.x_at_once);
        square.write(static_cast<element *>(t.y) + to + across * t.y_step + down, t.y_step, height,
                     width, whole && t.y_at_once);
    }
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * The host's part of a copy by squares. */
#include "backends/cuda/elementwise/loop.h"
#include "backends/cuda/scratch.h"

/* Squares of a group, across and down, as powers of 2: those of 32 threads, then of more. Shorter axes
 * are left to the other kernel. */
enum { ACROSS = 3, DOWN = 2, MORE_ACROSS = 1, MORE_DOWN = 2, SHORTEST = 8 };

/* The axis along which an operand is contiguous, or -1. */
static int contiguous_axis(const ht_loop *loop, int operand)
{
    for (int axis = loop->ndim - 1; axis >= 0; axis--) {
        if (loop->stride[operand][axis] == 1 && loop->shape[axis] >= SHORTEST)
            return axis;
    }
    return -1;
}

/* Powers of 2, at most `most`, until that many squares are enough. */
static int bits_for(int64_t squares, int most)
{
    int bits = 0;

    while (bits < most && (INT64_C(1) << bits) < squares)
        bits++;
    return bits;
}

/* The bits of a group along an axis, and how many groups. */
static int64_t cut(int64_t squares, int few, int more, int *bits, int *more_bits)
{
    *bits = bits_for(squares, few);
    *more_bits = bits_for((squares + (1 << *bits) - 1) >> *bits, more);
    const int both = *bits + *more_bits;

    return (squares + (1 << both) - 1) >> both;
}

/* Whether rows of `side` elements along an axis lie at multiples of their size. */
static bool is_aligned(const ht_loop *loop, int operand, int axis, int64_t side, size_t size)
{
    bool aligned = (uintptr_t)loop->operand[operand].data % (size * (size_t)side) == 0;

    for (int other = 0; other < loop->ndim; other++)
        aligned = aligned && (other == axis || loop->stride[operand][other] % side == 0);
    return aligned;
}

static ht_cuda_tiles make_tiles(const ht_loop *loop, const ht_cuda_walks *walks, int along_y,
                                int along_x)
{
    const int64_t side = walks->side;
    ht_cuda_tiles t = {};

    t.y = loop->operand[0].data;
    t.x = loop->operand[1].data;
    t.y_step = loop->stride[0][along_x];
    t.x_step = loop->stride[1][along_y];
    t.across = (uint32_t)loop->shape[along_x];
    t.down = (uint32_t)loop->shape[along_y];
    t.y_at_once = is_aligned(loop, 0, along_y, side, walks->size[0]);
    t.x_at_once = is_aligned(loop, 1, along_x, side, walks->size[0]);
    const int64_t across = cut((t.across + side - 1) / side, ACROSS, MORE_ACROSS, &t.bits[0],
                               &t.bits[2]);
    const int64_t down = cut((t.down + side - 1) / side, DOWN, MORE_DOWN, &t.bits[1], &t.bits[3]);

    t.groups[0] = ht_cuda_divisor_of((uint32_t)across);
    t.groups[1] = ht_cuda_divisor_of((uint32_t)down);
    t.work = across * down << (t.bits[0] + t.bits[1] + t.bits[2] + t.bits[3]);
    for (int axis = 0; axis < loop->ndim; axis++) {
        if (axis == along_x || axis == along_y)
            continue;
        t.length[t.ndim] = ht_cuda_divisor_of((uint32_t)loop->shape[axis]);
        t.y_stride[t.ndim] = loop->stride[0][axis];
        t.x_stride[t.ndim++] = loop->stride[1][axis];
        t.work *= loop->shape[axis];
    }
    return t;
}

bool ht_cuda_launch_tiles(const ht_cuda_device *device, const ht_loop *loop,
                          const ht_cuda_walks *walks)
{
    const int along_y = contiguous_axis(loop, 0), along_x = contiguous_axis(loop, 1);

    if (walks->tiled == NULL || loop->operand[1].data == NULL || along_y < 0 || along_x < 0 ||
        along_y == along_x || loop->stride[1][along_y] == 1)
        return false;
    const ht_cuda_tiles t = make_tiles(loop, walks, along_y, along_x);

    HT_CUDA_LAUNCH(walks->tiled,
                   ht_cuda_blocks_up_to(device, t.work, HT_CUDA_SHORT_BLOCKS_PER_CORE),
                   HT_CUDA_THREADS, device->stream, t);
    return true;
}

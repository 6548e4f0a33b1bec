/* SPDX-License-Identifier: MIT
 *
 * The host's part of an elementwise kernel: which of its walks, and in how many launches. */
#include "backends/cuda/elementwise/loop.h"
#include "backends/cuda/scratch.h"

enum { SHORTEST_FLAT = 1024 };

#define LONGEST ((int64_t)1 << 30)

static int64_t count_of(const ht_loop *loop)
{
    int64_t count = 1;

    for (int axis = 0; axis < loop->ndim; axis++)
        count *= loop->shape[axis];
    return count;
}

static ht_cuda_loop translate(const ht_loop *loop, int64_t count, int operands)
{
    ht_cuda_loop to = {};

    to.count = (uint32_t)count;
    to.ndim = loop->ndim;
    for (int axis = 0; axis < loop->ndim; axis++)
        to.length[axis] = ht_cuda_divisor_of((uint32_t)loop->shape[axis]);
    for (int k = 0; k < operands; k++) {
        to.operand[k].data = loop->operand[k].data;
        to.operand[k].value = loop->value[k];
        for (int axis = 0; axis < loop->ndim; axis++)
            to.operand[k].stride[axis] = loop->stride[k][axis];
    }
    for (int i = 0; i < HT_LOOP_PARAMS; i++)
        to.param[i] = loop->param[i];
    return to;
}

/* Long, contiguous or one element, and at addresses that are multiples of one read. */
static bool is_flat(const ht_loop *loop, const ht_cuda_walks *walks)
{
    if (walks->flat == NULL || loop->ndim != 1 || loop->shape[0] < SHORTEST_FLAT)
        return false;
    for (int k = 0; k < walks->operands; k++) {
        const bool one = k > 0 && (loop->operand[k].data == NULL || loop->stride[k][0] == 0);
        const uintptr_t step = walks->size[k] * (size_t)walks->width;

        if (!one && (loop->stride[k][0] != 1 || (uintptr_t)loop->operand[k].data % step != 0))
            return false;
    }
    return true;
}

/* Begins every operand `steps` further along axis 0. */
static void advance(ht_loop *loop, int64_t steps, const ht_cuda_walks *walks)
{
    for (int k = 0; k < walks->operands; k++) {
        if (loop->operand[k].data != NULL)
            loop->operand[k].data = (char *)loop->operand[k].data +
                                    steps * loop->stride[k][0] * (int64_t)walks->size[k];
    }
}

/* threads: that have work. */
static void launch(const ht_cuda_device *device, ht_cuda_loop_kernel *kernel,
                   const ht_cuda_loop &loop, int64_t threads)
{
    HT_CUDA_LAUNCH(kernel, ht_cuda_blocks(device, threads), HT_CUDA_THREADS, device->stream, loop);
}

/* The rest of a flat loop after the last full pack is a separate loop. */
static void launch_piece(const ht_cuda_device *device, ht_loop *loop, int64_t count,
                         const ht_cuda_walks *walks)
{
    if (is_flat(loop, walks)) {
        const int64_t rest = count % walks->width;

        launch(device, walks->flat, translate(loop, count - rest, walks->operands),
               count / walks->width);
        if (rest == 0)
            return;
        advance(loop, count - rest, walks);
        loop->shape[0] = count = rest;
    }
    if (!ht_cuda_launch_tiles(device, loop, walks))
        launch(device, walks->strided, translate(loop, count, walks->operands), count);
}

static void drop_axis_0(ht_loop *loop)
{
    loop->ndim--;
    for (int axis = 0; axis < loop->ndim; axis++) {
        loop->shape[axis] = loop->shape[axis + 1];
        for (int k = 0; k < HT_LOOP_OPERANDS; k++)
            loop->stride[k][axis] = loop->stride[k][axis + 1];
    }
}

/* Cut along axis 0, or, where one step of it is too long already, along the next one. */
static void launch_in_pieces(const ht_cuda_device *device, ht_loop *loop,
                             const ht_cuda_walks *walks)
{
    const int64_t count = count_of(loop), length = loop->shape[0], inner = count / length;
    const int64_t steps = inner < LONGEST ? LONGEST / inner : 1;

    if (count <= LONGEST) {
        launch_piece(device, loop, count, walks);
        return;
    }
    for (int64_t first = 0; first < length; first += steps) {
        ht_loop piece = *loop;

        advance(&piece, first, walks);
        piece.shape[0] = steps < length - first ? steps : length - first;
        if (inner > LONGEST)
            drop_axis_0(&piece);
        launch_in_pieces(device, &piece, walks);
    }
}

int ht_cuda_run_loop(void *stream, const ht_kernel_call *call, const ht_cuda_walks *walks)
{
    ht_cuda_device *device = (ht_cuda_device *)stream;
    ht_loop loop = *(const ht_loop *)call;

    if (count_of(&loop) == 0)
        return 0;
    if (ht_cuda_begin(device, call) != 0)
        return 1;
    launch_in_pieces(device, &loop, walks);
    return ht_cuda_end(device, call);
}

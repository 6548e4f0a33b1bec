/* SPDX-License-Identifier: MIT
 *
 * An ht_loop as kernels are given it, by value: offsets in 32 bits, because the host cuts longer
 * loops into several launches. */
#ifndef HT_BACKENDS_CUDA_ELEMENTWISE_LOOP_H
#define HT_BACKENDS_CUDA_ELEMENTWISE_LOOP_H

#include "backends/cuda/axes.h"
#include "backends/cuda/device.h"
#include "backends/cuda/launch.h"

/* data is NULL: the operand is `value` everywhere. */
struct ht_cuda_operand {
    void *data;
    int64_t stride[HT_MAX_NDIM];
    ht_element value;
};

struct ht_cuda_loop {
    uint32_t count; /* of elements, below 2^31 */
    int ndim;
    ht_cuda_divisor length[HT_MAX_NDIM];
    ht_cuda_operand operand[HT_LOOP_OPERANDS];
    double param[HT_LOOP_PARAMS];
};

typedef void ht_cuda_loop_kernel(ht_cuda_loop loop);

/* A copy by squares (tile.h): x is contiguous along `across` elements, y along `down` of them. */
struct ht_cuda_tiles {
    int64_t work; /* squares, with those outside */
    void *y;
    const void *x;
    int64_t y_step, x_step; /* along the other's contiguous axis */
    uint32_t across, down;
    int bits[4];               /* of a group's squares: across, down, and again */
    ht_cuda_divisor groups[2]; /* across and down */
    bool y_at_once, x_at_once; /* rows of squares are aligned */
    int ndim;                  /* of the other axes */
    ht_cuda_divisor length[HT_MAX_NDIM];
    int64_t y_stride[HT_MAX_NDIM], x_stride[HT_MAX_NDIM];
};

/* The kernels of a row: one for operands that are contiguous or one element, which reads and writes
 * `width` elements at once, and one for all others. A row of wide elements has the latter alone. A
 * row that copies has one for transposes, by squares of `side`. The output is operand 0. */
struct ht_cuda_walks {
    ht_cuda_loop_kernel *flat, *strided; /* flat may be NULL */
    int operands, width;
    size_t size[HT_LOOP_OPERANDS]; /* bytes of an element */
    void (*tiled)(ht_cuda_tiles t);
    int side;
};

/* Copies by squares, if that serves such operands; else false. */
bool ht_cuda_launch_tiles(const ht_cuda_device *device, const ht_loop *loop,
                          const ht_cuda_walks *walks);

/* Runs an ht_loop. 0, or 1 after services->fail. */
int ht_cuda_run_loop(void *stream, const ht_kernel_call *call, const ht_cuda_walks *walks);

#endif

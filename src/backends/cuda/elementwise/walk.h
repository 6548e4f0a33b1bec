/* SPDX-License-Identifier: MIT
 *
 * The kernels of an elementwise row. A row is a struct with the types of an element of its operands
 * in memory, how many there are, and its function:
 *
 *     struct row {
 *         typedef float out, in0, in1, in2;
 *         enum { inputs = 2 };
 *         static __device__ out apply(in0 a, in1 b, in2 c, const double param[]);
 *     };
 */
#ifndef HT_BACKENDS_CUDA_ELEMENTWISE_WALK_H
#define HT_BACKENDS_CUDA_ELEMENTWISE_WALK_H

#include <string.h>

#include "backends/cuda/elementwise/loop.h"

/* Elements that are read or written at once. */
template <class type, int width> struct alignas(sizeof(type) * width) ht_cuda_pack {
    type at[width];
};

template <class type>
static __forceinline__ __device__ type ht_cuda_value(const ht_cuda_operand &operand)
{
    type value;

    memcpy(&value, operand.value.bytes, sizeof value);
    return value;
}

template <class type>
static __forceinline__ __device__ type ht_cuda_load(const ht_cuda_operand &operand, int64_t offset)
{
    return operand.data == NULL ? ht_cuda_value<type>(operand)
                                : static_cast<const type *>(operand.data)[offset];
}

/* Elements `at` and its followers of an operand that is contiguous or one element. */
template <class type, int width>
static __forceinline__ __device__ ht_cuda_pack<type, width> ht_cuda_load_pack(
    const ht_cuda_operand &operand, uint32_t at)
{
    ht_cuda_pack<type, width> pack;

    if (operand.data != NULL && operand.stride[0] == 1)
        return static_cast<const ht_cuda_pack<type, width> *>(operand.data)[at];
    const type one = ht_cuda_load<type>(operand, 0);
    HT_CUDA_UNROLL
    for (int i = 0; i < width; i++)
        pack.at[i] = one;
    return pack;
}

/* Each thread reads up to 16 bytes at once, but 4 elements at most: the function is compiled once for
 * each of them. Elements of 8 bytes and more are read one by one, since adjacent threads then keep the
 * memory busy by themselves. */
template <class row> struct ht_cuda_row_width {
    enum {
        wider = sizeof(typename row::in0) > sizeof(typename row::out) ? sizeof(typename row::in0)
                                                                      : sizeof(typename row::out),
        widest = sizeof(typename row::in1) > wider ? sizeof(typename row::in1) : wider,
        value = widest < 8 ? 4 : 1
    };
};

/* Full packs alone: the host gives the rest to the other kernel. */
template <class row> static __global__ void ht_cuda_flat(ht_cuda_loop loop)
{
    enum { width = ht_cuda_row_width<row>::value };
    typedef ht_cuda_pack<typename row::out, width> packed;
    const uint32_t step = gridDim.x * blockDim.x, packs = loop.count / width;
    packed *y = static_cast<packed *>(loop.operand[0].data);

    HT_CUDA_ROLLED
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < packs; i += step) {
        const auto a = ht_cuda_load_pack<typename row::in0, width>(loop.operand[1], i);
        const auto b = ht_cuda_load_pack<typename row::in1, width>(loop.operand[2], i);
        const auto c = ht_cuda_load_pack<typename row::in2, width>(loop.operand[3], i);
        packed result;

        HT_CUDA_UNROLL
        for (int k = 0; k < width; k++)
            result.at[k] = row::apply(a.at[k], b.at[k], c.at[k], loop.param);
        y[i] = result;
    }
}

template <class row> static __global__ void ht_cuda_strided(ht_cuda_loop loop)
{
    const uint32_t step = gridDim.x * blockDim.x;
    typename row::out *y = static_cast<typename row::out *>(loop.operand[0].data);

    HT_CUDA_ROLLED
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < loop.count; i += step) {
        int64_t at[HT_LOOP_OPERANDS] = {0, 0, 0, 0};
        uint32_t rest = i;

        HT_CUDA_ROLLED
        for (int axis = loop.ndim - 1; axis >= 0; axis--) {
            const ht_cuda_divisor length = loop.length[axis];
            const uint32_t outer = axis > 0 ? ht_cuda_quotient(rest, length) : 0;
            const uint32_t index = rest - outer * length.by;

            HT_CUDA_UNROLL
            for (int k = 0; k <= row::inputs; k++)
                at[k] += index * loop.operand[k].stride[axis];
            rest = outer;
        }
        y[at[0]] = row::apply(ht_cuda_load<typename row::in0>(loop.operand[1], at[1]),
                              ht_cuda_load<typename row::in1>(loop.operand[2], at[2]),
                              ht_cuda_load<typename row::in2>(loop.operand[3], at[3]), loop.param);
    }
}

template <class row> static constexpr ht_cuda_loop_kernel *ht_cuda_flat_of(void)
{
    if constexpr (ht_cuda_row_width<row>::value > 1)
        return ht_cuda_flat<row>;
    else
        return NULL;
}

/* The kernel of a row. */
template <class row> static int ht_cuda_run_row(void *stream, const ht_kernel_call *call)
{
    static const ht_cuda_walks walks = {ht_cuda_flat_of<row>(),
                                        ht_cuda_strided<row>,
                                        1 + row::inputs,
                                        ht_cuda_row_width<row>::value,
                                        {sizeof(typename row::out), sizeof(typename row::in0),
                                         sizeof(typename row::in1), sizeof(typename row::in2)},
                                        NULL,
                                        0};

    return ht_cuda_run_loop(stream, call, &walks);
}

#endif

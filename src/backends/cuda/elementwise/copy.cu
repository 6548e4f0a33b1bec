/* SPDX-License-Identifier: MIT
 *
 * Copies, fills and choices by a mask, which move elements as they are: one kernel for each size of an
 * element serves all dtypes of that size. */
#include "backends/cuda/elementwise/tile.h"
#include "backends/cuda/kernels.h"

struct alignas(16) sixteen {
    uint64_t half[2];
};

template <class element> struct copy_row {
    typedef element out, in0, in1, in2;
    enum { inputs = 1 };
    static __forceinline__ __device__ out apply(element x, element, element, const double[])
    {
        return x;
    }
};

/* Squares whose rows have 16 bytes, or 4 or 8 elements. */
template <class element> static int run_copy(void *stream, const ht_kernel_call *call)
{
    typedef copy_row<element> row;
    enum { size = sizeof(element), side = size == 1 ? 8 : size < 8 ? 4 : 16 / size };
    static const ht_cuda_walks walks = {
        ht_cuda_flat_of<row>(),   ht_cuda_strided<row>,         2,   ht_cuda_row_width<row>::value,
        {size, size, size, size}, ht_cuda_tiled<element, side>, side};

    return ht_cuda_run_loop(stream, call, &walks);
}

static ht_kernel_fn *copy_of(int bytes)
{
    switch (bytes) {
    case 1:
        return run_copy<uint8_t>;
    case 2:
        return run_copy<uint16_t>;
    case 4:
        return run_copy<uint32_t>;
    case 8:
        return run_copy<uint64_t>;
    default:
        return run_copy<sixteen>;
    }
}

template <class element> struct where_row {
    typedef element out, in1, in2;
    typedef uint8_t in0;
    enum { inputs = 3 };
    static __forceinline__ __device__ out apply(uint8_t mask, element a, element b, const double[])
    {
        return mask != 0 ? a : b;
    }
};

static ht_kernel_fn *where_of(int bytes)
{
    switch (bytes) {
    case 1:
        return ht_cuda_run_row<where_row<uint8_t>>;
    case 2:
        return ht_cuda_run_row<where_row<uint16_t>>;
    case 4:
        return ht_cuda_run_row<where_row<uint32_t>>;
    case 8:
        return ht_cuda_run_row<where_row<uint64_t>>;
    default:
        return ht_cuda_run_row<where_row<sixteen>>;
    }
}

void ht_cuda_add_copy(ht_backend *backend)
{
#define ADD(dtype, name, bytes)                                    \
    ht_cuda_add_conversion(backend, dtype, dtype, copy_of(bytes)); \
    ht_cuda_add(backend, "WHERE", dtype, where_of(bytes));
    HT_DTYPE_LIST(ADD)
#undef ADD
}

/* SPDX-License-Identifier: MIT
 *
 * Copies, fills and choices by a mask, which move elements as they are. */
#include "backends/cuda/elementwise/tile.h"
#include "backends/cuda/index/words.h"

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

template <class element> struct where_row {
    typedef element out, in1, in2;
    typedef uint8_t in0;
    enum { inputs = 3 };
    static __forceinline__ __device__ out apply(uint8_t mask, element a, element b, const double[])
    {
        return mask != 0 ? a : b;
    }
};

template <class element> struct copies {
    static void add(ht_backend *backend, ht_dtype dtype)
    {
        ht_cuda_add_conversion(backend, dtype, dtype, run_copy<element>);
        ht_cuda_add(backend, "WHERE", dtype, ht_cuda_run_row<where_row<element>>);
    }
};

void ht_cuda_add_copy(ht_backend *backend)
{
#define ADD(dtype, name, bytes) ht_cuda_add_words<copies>(backend, dtype, bytes);
    HT_DTYPE_LIST(ADD)
#undef ADD
}

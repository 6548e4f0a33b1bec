/* SPDX-License-Identifier: MIT
 *
 * Choices by a mask, which move elements as they are: one kernel for each size of an element serves
 * all dtypes of that size. */
#include "backends/cuda/elementwise/walk.h"
#include "backends/cuda/kernels.h"

struct alignas(16) sixteen {
    uint64_t half[2];
};

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
#define ADD(dtype, name, bytes) ht_cuda_add(backend, "WHERE", dtype, where_of(bytes));
    HT_DTYPE_LIST(ADD)
#undef ADD
}

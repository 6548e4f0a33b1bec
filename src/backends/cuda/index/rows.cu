/* SPDX-License-Identifier: MIT
 *
 * Reading and writing rows at indices.
 *
 * Rows may be written to the same place: then the last one stays, and sums are taken in the order of
 * the rows, as on the CPU. So the places are dealt out to the threads: each reads all indices, and
 * writes its share. */
#include "backends/cuda/axes.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/scratch.h"

#include "backends/cuda/dtypes.h"

#include "backends/cpu/index/place.h"

/* Threads that write, as far as there are elements and rows for them. */
static const int64_t WRITERS = 1 << 16, MOST_SHARES = 256;

struct rows_job {
    ht_index_call call;
    ht_cuda_axes row;
    int64_t shares;
};

struct alignas(16) sixteen {
    uint64_t half[2];
};

template <class element> static __global__ void take_rows(rows_job j, element *y, const element *x)
{
    const ht_index_call &c = j.call;
    const int64_t work = c.rows * j.row.count;
    int64_t place;

    HT_CUDA_EACH(i, work)
    {
        const int64_t row = i / j.row.count, e = i % j.row.count;

        if (ht__find_place(&c, row, &place))
            y[row * c.row_step + ht_cuda_offset(j.row, c.loop.stride[0], e)] =
                x[place + ht_cuda_offset(j.row, c.loop.stride[1], e)];
    }
}

/* Adjacent places belong to different threads. */
static __forceinline__ __device__ bool is_mine(int64_t place, int64_t share, int64_t shares)
{
    return (int64_t)((uint64_t)place * 0x9e3779b97f4a7c15u >> 40) % shares == share;
}

/* set: struct { typedef element; static void at(element &x, element y); } */
template <class set>
static __global__ void put_rows(rows_job j, typename set::element *x,
                                const typename set::element *y)
{
    const ht_index_call &c = j.call;
    const int64_t work = j.shares * j.row.count;
    int64_t place;

    HT_CUDA_EACH(i, work)
    {
        const int64_t share = i / j.row.count, e = i % j.row.count;
        const int64_t to = ht_cuda_offset(j.row, c.loop.stride[0], e);
        const int64_t from = ht_cuda_offset(j.row, c.loop.stride[1], e);

        for (int64_t row = 0; row < c.rows; row++)
            if (ht__find_place(&c, row, &place) && is_mine(place, share, j.shares))
                set::at(x[place + to], y[row * c.row_step + from]);
    }
}

template <class type> struct put_set {
    typedef type element;
    static __forceinline__ __device__ void at(type &x, type y)
    {
        x = y;
    }
};

/* HT_KERNEL_REFUSED, 1 after services->fail, 0: there is work, -2: there is none. */
enum { NO_WORK = -2 };

static int begin(ht_cuda_device *device, const ht_kernel_call *call, rows_job *j)
{
    *j = {};
    j->call = *(const ht_index_call *)call;
    if (!ht_cuda_make_axes(&j->row, j->call.loop.ndim, j->call.loop.shape))
        return HT_KERNEL_REFUSED;
    if (j->call.rows == 0 || j->row.count == 0)
        return NO_WORK;
    j->shares = WRITERS / j->row.count;
    j->shares = j->shares < MOST_SHARES ? j->shares : MOST_SHARES;
    j->shares = j->shares < j->call.rows ? j->shares : j->call.rows;
    j->shares = j->shares > 1 ? j->shares : 1;
    return ht_cuda_begin(device, call);
}

template <class element> static int run_take(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    rows_job j;
    const int failed = begin(device, call, &j);

    if (failed != 0)
        return failed == NO_WORK ? 0 : failed;
    HT_CUDA_LAUNCH(take_rows<element>, ht_cuda_blocks(device, j.call.rows * j.row.count),
                   HT_CUDA_THREADS, device->stream, j,
                   static_cast<element *>(j.call.loop.operand[0].data),
                   static_cast<const element *>(j.call.loop.operand[1].data));
    return ht_cuda_end(device, call);
}

template <class set> static int run_put(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    rows_job j;
    const int failed = begin(device, call, &j);

    if (failed != 0)
        return failed == NO_WORK ? 0 : failed;
    HT_CUDA_LAUNCH(put_rows<set>, ht_cuda_blocks(device, j.shares * j.row.count), HT_CUDA_THREADS,
                   device->stream, j,
                   static_cast<typename set::element *>(j.call.loop.operand[0].data),
                   static_cast<const typename set::element *>(j.call.loop.operand[1].data));
    return ht_cuda_end(device, call);
}

#define HT_TEMPLATE "backends/cuda/index/rows.inc.cu"
#include "backends/cpu/foreach_dtype.h"

template <class element> static void add_moves(ht_backend *backend, ht_dtype dtype)
{
    ht_cuda_add(backend, "TAKE", dtype, run_take<element>);
    ht_cuda_add(backend, "PUT", dtype, run_put<put_set<element>>);
}

static void add_moves_of_size(ht_backend *backend, ht_dtype dtype, int bytes)
{
    switch (bytes) {
    case 1:
        return add_moves<uint8_t>(backend, dtype);
    case 2:
        return add_moves<uint16_t>(backend, dtype);
    case 4:
        return add_moves<uint32_t>(backend, dtype);
    case 8:
        return add_moves<uint64_t>(backend, dtype);
    default:
        return add_moves<sixteen>(backend, dtype);
    }
}

void ht_cuda_add_rows(ht_backend *backend)
{
#define ADD(dtype, name, bytes) add_moves_of_size(backend, dtype, bytes);
    HT_DTYPE_LIST(ADD)
#undef ADD
#define ADD(dtype) ht_cuda_add(backend, "PUT_ADD", dtype, run_put<add_set_##dtype>);
    HT_CUDA_LIST(ADD)
#undef ADD
}

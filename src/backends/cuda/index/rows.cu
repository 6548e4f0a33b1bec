/* SPDX-License-Identifier: MIT
 *
 * Reading and writing rows at indices.
 *
 * Rows may be written to the same place: then the last one stays, and sums are taken in the order
 * of the rows, as on the CPU. So the rows are sorted by place, and a thread writes one element of
 * all rows of a place. A few rows are not worth a sort: the places are dealt out to the threads,
 * each of which reads all indices and writes its share. */
#include <numeric>

#include "backends/cuda/axes.h"
#include "backends/cuda/index/sorted.h"
#include "backends/cuda/index/words.h"

#include "backends/cuda/dtypes.h"

#include "backends/cpu/index/place.h"

/* Threads that write, if there are enough elements and rows for them. */
static const int64_t WRITERS = 1 << 16, MOST_SHARES = 256;

/* Fewer rows are not sorted. */
static const int64_t SORTED_ROWS = 64;

/* Rows that are summed with one wait for memory. */
enum { AHEAD = 8 };

/* A row at place least + key * unit has this key; one without a place has the key `none`. */
struct rows_job {
    ht_index_call call;
    ht_cuda_axes row;
    ht_cuda_length length; /* of a row */
    int64_t least, unit, none;
};

template <class element> static __global__ void take_rows(rows_job j, element *y, const element *x)
{
    const ht_index_call &c = j.call;
    const int64_t work = c.rows * j.row.count;
    int64_t place;

    HT_CUDA_EACH(i, work)
    {
        int64_t e;
        const int64_t row = ht_cuda_divide(i, j.length, &e);

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

/* set: struct {
 *     typedef element;
 *     static const bool adds;                 or the last row counts
 *     static void at(element &x, element y);
 * } */
template <class set>
static __global__ void put_rows(int64_t work, rows_job j, int64_t shares, typename set::element *x,
                                const typename set::element *y)
{
    const ht_index_call &c = j.call;
    int64_t place;

    HT_CUDA_EACH(i, work)
    {
        int64_t e;
        const int64_t share = ht_cuda_divide(i, j.length, &e);
        const int64_t to = ht_cuda_offset(j.row, c.loop.stride[0], e);
        const int64_t from = ht_cuda_offset(j.row, c.loop.stride[1], e);

        for (int64_t row = 0; row < c.rows; row++)
            if (ht__find_place(&c, row, &place) && is_mine(place, share, shares))
                set::at(x[place + to], y[row * c.row_step + from]);
    }
}

static __global__ void number_rows(int64_t rows, rows_job j, uint32_t *keys, uint32_t *numbers)
{
    int64_t place;

    HT_CUDA_EACH(row, rows)
    {
        const bool found = ht__find_place(&j.call, row, &place);

        keys[row] = (uint32_t)(found ? (place - j.least) / j.unit : j.none);
        numbers[row] = (uint32_t)row;
    }
}

/* Adds an element of the rows from `at` on that have one key. `numbers` are those of the rows. */
template <class set>
static __forceinline__ __device__ void add_run(const ht_index_call &c, const uint32_t *keys,
                                               const uint32_t *numbers, int64_t at,
                                               typename set::element *to,
                                               const typename set::element *from)
{
    const uint32_t key = keys[at];
    typename set::element sum = *to, next[AHEAD];

    HT_CUDA_ROLLED
    for (; at + AHEAD <= c.rows && keys[at + AHEAD - 1] == key; at += AHEAD) {
        HT_CUDA_UNROLL
        for (int k = 0; k < AHEAD; k++)
            next[k] = from[numbers[at + k] * c.row_step];
        HT_CUDA_UNROLL
        for (int k = 0; k < AHEAD; k++)
            set::at(sum, next[k]);
    }
    HT_CUDA_ROLLED
    for (; at < c.rows && keys[at] == key; at++)
        set::at(sum, from[numbers[at] * c.row_step]);
    *to = sum;
}

/* The thread of the first row of a place adds them all; or that of the last one writes it. */
template <class set>
static __global__ void put_sorted(int64_t work, rows_job j, const uint32_t *keys,
                                  const uint32_t *numbers, typename set::element *x,
                                  const typename set::element *y)
{
    const ht_index_call &c = j.call;

    HT_CUDA_EACH(i, work)
    {
        int64_t e;
        const int64_t at = ht_cuda_divide(i, j.length, &e), neighbour = set::adds ? at - 1 : at + 1;
        const uint32_t key = keys[at];

        if (key == j.none || (neighbour >= 0 && neighbour < c.rows && keys[neighbour] == key))
            continue;
        typename set::element *to = x + j.least + key * j.unit +
                                    ht_cuda_offset(j.row, c.loop.stride[0], e);
        const typename set::element *from = y + ht_cuda_offset(j.row, c.loop.stride[1], e);

        if (set::adds)
            add_run<set>(c, keys, numbers, at, to, from);
        else
            set::at(*to, from[numbers[at] * c.row_step]);
    }
}

template <class type> struct put_set {
    typedef type element;
    static const bool adds = false;
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
    j->length = ht_cuda_length_of(j->row.count, j->call.rows * j->row.count);
    return ht_cuda_begin(device, call);
}

/* Gives places keys, whose distances are the strides of x. */
static void set_keys(rows_job *j)
{
    int64_t most = 0;

    for (int k = 0; k < j->call.axes; k++) {
        const ht_indexed_axis *axis = &j->call.axis[k];
        const int64_t reach = (axis->count - 1) * axis->stride;

        most += reach > 0 ? reach : 0;
        j->least += reach < 0 ? reach : 0;
        if (reach != 0)
            j->unit = std::gcd(j->unit, axis->stride);
    }
    j->unit = j->unit > 0 ? j->unit : 1;
    j->none = (most - j->least) / j->unit + 1;
}

/* How many threads share the places. */
static int64_t shares_of(const rows_job &j)
{
    int64_t shares = WRITERS / j.row.count;

    shares = shares < MOST_SHARES ? shares : MOST_SHARES;
    shares = shares < j.call.rows ? shares : j.call.rows;
    return shares > 1 ? shares : 1;
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
    typedef typename set::element element;
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    rows_job j;
    const int failed = begin(device, call, &j);
    element *x = static_cast<element *>(j.call.loop.operand[0].data);
    const element *y = static_cast<const element *>(j.call.loop.operand[1].data);

    if (failed != 0)
        return failed == NO_WORK ? 0 : failed;
    set_keys(&j);
    if (j.call.rows >= SORTED_ROWS && ht_cuda_is_sortable(j.call.rows, j.none))
        return ht_cuda_with_sorted(
            device, call, j.call.rows, j.none,
            [=](uint32_t *keys, uint32_t *numbers) {
                HT_CUDA_LAUNCH_EACH(device, number_rows, j.call.rows, j, keys, numbers);
            },
            [=](const uint32_t *keys, const uint32_t *numbers) {
                HT_CUDA_LAUNCH_EACH(device, put_sorted<set>, j.call.rows * j.row.count, j, keys,
                                    numbers, x, y);
            });
    const int64_t shares = shares_of(j);

    HT_CUDA_LAUNCH_EACH(device, put_rows<set>, shares * j.row.count, j, shares, x, y);
    return ht_cuda_end(device, call);
}

#define HT_TEMPLATE "backends/cuda/index/rows.inc.cu"
#include "backends/cpu/foreach_dtype.h"

template <class element> struct row_moves {
    static void add(ht_backend *backend, ht_dtype dtype)
    {
        ht_cuda_add(backend, "TAKE", dtype, run_take<element>);
        ht_cuda_add(backend, "PUT", dtype, run_put<put_set<element>>);
    }
};

void ht_cuda_add_rows(ht_backend *backend)
{
#define ADD(dtype, name, bytes) ht_cuda_add_words<row_moves>(backend, dtype, bytes);
    HT_DTYPE_LIST(ADD)
#undef ADD
#define ADD(dtype) ht_cuda_add(backend, "PUT_ADD", dtype, run_put<add_set_##dtype>);
    HT_CUDA_LIST(ADD)
#undef ADD
}

/* SPDX-License-Identifier: MIT
 *
 * The places of the set elements of a mask. Each thread counts those of a chunk, a scan gives the
 * first place of each chunk, and each thread lists its own. */
#include "backends/cuda/kernels.h"
#include "backends/cuda/reduce/scan.h"
#include "backends/cuda/scratch.h"
#include "ht/kernels/index.h"

enum { CHUNK = 64 };

struct nonzero_job {
    ht_nonzero_call call;
    ht_cuda_axes axes;
    int64_t chunks;
};

static __forceinline__ __device__ bool is_set(const nonzero_job &j, int64_t e)
{
    return static_cast<const uint8_t *>(
               j.call.mask.data)[ht_cuda_offset(j.axes, j.call.stride, e)] != 0;
}

static __global__ void count_set(nonzero_job j, uint64_t *counts)
{

    HT_CUDA_EACH(i, j.chunks)
    {
        const int64_t end = (i + 1) * CHUNK < j.axes.count ? (i + 1) * CHUNK : j.axes.count;
        uint64_t count = 0;

        for (int64_t e = i * CHUNK; e < end; e++)
            count += is_set(j, e);
        counts[i] = count;
    }
}

/* The indices of element e, from the last axis on. */
static __forceinline__ __device__ void put_place(const nonzero_job &j, int64_t e, int64_t *at)
{
    for (int axis = j.call.ndim - 1; axis >= 0; axis--) {
        at[axis] = j.call.start[axis] + e % j.call.shape[axis];
        e /= j.call.shape[axis];
    }
}

/* counts: up to and with each chunk. */
static __global__ void list_set(nonzero_job j, const uint64_t *counts)
{
    int64_t *at = static_cast<int64_t *>(j.call.at.data);

    HT_CUDA_EACH(i, j.chunks)
    {
        const int64_t end = (i + 1) * CHUNK < j.axes.count ? (i + 1) * CHUNK : j.axes.count;
        int64_t found = i > 0 ? (int64_t)counts[i - 1] : 0;

        for (int64_t e = i * CHUNK; e < end; e++)
            if (is_set(j, e))
                put_place(j, e, at + found++ * j.call.ndim);
    }
}

static int nonzero(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    nonzero_job j = {};

    j.call = *(const ht_nonzero_call *)call;
    if (!ht_cuda_make_axes(&j.axes, j.call.ndim, j.call.shape))
        return HT_KERNEL_REFUSED;
    if (j.call.count == 0)
        return 0;
    j.chunks = (j.axes.count + CHUNK - 1) / CHUNK;
    return ht_cuda_with_scratch<uint64_t>(device, call, (size_t)j.chunks, [=](uint64_t *counts) {
        HT_CUDA_LAUNCH(count_set, ht_cuda_blocks(device, j.chunks), HT_CUDA_THREADS, device->stream,
                       j, counts);
        const int failed = ht_cuda_scan_counts(device, counts, j.chunks, call->what);

        if (failed == 0)
            HT_CUDA_LAUNCH(list_set, ht_cuda_blocks(device, j.chunks), HT_CUDA_THREADS,
                           device->stream, j, static_cast<const uint64_t *>(counts));
        return failed;
    });
}

void ht_cuda_add_nonzero(ht_backend *backend)
{
    ht_cuda_add(backend, "NONZERO", HT_BOOL, nonzero);
}

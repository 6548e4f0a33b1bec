/* SPDX-License-Identifier: MIT
 *
 * Cumulative sums and products. A line is cut into chunks, one thread each. The first launch folds
 * every chunk, a scan of these results gives what comes before each chunk, and the last launch
 * walks the chunks again. Short lines, and many lines, have one chunk. Chunks depend on the shape
 * alone, so that every device gives the same bits. */
#ifndef HT_BACKENDS_CUDA_REDUCE_SCAN_H
#define HT_BACKENDS_CUDA_REDUCE_SCAN_H

#include "backends/cuda/axes.h"
#include "backends/cuda/scratch.h"
#include "ht/kernels/reduce.h"

struct ht_cuda_scan {
    ht_cuda_axes lines;
    int64_t count, chunk, chunks; /* elements of a line and of a chunk, chunks of a line */
    bool product;
    void *y;
    const void *x, *start;  /* start: of each line, or NULL */
    const void *before;     /* (lines, chunks): all up to and with each chunk, or NULL */
    int64_t y_step, x_step; /* along a line */
    int64_t y_stride[HT_MAX_NDIM], x_stride[HT_MAX_NDIM], start_stride[HT_MAX_NDIM];
};

/* The kernels of a scan of elements, and of one of results of chunks. */
struct ht_cuda_scan_kernels {
    void (*fold)(ht_cuda_scan s, void *to), (*fold_parts)(ht_cuda_scan s, void *to);
    void (*walk)(ht_cuda_scan s), (*walk_parts)(ht_cuda_scan s);
    size_t size; /* bytes of an accumulator */
};

/* row: struct { typedef in, acc, out; static acc get(in); static out put(acc); } */
template <class row> static __global__ void ht_cuda_scan_fold(ht_cuda_scan s, void *to)
{
    const int64_t work = s.lines.count * s.chunks;

    HT_CUDA_EACH(i, work)
    {
        const int64_t line = i / s.chunks, first = i % s.chunks * s.chunk;
        const int64_t end = first + s.chunk < s.count ? first + s.chunk : s.count;
        const typename row::in *x = static_cast<const typename row::in *>(s.x) +
                                    ht_cuda_offset(s.lines, s.x_stride, line);
        typename row::acc a = s.product ? 1 : 0;

        for (int64_t e = first; e < end; e++)
            a = s.product ? a * row::get(x[e * s.x_step]) : a + row::get(x[e * s.x_step]);
        static_cast<typename row::acc *>(to)[i] = a;
    }
}

template <class row> static __global__ void ht_cuda_scan_walk(ht_cuda_scan s)
{
    const int64_t work = s.lines.count * s.chunks;
    const typename row::acc *start = static_cast<const typename row::acc *>(s.start);
    const typename row::acc *before = static_cast<const typename row::acc *>(s.before);

    HT_CUDA_EACH(i, work)
    {
        const int64_t line = i / s.chunks, first = i % s.chunks * s.chunk;
        const int64_t end = first + s.chunk < s.count ? first + s.chunk : s.count;
        const typename row::in *x = static_cast<const typename row::in *>(s.x) +
                                    ht_cuda_offset(s.lines, s.x_stride, line);
        typename row::out *y = static_cast<typename row::out *>(s.y) +
                               ht_cuda_offset(s.lines, s.y_stride, line);
        typename row::acc a = s.product ? 1 : 0;

        if (start != NULL)
            a = start[ht_cuda_offset(s.lines, s.start_stride, line)];
        if (first > 0)
            a = s.product ? a * before[i - 1] : a + before[i - 1];
        for (int64_t e = first; e < end; e++) {
            a = s.product ? a * row::get(x[e * s.x_step]) : a + row::get(x[e * s.x_step]);
            y[e * s.y_step] = row::put(a);
        }
    }
}

/* A scan of accumulators. */
template <class type> struct ht_cuda_scan_parts {
    typedef type in, acc, out;
    static __forceinline__ __device__ acc get(in x)
    {
        return x;
    }
    static __forceinline__ __device__ out put(acc a)
    {
        return a;
    }
};

/* 0, HT_KERNEL_REFUSED, or 1 after services->fail. */
int ht_cuda_run_scan(void *stream, const ht_kernel_call *call, bool product,
                     const ht_cuda_scan_kernels *kernels);

/* counts (n) <- their cumulative sums. 0, or 1 after services->fail. */
int ht_cuda_scan_counts(ht_cuda_device *device, uint64_t *counts, int64_t n, const char *what);

template <class row, bool product>
static int ht_cuda_scan_lines(void *stream, const ht_kernel_call *call)
{
    typedef ht_cuda_scan_parts<typename row::acc> parts;
    static const ht_cuda_scan_kernels kernels = {ht_cuda_scan_fold<row>, ht_cuda_scan_fold<parts>,
                                                 ht_cuda_scan_walk<row>, ht_cuda_scan_walk<parts>,
                                                 sizeof(typename row::acc)};

    return ht_cuda_run_scan(stream, call, product, &kernels);
}

#endif

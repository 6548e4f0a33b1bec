/* SPDX-License-Identifier: MIT
 *
 * Reductions in two steps, without shared memory: each thread folds some elements of an output into
 * an accumulator, and later launches join the accumulators of an output, a few dozen at a time,
 * until one is left. Which elements a thread folds depends on the shape and strides alone, so that
 * every device gives the same bits. A fold is a struct:
 *
 *     struct fold {
 *         typedef double acc;
 *         typedef float item;            what a thread reads of an element
 *         static acc start(const ht_cuda_reduction &r, int64_t o, int64_t at);
 *         static item get(const ht_cuda_reduction &r, int64_t at);
 *         static void step(acc &a, const ht_cuda_reduction &r, const item &x, int64_t e);
 *         static void finish(acc &a);    after the last step of a thread
 *         static void join(acc &a, const acc &b, int kind);
 *         static void put(const ht_cuda_reduction &r, int64_t o, const acc &a);
 *     };
 *
 * o is the number of an output, e that of an element of it, and `at` is where x has the element;
 * for start, the first one.
 *
 * A thread reads several items before it uses the first of them: so few threads keep the memory
 * busy. It uses them in the order of the elements. */
#ifndef HT_BACKENDS_CUDA_REDUCE_FOLD_H
#define HT_BACKENDS_CUDA_REDUCE_FOLD_H

#include "backends/cuda/axes.h"
#include "backends/cuda/scratch.h"
#include "ht/kernels/reduce.h"

struct ht_cuda_reduction {
    ht_cuda_axes outputs, reduced;
    int64_t segments; /* the threads of an output */
    bool across;      /* adjacent threads belong to one output */
    int kind;         /* which of several kernels that share a fold */
    double divisor;
    void *y;
    const void *x, *also; /* also: a second input of some folds */
    const double *mean;   /* of each output, for some */
    const void *extra;    /* further storage of some folds, on the device */
    int64_t *at;          /* of ARGMAX and ARGMIN */
    int64_t y_stride[HT_MAX_NDIM], x_stride[HT_MAX_NDIM], at_stride[HT_MAX_NDIM];
    int64_t stride[HT_MAX_NDIM]; /* of the reduced axes */
};

/* For folds whose threads have nothing to finish. */
struct ht_cuda_plain_fold {
    template <class acc> static __forceinline__ __device__ void finish(acc &)
    {
    }
};

/* For folds that read an element of x. */
template <class type> struct ht_cuda_one_input {
    typedef type item;
    static __forceinline__ __device__ item get(const ht_cuda_reduction &r, int64_t at)
    {
        return static_cast<const type *>(r.x)[at];
    }
};

/* For folds that read an element of x, and the one of `also` at the same place. */
template <class type> struct ht_cuda_two_inputs {
    struct item {
        type x, also;
    };
    static __forceinline__ __device__ item get(const ht_cuda_reduction &r, int64_t at)
    {
        return {static_cast<const type *>(r.x)[at], static_cast<const type *>(r.also)[at]};
    }
};

/* For folds that are sums: `type` has +=, and begins with zeros. */
template <class type> struct ht_cuda_sum_fold : ht_cuda_plain_fold {
    typedef type acc;
    static __forceinline__ __device__ acc start(const ht_cuda_reduction &, int64_t, int64_t)
    {
        return {};
    }
    static __forceinline__ __device__ void join(acc &a, const acc &b, int)
    {
        a += b;
    }
};

/* Two sums of a fold, which y (2, outputs) holds. */
struct ht_cuda_two_sums {
    double first, second;

    __forceinline__ __device__ void operator+=(const ht_cuda_two_sums &other)
    {
        first += other.first;
        second += other.second;
    }
};

static __forceinline__ __device__ void ht_cuda_put_two(const ht_cuda_reduction &r, int64_t o,
                                                       double first, double second)
{
    static_cast<double *>(r.y)[o] = first;
    static_cast<double *>(r.y)[r.outputs.count + o] = second;
}

/* The two kernels of a fold. Accumulators are (segments, outputs). A kernel without `to` stores
 * results. */
struct ht_cuda_fold {
    void (*fold)(ht_cuda_reduction r, void *to);
    void (*join)(ht_cuda_reduction r, const void *from, void *to, int64_t fewer);
    size_t size; /* bytes of an accumulator */
};

/* The number of items or accumulators of a size that a thread reads before it uses the first: as
 * many as fit into `bytes` bytes. */
template <size_t bytes, size_t size> struct ht_cuda_depth {
    enum { value = bytes / size > 16 ? 16 : bytes / size < 4 ? 4 : bytes / size };
};

/* Elements e, e + segments, and so on: `depth` of them, or fewer at the end. line: there is one
 * reduced axis. */
template <class fold, bool line, int depth, bool full>
static __forceinline__ __device__ void ht_cuda_fold_some(typename fold::acc &a,
                                                         const ht_cuda_reduction &r, int64_t first,
                                                         int64_t e)
{
    const int64_t begin = first + e * r.stride[0], step = r.segments * r.stride[0];
    typename fold::item x[depth] = {};

    HT_CUDA_UNROLL
    for (int k = 0; k < depth; k++) {
        const int64_t next = e + k * r.segments;

        if (full || next < r.reduced.count)
            x[k] = fold::get(r, line ? begin + k * step
                                     : first + ht_cuda_offset(r.reduced, r.stride, next));
    }
    HT_CUDA_UNROLL
    for (int k = 0; k < depth; k++) {
        const int64_t next = e + k * r.segments;

        if (full || next < r.reduced.count)
            fold::step(a, r, x[k], next);
    }
}

/* The elements of a thread. */
template <class fold, bool line>
static __forceinline__ __device__ void ht_cuda_fold_segment(typename fold::acc &a,
                                                            const ht_cuda_reduction &r,
                                                            int64_t first, int64_t segment)
{
    enum {
        most = ht_cuda_depth<64, sizeof(typename fold::item)>::value,
        depth = line ? most : most / 2
    };
    int64_t e = segment;

    HT_CUDA_ROLLED
    for (; e + (depth - 1) * r.segments < r.reduced.count; e += depth * r.segments)
        ht_cuda_fold_some<fold, line, depth, true>(a, r, first, e);
    if (e < r.reduced.count)
        ht_cuda_fold_some<fold, line, depth, false>(a, r, first, e);
}

/* WANTED threads (plan.cu) are resident at once on a device of 128 cores. */
template <class fold>
static __global__ HT_CUDA_RESIDENT(4) void ht_cuda_fold_segments(ht_cuda_reduction r, void *to)
{
    const int64_t outputs = r.outputs.count, work = outputs * r.segments;

    HT_CUDA_EACH(i, work)
    {
        const bool whole = r.segments == 1;
        const int64_t o = whole ? i : r.across ? i / r.segments : i % outputs;
        const int64_t segment = whole ? 0 : r.across ? i % r.segments : i / outputs;
        const int64_t first = ht_cuda_offset(r.outputs, r.x_stride, o);
        typename fold::acc a = fold::start(r, o, first);

        if (r.reduced.ndim == 1)
            ht_cuda_fold_segment<fold, true>(a, r, first, segment);
        else
            ht_cuda_fold_segment<fold, false>(a, r, first, segment);
        fold::finish(a);
        if (to != NULL)
            static_cast<typename fold::acc *>(to)[segment * outputs + o] = a;
        else
            fold::put(r, o, a);
    }
}

template <class fold>
static __global__ void ht_cuda_join_segments(ht_cuda_reduction r, const void *from, void *to,
                                             int64_t fewer)
{
    enum { depth = ht_cuda_depth<128, sizeof(typename fold::acc)>::value };
    const int64_t work = r.outputs.count * fewer, all = r.outputs.count * r.segments;
    const typename fold::acc *part = static_cast<const typename fold::acc *>(from);

    HT_CUDA_EACH(i, work)
    {
        typename fold::acc a = part[i];

        HT_CUDA_ROLLED
        for (int64_t next = i + work; next < all; next += depth * work) {
            typename fold::acc b[depth];

            HT_CUDA_UNROLL
            for (int k = 0; k < depth; k++)
                b[k] = part[next + k * work < all ? next + k * work : i];
            HT_CUDA_UNROLL
            for (int k = 0; k < depth; k++)
                if (next + k * work < all)
                    fold::join(a, b[k], r.kind);
        }
        if (to != NULL)
            static_cast<typename fold::acc *>(to)[i] = a;
        else
            fold::put(r, i, a);
    }
}

/* 0, HT_KERNEL_REFUSED, or 1 after services->fail. */
int ht_cuda_run_reduction(void *stream, const ht_kernel_call *call, int kind,
                          const ht_cuda_fold *fold);

/* The same between ht_cuda_begin and ht_cuda_end, for axes and strides that are set. */
int ht_cuda_launch_reduction(const ht_cuda_device *device, ht_cuda_reduction *r,
                             const ht_cuda_fold *fold, const char *what);

template <class fold> static const ht_cuda_fold *ht_cuda_fold_kernels(void)
{
    static const ht_cuda_fold kernels = {ht_cuda_fold_segments<fold>, ht_cuda_join_segments<fold>,
                                         sizeof(typename fold::acc)};

    return &kernels;
}

/* The kernel of a fold. */
template <class fold, int kind> static int ht_cuda_reduce(void *stream, const ht_kernel_call *call)
{
    return ht_cuda_run_reduction(stream, call, kind, ht_cuda_fold_kernels<fold>());
}

#endif

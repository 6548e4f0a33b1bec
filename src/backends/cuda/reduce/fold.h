/* SPDX-License-Identifier: MIT
 *
 * Reductions in two steps, without shared memory: each thread folds some elements of an output into
 * an accumulator, and later launches join the accumulators of an output, a few dozen at a time,
 * until one is left. Which elements a thread folds depends on the shape and strides alone, so that
 * every device gives the same bits. A fold is a struct:
 *
 *     struct fold {
 *         typedef double acc;
 *         static acc start(const ht_cuda_reduction &r, int64_t o, int64_t at);
 *         static void step(acc &a, const ht_cuda_reduction &r, int64_t at, int64_t e);
 *         static void finish(acc &a);    after the last step of a thread
 *         static void join(acc &a, const acc &b, int kind);
 *         static void put(const ht_cuda_reduction &r, int64_t o, const acc &a);
 *     };
 *
 * o is the number of an output, e that of an element of it, and `at` is where x has the element; for
 * start, the first one. */
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
    const void *extra;    /* what some folds take besides, on the device */
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

template <class fold> static __global__ void ht_cuda_fold_segments(ht_cuda_reduction r, void *to)
{
    const int64_t outputs = r.outputs.count, work = outputs * r.segments;

    HT_CUDA_EACH(i, work)
    {
        const int64_t o = r.across ? i / r.segments : i % outputs;
        const int64_t segment = r.across ? i % r.segments : i / outputs;
        const int64_t first = ht_cuda_offset(r.outputs, r.x_stride, o);
        typename fold::acc a = fold::start(r, o, first);

        for (int64_t e = segment; e < r.reduced.count; e += r.segments)
            fold::step(a, r, first + ht_cuda_offset(r.reduced, r.stride, e), e);
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
    const int64_t outputs = r.outputs.count, work = outputs * fewer;
    const typename fold::acc *part = static_cast<const typename fold::acc *>(from);

    HT_CUDA_EACH(i, work)
    {
        typename fold::acc a = part[i];

        for (int64_t next = i + work; next < outputs * r.segments; next += work)
            fold::join(a, part[next], r.kind);
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

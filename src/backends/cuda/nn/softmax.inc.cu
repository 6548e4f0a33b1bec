/* SPDX-License-Identifier: MIT
 *
 * Template inside others: the largest element of each row of a dtype, and the sum of exponentials. */
#include "backends/cpu/reduce/better.inc.c"

/* The largest element of each row, in the dtype of arithmetic. */
struct NAME(row_max) : ht_cuda_plain_fold, ht_cuda_one_input<T> {
    typedef C acc;
    static __forceinline__ __device__ acc start(const ht_cuda_reduction &r, int64_t, int64_t at)
    {
        return LOAD(get(r, at));
    }
    static __forceinline__ __device__ void step(acc &a, const ht_cuda_reduction &, const item &x,
                                                int64_t)
    {
        a = NAME(max_step)(a, LOAD(x));
    }
    static __forceinline__ __device__ void join(acc &a, const acc &b, int)
    {
        a = NAME(max_step)(a, b);
    }
    static __forceinline__ __device__ void put(const ht_cuda_reduction &r, int64_t o, const acc &a)
    {
        static_cast<C *>(r.y)[o] = a;
    }
};

struct NAME(shifted) {
    C shift;
    double sum;

    __forceinline__ __device__ void operator+=(const NAME(shifted) & other)
    {
        sum += other.sum;
    }
};

/* The sum of exp(x - shift), with the shifts of all rows in `also`; without them, the sum of x. The
 * kind tells whether its logarithm is stored. A shift of -inf, where all elements are -inf, counts as
 * 0. */
struct NAME(row_sum) : ht_cuda_sum_fold<NAME(shifted)>, ht_cuda_one_input<T> {
    static __forceinline__ __device__ acc start(const ht_cuda_reduction &r, int64_t o, int64_t)
    {
        const C shift = r.also != NULL ? static_cast<const C *>(r.also)[o] : 0;

        return {shift == -(C)INFINITY ? 0 : shift, 0};
    }
    static __forceinline__ __device__ void step(acc &a, const ht_cuda_reduction &r, const item &x,
                                                int64_t)
    {
        const C value = LOAD(x);

        a.sum += (double)(r.also != NULL ? HT_MATH(exp, value - a.shift) : value);
    }
    static __forceinline__ __device__ void put(const ht_cuda_reduction &r, int64_t o, const acc &a)
    {
        static_cast<C *>(r.y)[o] = (C)(r.kind == HT_CUDA_LOG_SUM ? log(a.sum) : a.sum);
    }
};

/* max (rows), and sum (rows) of exp(x - max), or its logarithm. */
static int NAME(row_statistics)(const ht_cuda_device *device, int kind, int64_t rows,
                                int64_t columns, const void *x, C *max, C *sum, const char *what)
{
    ht_cuda_reduction r = ht_cuda_over_columns(rows, columns, x, max);

    if (ht_cuda_launch_reduction(device, &r, ht_cuda_fold_kernels<NAME(row_max)>(), what) != 0)
        return 1;
    r = ht_cuda_over_columns(rows, columns, x, sum);
    r.also = max;
    r.kind = kind;
    return ht_cuda_launch_reduction(device, &r, ht_cuda_fold_kernels<NAME(row_sum)>(), what);
}

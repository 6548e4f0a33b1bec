/* SPDX-License-Identifier: MIT
 *
 * Template: the folds of a dtype (fold.h says what a fold is). */
#if !HT_IS_COMPLEX
#include "backends/cpu/reduce/better.inc.c"
#endif
#if HT_IS_FLOAT
#include "backends/cpu/reduce/key.inc.c"
#endif

#define OUTPUT(type) static_cast<type *>(r.y)[ht_cuda_offset(r.outputs, r.y_stride, o)]

#if HT_IS_INTEGER || HT_IS_BOOL
struct NAME(whole_sum) : ht_cuda_sum_fold<uint64_t>, ht_cuda_one_input<T> {
    static __forceinline__ __device__ void step(acc &a, const ht_cuda_reduction &, const item &x,
                                                int64_t)
    {
        a += (uint64_t)LOAD(x);
    }
    static __forceinline__ __device__ void put(const ht_cuda_reduction &r, int64_t o, const acc &a)
    {
        OUTPUT(int64_t) = (int64_t)a;
    }
};
#endif

/* Sums in double or complex128: TOTAL_OF and its followers. */
struct NAME(wide_sum) : ht_cuda_sum_fold<WIDE>, ht_cuda_one_input<T> {
    static __forceinline__ __device__ void step(acc &a, const ht_cuda_reduction &r, const item &x,
                                                int64_t)
    {
        const WIDE value = (WIDE)LOAD(x);

        (void)r;
#if HT_IS_FLOAT
        a += r.kind == ABS_OF ? fabs(value) : r.kind == SQUARES_OF ? value * value : value;
#else
        a += value;
#endif
    }
    static __forceinline__ __device__ void put(const ht_cuda_reduction &r, int64_t o, const acc &a)
    {
        if (r.kind == TOTAL_OF)
            OUTPUT(TOTAL) = TO_TOTAL(a);
        else if (r.kind == MEAN_OF)
            OUTPUT(MEAN) = TO_MEAN(a / r.divisor);
        else
            OUTPUT(WIDE) = r.kind == WIDE_OF ? a / r.divisor : a;
    }
};

#if HT_IS_FLOAT || HT_IS_COMPLEX
#define FACTOR WIDE
#else
#define FACTOR uint64_t
#endif
struct NAME(product) : ht_cuda_plain_fold, ht_cuda_one_input<T> {
    typedef FACTOR acc;
    static __forceinline__ __device__ acc start(const ht_cuda_reduction &, int64_t, int64_t)
    {
        return 1;
    }
    static __forceinline__ __device__ void step(acc &a, const ht_cuda_reduction &, const item &x,
                                                int64_t)
    {
        a *= (acc)LOAD(x);
    }
    static __forceinline__ __device__ void join(acc &a, const acc &b, int)
    {
        a *= b;
    }
    static __forceinline__ __device__ void put(const ht_cuda_reduction &r, int64_t o, const acc &a)
    {
        OUTPUT(acc) = a; /* integers wrap around in the same way in both types */
    }
};
#undef FACTOR

#if !HT_IS_COMPLEX
/* LARGEST or SMALLEST. */
struct NAME(extreme) : ht_cuda_plain_fold, ht_cuda_one_input<T> {
#if HT_IS_FLOAT
    typedef KEY acc;
    static __forceinline__ __device__ acc comparable(const ht_cuda_reduction &r, T x)
    {
        return NAME(key_of)(x, r.kind == LARGEST ? KEY_LARGEST : KEY_SMALLEST);
    }
#else
    typedef C acc;
    static __forceinline__ __device__ acc comparable(const ht_cuda_reduction &, T x)
    {
        return LOAD(x);
    }
#endif
    static __forceinline__ __device__ acc start(const ht_cuda_reduction &r, int64_t, int64_t at)
    {
        return comparable(r, get(r, at));
    }
    static __forceinline__ __device__ void step(acc &a, const ht_cuda_reduction &r, const item &x,
                                                int64_t)
    {
        join(a, comparable(r, x), r.kind);
    }
    static __forceinline__ __device__ void join(acc &a, const acc &b, int kind)
    {
        a = (kind == LARGEST ? b > a : b < a) ? b : a;
    }
    static __forceinline__ __device__ void put(const ht_cuda_reduction &r, int64_t o, const acc &a)
    {
#if HT_IS_FLOAT
        OUTPUT(T) = NAME(of_key)(a);
#else
        OUTPUT(T) = STORE(a);
#endif
    }
};

struct NAME(found) {
    C value;
    int64_t at;
};

/* The first of the LARGEST or SMALLEST. */
struct NAME(place) : ht_cuda_plain_fold, ht_cuda_one_input<T> {
    typedef NAME(found) acc;
    static __forceinline__ __device__ acc start(const ht_cuda_reduction &r, int64_t, int64_t at)
    {
        return {LOAD(get(r, at)), 0};
    }
    static __forceinline__ __device__ void step(acc &a, const ht_cuda_reduction &r, const item &x,
                                                int64_t e)
    {
        join(a, {LOAD(x), e}, r.kind);
    }
    static __forceinline__ __device__ bool better(C x, C best, int kind)
    {
        return kind == LARGEST ? NAME(above)(x, best) : NAME(below)(x, best);
    }
    static __forceinline__ __device__ void join(acc &a, const acc &b, int kind)
    {
        if (better(b.value, a.value, kind) || (b.at < a.at && !better(a.value, b.value, kind)))
            a = b;
    }
    static __forceinline__ __device__ void put(const ht_cuda_reduction &r, int64_t o, const acc &a)
    {
        OUTPUT(T) = STORE(a.value);
        r.at[ht_cuda_offset(r.outputs, r.at_stride, o)] = a.at;
    }
};

/* SPREAD or RECORD. */
struct NAME(moments_of) : ht_cuda_moments_fold, ht_cuda_one_input<T> {
    static __forceinline__ __device__ acc start(const ht_cuda_reduction &r, int64_t, int64_t at)
    {
        return ht_cuda_moments_start((double)LOAD(get(r, at)));
    }
    static __forceinline__ __device__ void step(acc &a, const ht_cuda_reduction &, const item &x,
                                                int64_t)
    {
        ht_cuda_moments_step(a, (double)LOAD(x));
    }
    static __forceinline__ __device__ void put(const ht_cuda_reduction &r, int64_t o, const acc &a)
    {
        double *y = &OUTPUT(double);

        if (r.kind == SPREAD) {
            *y = a.squares / r.divisor;
            return;
        }
        const double mean = ht_cuda_moments_mean(a), rest = a.shift - mean + a.sum / a.n;

        y[0] = a.n;
        y[1] = mean;
        y[2] = a.n * rest;
        y[3] = a.squares + a.n * rest * rest;
    }
};

#endif

static void NAME(add_reductions)(ht_backend *backend)
{
#if HT_IS_FLOAT
    ht_cuda_add(backend, "SUM", ID, ht_cuda_reduce<NAME(wide_sum), TOTAL_OF>);
    ht_cuda_add(backend, "SUM_ABS", ID, ht_cuda_reduce<NAME(wide_sum), ABS_OF>);
    ht_cuda_add(backend, "SUM_SQUARES", ID, ht_cuda_reduce<NAME(wide_sum), SQUARES_OF>);
#elif HT_IS_COMPLEX
    ht_cuda_add(backend, "SUM", ID, ht_cuda_reduce<NAME(wide_sum), TOTAL_OF>);
#else
    ht_cuda_add(backend, "SUM", ID, ht_cuda_reduce<NAME(whole_sum), 0>);
#endif
    ht_cuda_add(backend, "SUM_WIDE", ID, ht_cuda_reduce<NAME(wide_sum), WIDE_OF>);
    ht_cuda_add(backend, "MEAN", ID, ht_cuda_reduce<NAME(wide_sum), MEAN_OF>);
    ht_cuda_add(backend, "PROD", ID, ht_cuda_reduce<NAME(product), 0>);
#if !HT_IS_COMPLEX
    ht_cuda_add(backend, "MAX", ID, ht_cuda_reduce<NAME(extreme), LARGEST>);
    ht_cuda_add(backend, "MIN", ID, ht_cuda_reduce<NAME(extreme), SMALLEST>);
    ht_cuda_add(backend, "ARGMAX", ID, ht_cuda_reduce<NAME(place), LARGEST>);
    ht_cuda_add(backend, "ARGMIN", ID, ht_cuda_reduce<NAME(place), SMALLEST>);
    ht_cuda_add(backend, "SPREAD", ID, ht_cuda_reduce<NAME(moments_of), SPREAD>);
    ht_cuda_add(backend, "MOMENTS", ID, ht_cuda_reduce<NAME(moments_of), RECORD>);
#endif
}

#undef OUTPUT
#undef KEY_LARGEST
#undef KEY_SMALLEST
#undef INFINITE

/* SPDX-License-Identifier: MIT
 *
 * Template: the draws of a dtype. */
#include "backends/cpu/random/element.inc.c"

#if HT_IS_FLOAT
struct NAME(uniform) {
    typedef T out;
    enum { words = sizeof(C) / sizeof(float) };
    C a, width, last;
    __forceinline__ __device__ explicit NAME(uniform)(const ht_random_draw &draw)
        : a((C)draw.a), width((C)(draw.b - draw.a)),
          last(draw.a < draw.b ? LOAD(NAME(largest_below)(draw.b)) : a)
    {
    }
    __forceinline__ __device__ out of(const ht_cuda_words &word, int at) const
    {
        return NAME(uniform_of)(unit_of(word, at, (C)0), a, width, last);
    }
};

struct NAME(normal) {
    typedef T out;
    enum { words = sizeof(C) / sizeof(float) };
    C mean, deviation;
    __forceinline__ __device__ explicit NAME(normal)(const ht_random_draw &draw)
        : mean((C)draw.a), deviation((C)draw.b)
    {
    }
    __forceinline__ __device__ out of(const ht_cuda_words &word, int at) const
    {
        return STORE(mean + deviation * normal_of(word, at, (C)0));
    }
};
#endif

struct NAME(integer) {
    typedef T out;
    enum { words = 2 };
    int64_t low;
    uint64_t width;
    __forceinline__ __device__ explicit NAME(integer)(const ht_random_draw &draw)
        : low(draw.low), width((uint64_t)draw.high - (uint64_t)draw.low)
    {
    }
    __forceinline__ __device__ out of(const ht_cuda_words &word, int at) const
    {
        return NAME(integer_of)(wide_word(word, at), low, width);
    }
};

static void NAME(add_draws)(ht_backend *backend)
{
#if HT_IS_FLOAT
    ht_cuda_add(backend, "RANDOM_UNIFORM", ID, run_draw<NAME(uniform)>);
    ht_cuda_add(backend, "RANDOM_NORMAL", ID, run_draw<NAME(normal)>);
#endif
    ht_cuda_add(backend, "RANDOM_INTEGER", ID, run_draw<NAME(integer)>);
}

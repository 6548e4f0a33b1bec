/* SPDX-License-Identifier: MIT
 *
 * The additions of the exchange. Plain loops over aligned or unaligned memory; what they cost is
 * the memory. Addition is commutative but not associative: only the tree matters. */
#include "exchange_path.h"
#include "half.h"

#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

/* Elements of a block of the tree: the partial sums of all levels stay in the first cache. */
enum { BLOCK = 1024 };

#define T       float
#define NAME(x) x##_f32
#include "exchange_sum.inc.c"
#undef T
#undef NAME

#define T       double
#define NAME(x) x##_f64
#include "exchange_sum.inc.c"
#undef T
#undef NAME

void ht__sum_add(ht_dtype dtype, void *y, const void *x, int64_t n)
{
    if (dtype == HT_FLOAT32)
        add_f32(y, x, n);
    else
        add_f64(y, x, n);
}

void ht__sum_scale(ht_dtype dtype, void *y, int64_t n, double scale)
{
    if (scale == 1)
        return;
    if (dtype == HT_FLOAT32)
        scale_f32(y, n, (float)scale);
    else
        scale_f64(y, n, scale);
}

static void narrow_bfloat16(uint16_t *restrict y, const float *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = ht__float_to_bfloat16(x[i]);
}

static void narrow_float16(uint16_t *restrict y, const float *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = ht__float_to_float16(x[i]);
}

static void widen_bfloat16(float *restrict y, const uint16_t *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = ht__bfloat16_to_float(x[i]);
}

static void widen_float16(float *restrict y, const uint16_t *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = ht__float16_to_float(x[i]);
}

void ht__sum_narrow(ht_dtype wire, void *y, const void *x, int64_t n)
{
    if (wire == HT_BFLOAT16)
        narrow_bfloat16(y, x, n);
    else
        narrow_float16(y, x, n);
}

void ht__sum_widen(ht_dtype wire, void *y, const void *x, int64_t n)
{
    if (wire == HT_BFLOAT16)
        widen_bfloat16(y, x, n);
    else
        widen_float16(y, x, n);
}

void ht__sum_round(ht_dtype wire, void *y, int64_t n)
{
    uint16_t narrow[BLOCK];
    float *values = y;

    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t count = n - done < BLOCK ? n - done : BLOCK;

        ht__sum_narrow(wire, narrow, values + done, count);
        ht__sum_widen(wire, values + done, narrow, count);
    }
}

void ht__sum_add_narrow(ht_dtype wire, void *y, const void *x, int64_t n)
{
    float wide[BLOCK];
    const uint16_t *came = x;
    float *values = y;

    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t count = n - done < BLOCK ? n - done : BLOCK;

        ht__sum_round(wire, values + done, count);
        ht__sum_widen(wire, wide, came + done, count);
        add_f32(values + done, wide, count);
    }
}

void ht__sum_tree(ht_dtype dtype, void *y, const void *const x[], int ranks, int64_t at, int64_t n,
                  double scale)
{
    if (dtype == HT_FLOAT32)
        sum_f32(y, x, ranks, at, n, scale);
    else
        sum_f64(y, x, ranks, at, n, scale);
}

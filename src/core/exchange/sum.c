/* SPDX-License-Identifier: MIT
 *
 * The additions of the exchange. They are plain loops over aligned or unaligned memory; memory
 * limits their speed. Addition is commutative but not associative: only the tree matters. */
#include "core/exchange/path.h"

#include <string.h>

/* Aligned, because a short loop over two cache lines of code is up to a tenth slower. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "align-loops=32")
#endif

/* Elements of a block of the tree: the partial sums of all levels stay in the first cache. */
enum { BLOCK = 1024 };

#define T       float
#define NAME(x) x##_f32
#include "core/exchange/sum.inc.c"
#undef T
#undef NAME

#define T       double
#define NAME(x) x##_f64
#include "core/exchange/sum.inc.c"
#include "ht/kernels/elementwise.h"
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

/* By the kernels that convert tensors: they use what the processor has. */
static void convert(ht_dtype from, ht_dtype to, void *y, const void *x, int64_t n)
{
    ht_loop loop = {
        .call.operands = 2,
        .operand = {ht__operand_bytes(y, n * (int64_t)ht_dtype_size(to), HT_WRITE),
                    ht__operand_bytes(x, n * (int64_t)ht_dtype_size(from), HT_READ)},
        .ndim = 1,
        .shape = {n},
        .stride = {{1}, {1}},
    };

    HT_LAUNCH(NULL, ht__device_cpu(), HT_KERNEL_CONVERT(to), from, &loop, "all-reduce");
}

void ht__sum_narrow(ht_dtype wire, void *y, const void *x, int64_t n)
{
    convert(HT_FLOAT32, wire, y, x, n);
}

void ht__sum_widen(ht_dtype wire, void *y, const void *x, int64_t n)
{
    convert(wire, HT_FLOAT32, y, x, n);
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

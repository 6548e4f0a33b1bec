/* SPDX-License-Identifier: MIT
 *
 * Template inside convert.inc.c: conversion to DTYPE from SOURCE, two operands of any strides. */

#include "backends/cpu/convert/convert_one.inc.c"

static int PAIR(convert)(void *stream, const ht_kernel_call *call)
{
    const ht_loop *loop = (const ht_loop *)call;
    const int64_t n = row_length(loop), ys = row_stride(loop, 0), xs = row_stride(loop, 1);
    const size_t sizes[] = {sizeof(T), sizeof(S)};
    row_walk walk;

    (void)stream;
    for (bool more = row_walk_begin(&walk, loop); more; more = row_walk_next(&walk, 2, sizes)) {
        T *y = (T *)walk.at[0];
        const S *x = (const S *)walk.at[1];

        if (ys == 1 && xs == 1) {
            HT_VECTORIZE
            for (int64_t i = 0; i < n; i++)
                y[i] = PAIR(convert_one)(SOURCE_LOAD(x[i]));
        } else if (ys == 1 && xs == 0) {
            const T value = PAIR(convert_one)(SOURCE_LOAD(*x));

            HT_VECTORIZE
            for (int64_t i = 0; i < n; i++)
                y[i] = value;
        } else {
            for (int64_t i = 0; i < n; i++)
                y[i * ys] = PAIR(convert_one)(SOURCE_LOAD(x[i * xs]));
        }
    }
    return 0;
}

#undef S
#undef SC
#undef SOURCE_LOAD
#undef SOURCE_KIND
#undef PAIR

/* SPDX-License-Identifier: MIT
 *
 * Declarations that the kernels of one SIMD level share. local.mk compiles each file of
 * kernel_sources once for each level, with the flags of the level and with its name as HT_LEVEL. */
#ifndef HT_BACKENDS_CPU_LEVEL_H
#define HT_BACKENDS_CPU_LEVEL_H

#include <string.h>

#include "backends/cpu/dtypes.h"
#include "backends/cpu/kernels.h"

#define HT_LEVEL_NAME(x) HT_JOIN(HT_JOIN(x, _), HT_LEVEL)

/* Each file fills its entries of the table. */
/* clang-format off */
#define HT_KERNEL_FILES(X) \
    X(activations) X(arg) X(arithmetics) X(attention) X(bitwise) X(cell) X(complex_math) X(convert) \
    X(ctc) X(cumulative) \
    X(digits) X(distance) X(dropout) X(exponential) X(extreme) X(extremes) X(logical) \
    X(max_pool) X(merge) X(moments) X(nonzero) X(norm) X(prod) X(products) X(random) \
    X(relational) X(rounding) X(rows) X(rows_by_index) X(slopes) X(sort) X(sum) X(sum_abs) \
    X(trigonometrics) X(update) X(where)
/* clang-format on */

#define HT_FILL(file) void HT_LEVEL_NAME(ht__fill_##file)(ht_kernel_table * kernels);
HT_KERNEL_FILES(HT_FILL)
#undef HT_FILL

#endif

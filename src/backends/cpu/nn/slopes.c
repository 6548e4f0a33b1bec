/* SPDX-License-Identifier: MIT
 *
 * Elementwise: activations that write their derivative in addition to the result. */
#include "backends/cpu/level.h"
#include "backends/cpu/row_walk.h"
#include "ht/kernels/elementwise.h"

#define HT_TEMPLATE "backends/cpu/nn/slopes.inc.c"
#include "backends/cpu/foreach_dtype.h"

void HT_LEVEL_NAME(ht__fill_slopes)(ht_kernel_table *k)
{
#define FILL(name, operands)                                 \
    k->at[HT_KERNEL_##name][HT_FLOAT32] = name##_HT_FLOAT32; \
    k->at[HT_KERNEL_##name][HT_FLOAT64] = name##_HT_FLOAT64;
    HT_SLOPE_KERNELS(FILL)
}

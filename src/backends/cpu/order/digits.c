/* SPDX-License-Identifier: MIT
 *
 * Counts of digits, which find the element at a place in order without sorting. */
#include "backends/cpu/level.h"
#include "backends/cpu/order/key.h"
#include "backends/cpu/scratch.h"
#include "ht/kernels/order.h"

#define HT_TEMPLATE "backends/cpu/order/digits.inc.c"
#include "backends/cpu/foreach_dtype.h"

void HT_LEVEL_NAME(ht__fill_digits)(ht_kernel_table *k)
{
#define FILL(dtype) k->at[HT_KERNEL_DIGITS][dtype] = order_DIGITS_##dtype;
    FILL(HT_BOOL)
    FILL(HT_UINT8) FILL(HT_INT8) FILL(HT_INT16) FILL(HT_INT32) FILL(HT_INT64) HT_FLOATING_LIST(FILL)
}

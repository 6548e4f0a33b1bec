/* SPDX-License-Identifier: MIT
 *
 * Merging of sorted runs, and the places of keys in them. */
#include "backends/cpu/level.h"
#include "backends/cpu/order/key.h"
#include "backends/cpu/row_walk.h"
#include "backends/cpu/scratch.h"
#include "ht/kernels/order.h"

#define HT_TEMPLATE "backends/cpu/order/merge.inc.c"
#include "backends/cpu/foreach_dtype.h"

#define FILL(dtype, name, bytes)                         \
    k->at[HT_KERNEL_MERGE][dtype] = order_MERGE_##dtype; \
    k->at[HT_KERNEL_PLACE][dtype] = order_PLACE_##dtype; \
    k->at[HT_KERNEL_SEARCH][dtype] = order_SEARCH_##dtype;

void HT_LEVEL_NAME(ht__fill_merge)(ht_kernel_table *k)
{
    HT_DTYPE_LIST(FILL)
}

/* SPDX-License-Identifier: MIT
 *
 * Sums and means. */
#include "backends/cpu/level.h"
#include "backends/cpu/reduce/plan.h"

#define HT_TEMPLATE "backends/cpu/reduce/sum.inc.c"
#include "backends/cpu/foreach_dtype.h"

#define FILL(dtype, name, bytes) fill_sum_##dtype(k);

void HT_LEVEL_NAME(ht__fill_sum)(ht_kernel_table *k)
{
    HT_DTYPE_LIST(FILL)
}

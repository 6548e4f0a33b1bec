/* SPDX-License-Identifier: MIT
 *
 * Reductions. */
#include "backends/cpu/level.h"
#include "backends/cpu/reduce/plan.h"

#define HT_TEMPLATE "backends/cpu/reduce/reduce.inc.c"
#include "backends/cpu/foreach_dtype.h"

#define FILL(dtype, name, bytes) fill_reduce_##dtype(k);

void HT_LEVEL_NAME(ht__fill_reduce)(ht_kernel_table *k)
{
    HT_DTYPE_LIST(FILL)
}

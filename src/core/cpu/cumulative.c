/* SPDX-License-Identifier: MIT
 *
 * Cumulative sums. */
#include "core/cpu/level.h"
#include "core/cpu/reduce_plan.h"

#define HT_TEMPLATE "core/cpu/cumulative.inc.c"
#include "core/cpu/foreach_dtype.h"

#define FILL(dtype, name, bytes) fill_cumulative_##dtype(k);

void HT_LEVEL_NAME(ht__fill_cumulative)(ht_kernels *k)
{
    HT_DTYPE_LIST(FILL)
}

/* SPDX-License-Identifier: MIT
 *
 * Cumulative sums. */
#include "backends/cpu/level.h"
#include "backends/cpu/reduce/plan.h"

#define HT_TEMPLATE "backends/cpu/reduce/cumulative.inc.c"
#include "backends/cpu/foreach_dtype.h"

#define FILL(dtype, name, bytes) fill_cumulative_##dtype(k);

void HT_LEVEL_NAME(ht__fill_cumulative)(ht_kernels *k)
{
    HT_DTYPE_LIST(FILL)
}

/* SPDX-License-Identifier: MIT
 *
 * Moments: the distances of elements from their mean. */
#include "backends/cpu/level.h"
#include "backends/cpu/reduce/plan.h"

#define HT_TEMPLATE "backends/cpu/reduce/moments.inc.c"
#include "backends/cpu/foreach_dtype.h"

#define FILL(dtype, name, bytes) fill_moments_##dtype(k);

void HT_LEVEL_NAME(ht__fill_moments)(ht_kernel_table *k)
{
    HT_DTYPE_LIST(FILL)
}

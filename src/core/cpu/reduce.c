/* SPDX-License-Identifier: MIT
 *
 * Reductions. */
#include "core/cpu/level.h"
#include "core/cpu/reduce_plan.h"

#define HT_TEMPLATE "core/cpu/reduce.inc.c"
#include "core/cpu/foreach_dtype.h"

#define FILL(dtype, name, bytes) fill_reduce_##dtype(k);

void HT_LEVEL_NAME(ht__fill_reduce)(ht_kernels *k)
{
    HT_DTYPE_LIST(FILL)
}

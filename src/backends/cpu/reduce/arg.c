/* SPDX-License-Identifier: MIT
 *
 * The positions of the largest and the smallest element. */
#include "backends/cpu/level.h"
#include "backends/cpu/reduce/plan.h"

#define HT_TEMPLATE "backends/cpu/reduce/arg.inc.c"
#include "backends/cpu/foreach_dtype.h"

#define FILL(dtype, name, bytes) fill_arg_##dtype(k);

void HT_LEVEL_NAME(ht__fill_arg)(ht_kernel_table *k)
{
    HT_DTYPE_LIST(FILL)
}

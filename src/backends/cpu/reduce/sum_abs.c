/* SPDX-License-Identifier: MIT
 *
 * Sums of magnitudes and of squares. */
#include "backends/cpu/level.h"
#include "backends/cpu/reduce/plan.h"

#define HT_TEMPLATE "backends/cpu/reduce/sum_abs.inc.c"
#include "backends/cpu/foreach_dtype.h"

#define FILL(dtype, name, bytes) fill_sum_abs_##dtype(k);

void HT_LEVEL_NAME(ht__fill_sum_abs)(ht_kernel_table *k)
{
    HT_DTYPE_LIST(FILL)
}

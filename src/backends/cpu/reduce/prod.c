/* SPDX-License-Identifier: MIT
 *
 * Products. */
#include "backends/cpu/level.h"
#include "backends/cpu/reduce/plan.h"

#define HT_TEMPLATE "backends/cpu/reduce/prod.inc.c"
#include "backends/cpu/foreach_dtype.h"

#define FILL(dtype, name, bytes) fill_prod_##dtype(k);

void HT_LEVEL_NAME(ht__fill_prod)(ht_kernel_table *k)
{
    HT_DTYPE_LIST(FILL)
}

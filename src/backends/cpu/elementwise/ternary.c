/* SPDX-License-Identifier: MIT
 *
 * Elementwise functions of three operands. */
#include "backends/cpu/level.h"
#include "backends/cpu/row_walk.h"
#include "ht/kernels/elementwise.h"

#define HT_TEMPLATE "backends/cpu/elementwise/ternary.inc.c"
#include "backends/cpu/foreach_dtype.h"

#define FILL(dtype, name, bytes) fill_ternary_##dtype(k);

void HT_LEVEL_NAME(ht__fill_ternary)(ht_kernel_table *k)
{
    HT_DTYPE_LIST(FILL)
}

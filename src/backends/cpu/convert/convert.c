/* SPDX-License-Identifier: MIT
 *
 * Conversions between dtypes. */
#include "backends/cpu/level.h"
#include "backends/cpu/row_walk.h"
#include "ht/kernels/elementwise.h"

#define HT_TEMPLATE "backends/cpu/convert/convert.inc.c"
#include "backends/cpu/foreach_dtype.h"

#define FILL(dtype, name, bytes) fill_convert_##dtype(k);

void HT_LEVEL_NAME(ht__fill_convert)(ht_kernel_table *k)
{
    HT_DTYPE_LIST(FILL)
}

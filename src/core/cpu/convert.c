/* SPDX-License-Identifier: MIT
 *
 * Conversions between dtypes. */
#include "core/cpu/level.h"
#include "core/cpu/row_walk.h"

#define HT_TEMPLATE "core/cpu/convert.inc.c"
#include "core/cpu/foreach_dtype.h"

#define FILL(dtype, name, bytes) fill_convert_##dtype(k);

void HT_LEVEL_NAME(ht__fill_convert)(ht_kernels *k)
{
    HT_DTYPE_LIST(FILL)
}

/* SPDX-License-Identifier: MIT
 *
 * Elementwise functions of two operands. */
#include "core/cpu/level.h"
#include "core/cpu/row_walk.h"

#define HT_TEMPLATE "core/cpu/binary.inc.c"
#include "core/cpu/foreach_dtype.h"

#define FILL(dtype, name, bytes) fill_binary_##dtype(k);

void HT_LEVEL_NAME(ht__fill_binary)(ht_kernels *k)
{
    HT_DTYPE_LIST(FILL)
}

/* SPDX-License-Identifier: MIT
 *
 * Elementwise: the choice between two operands. */
#include "backends/cpu/elementwise/rows.h"

#define HT_TEMPLATE "backends/cpu/elementwise/where.inc.c"
#include "backends/cpu/foreach_dtype.h"

HT_FILL_ROWS(where)

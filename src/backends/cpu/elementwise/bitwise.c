/* SPDX-License-Identifier: MIT
 *
 * Elementwise: operations on bits. */
#include "backends/cpu/elementwise/rows.h"

#define HT_TEMPLATE "backends/cpu/elementwise/bitwise.inc.c"
#include "backends/cpu/foreach_dtype.h"

HT_FILL_ROWS(bitwise)

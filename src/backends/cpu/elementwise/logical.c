/* SPDX-License-Identifier: MIT
 *
 * Elementwise: truth, and what kind of number one is. */
#include "backends/cpu/elementwise/rows.h"

#define HT_TEMPLATE "backends/cpu/elementwise/logical.inc.c"
#include "backends/cpu/foreach_dtype.h"

HT_FILL_ROWS(logical)

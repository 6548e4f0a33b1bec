/* SPDX-License-Identifier: MIT
 *
 * Elementwise: logical functions, and tests for kinds of numbers. */
#include "backends/cpu/elementwise/rows.h"

#define HT_TEMPLATE "backends/cpu/elementwise/logical.inc.c"
#include "backends/cpu/foreach_dtype.h"

HT_FILL_ROWS(logical)

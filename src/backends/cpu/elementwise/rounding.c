/* SPDX-License-Identifier: MIT
 *
 * Elementwise: rounding, absolute values, signs. */
#include "backends/cpu/elementwise/rows.h"

#define HT_TEMPLATE "backends/cpu/elementwise/rounding.inc.c"
#include "backends/cpu/foreach_dtype.h"

HT_FILL_ROWS(rounding)

/* SPDX-License-Identifier: MIT
 *
 * Elementwise: exponentials, logarithms, roots. */
#include "backends/cpu/elementwise/rows.h"

#define HT_TEMPLATE "backends/cpu/elementwise/exponential.inc.c"
#include "backends/cpu/foreach_dtype.h"

HT_FILL_ROWS(exponential)

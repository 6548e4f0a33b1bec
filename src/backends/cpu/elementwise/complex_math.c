/* SPDX-License-Identifier: MIT
 *
 * Elementwise: parts of complex numbers. */
#include "backends/cpu/elementwise/rows.h"

#define HT_TEMPLATE "backends/cpu/elementwise/complex_math.inc.c"
#include "backends/cpu/foreach_dtype.h"

HT_FILL_ROWS(complex_math)

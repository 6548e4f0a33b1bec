/* SPDX-License-Identifier: MIT
 *
 * Elementwise: trigonometric and hyperbolic functions. */
#include "backends/cpu/elementwise/rows.h"

#define HT_TEMPLATE "backends/cpu/elementwise/trigonometrics.inc.c"
#include "backends/cpu/foreach_dtype.h"

HT_FILL_ROWS(trigonometrics)

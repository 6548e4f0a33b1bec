/* SPDX-License-Identifier: MIT
 *
 * Elementwise: activations such as ReLU, and their gradients. */
#include "backends/cpu/elementwise/rows.h"

#define HT_TEMPLATE "backends/cpu/elementwise/activations.inc.c"
#include "backends/cpu/foreach_dtype.h"

HT_FILL_ROWS(activations)

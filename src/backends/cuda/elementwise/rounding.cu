/* SPDX-License-Identifier: MIT
 *
 * Elementwise: rounding, absolute values, signs. */
#include "backends/cuda/elementwise/rows.h"

#define HT_TEMPLATE "backends/cpu/elementwise/rounding.inc.c"
#include "backends/cpu/foreach_dtype.h"

HT_CUDA_ADD_ROWS(rounding)

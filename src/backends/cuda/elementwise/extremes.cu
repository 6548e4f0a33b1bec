/* SPDX-License-Identifier: MIT
 *
 * Elementwise: the larger and the smaller one. */
#include "backends/cuda/elementwise/rows.h"

#define HT_TEMPLATE "backends/cpu/elementwise/extremes.inc.c"
#include "backends/cpu/foreach_dtype.h"

HT_CUDA_ADD_ROWS(extremes)

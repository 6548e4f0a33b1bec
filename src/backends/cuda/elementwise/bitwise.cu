/* SPDX-License-Identifier: MIT
 *
 * Elementwise: bits. */
#include "backends/cuda/elementwise/rows.h"

#define HT_TEMPLATE "backends/cpu/elementwise/bitwise.inc.c"
#include "backends/cpu/foreach_dtype.h"

HT_CUDA_ADD_ROWS(bitwise)

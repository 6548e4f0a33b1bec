/* SPDX-License-Identifier: MIT
 *
 * Elementwise: truth, and what kind of number one is. */
#include "backends/cuda/elementwise/rows.h"

#define HT_TEMPLATE "backends/cpu/elementwise/logical.inc.c"
#include "backends/cpu/foreach_dtype.h"

HT_CUDA_ADD_ROWS(logical)

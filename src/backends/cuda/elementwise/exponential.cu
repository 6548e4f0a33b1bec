/* SPDX-License-Identifier: MIT
 *
 * Elementwise: exponentials, logarithms, roots. */
#include "backends/cuda/elementwise/rows.h"

#define HT_TEMPLATE "backends/cpu/elementwise/exponential.inc.c"
#include "backends/cpu/foreach_dtype.h"

HT_CUDA_ADD_ROWS(exponential)

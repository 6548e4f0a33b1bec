/* SPDX-License-Identifier: MIT
 *
 * Elementwise: sums, products, quotients, remainders, powers. */
#include "backends/cuda/elementwise/rows.h"

#define HT_TEMPLATE "backends/cpu/elementwise/arithmetics.inc.c"
#include "backends/cpu/foreach_dtype.h"

HT_CUDA_ADD_ROWS(arithmetics)

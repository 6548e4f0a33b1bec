/* SPDX-License-Identifier: MIT
 *
 * Elementwise: ReLU and its like, and their gradients. */
#include "backends/cuda/elementwise/rows.h"

#define HT_TEMPLATE "backends/cpu/elementwise/activations.inc.c"
#include "backends/cpu/foreach_dtype.h"

HT_CUDA_ADD_ROWS(activations)

/* SPDX-License-Identifier: MIT
 *
 * Elementwise: parts of complex numbers. */
#include "backends/cuda/elementwise/rows.h"

#define HT_TEMPLATE "backends/cpu/elementwise/complex_math.inc.c"
#include "backends/cpu/foreach_dtype.h"

HT_CUDA_ADD_ROWS(complex_math)

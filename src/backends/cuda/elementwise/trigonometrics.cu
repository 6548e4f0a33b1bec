/* SPDX-License-Identifier: MIT
 *
 * Elementwise: trigonometric and hyperbolic functions. */
#include "backends/cuda/elementwise/rows.h"

#define HT_TEMPLATE "backends/cpu/elementwise/trigonometrics.inc.c"
#include "backends/cpu/foreach_dtype.h"

HT_CUDA_ADD_ROWS(trigonometrics)

/* SPDX-License-Identifier: MIT */
/* The kernels compiled for SIMD level baseline. */
#define HT_LEVEL baseline
#include "core/cpu/kernels.inc.c"

/* SPDX-License-Identifier: MIT */
/* The kernels on images compiled for SIMD level baseline. */
#define HT_LEVEL baseline
#include "core/cpu/image_kernels.inc.c"

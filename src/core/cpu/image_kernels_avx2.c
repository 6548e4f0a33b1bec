/* SPDX-License-Identifier: MIT */
/* The kernels on images compiled for SIMD level avx2. */
#define HT_LEVEL avx2
#include "core/cpu/image_kernels.inc.c"

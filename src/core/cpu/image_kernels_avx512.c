/* SPDX-License-Identifier: MIT */
/* The kernels on images compiled for SIMD level avx512. */
#define HT_LEVEL avx512
#include "core/cpu/image_kernels.inc.c"

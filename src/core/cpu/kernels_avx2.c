/* SPDX-License-Identifier: MIT */
/* The kernels compiled for SIMD level avx2. */
#define HT_LEVEL avx2
#include "core/cpu/kernels.inc.c"

/* SPDX-License-Identifier: MIT */
/* The kernels compiled for SIMD level avx512. */
#define HT_LEVEL avx512
#include "core/cpu/kernels.inc.c"

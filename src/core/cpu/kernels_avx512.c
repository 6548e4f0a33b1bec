/* SPDX-License-Identifier: MIT */
/* The kernels compiled for SIMD level avx512. */
#include "core/cpu/kernels.h"

const char *ht__kernels_avx512_name(void)
{
    return "avx512";
}

/* SPDX-License-Identifier: MIT */
/* The kernels compiled for SIMD level avx2. */
#include "core/cpu/kernels.h"

const char *ht__kernels_avx2_name(void)
{
    return "avx2";
}

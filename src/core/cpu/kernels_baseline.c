/* SPDX-License-Identifier: MIT */
/* The kernels compiled for SIMD level baseline. */
#include "core/cpu/kernels.h"

const char *ht__kernels_baseline_name(void)
{
    return "baseline";
}

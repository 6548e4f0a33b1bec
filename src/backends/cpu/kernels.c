/* SPDX-License-Identifier: MIT
 *
 * All kernels of one SIMD level. */
#include "backends/cpu/level.h"

void HT_LEVEL_NAME(ht__kernels_fill)(ht_kernel_table *kernels)
{
#define HT_FILL(file) HT_LEVEL_NAME(ht__fill_##file)(kernels);
    HT_KERNEL_FILES(HT_FILL)
#undef HT_FILL
}

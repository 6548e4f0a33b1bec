/* SPDX-License-Identifier: MIT
 *
 * All kernels of one SIMD level. */
#include "backends/cpu/level.h"

void HT_LEVEL_NAME(ht__kernels_fill)(ht_kernels *kernels)
{
    HT_LEVEL_NAME(ht__fill_axpby)(kernels);
    HT_LEVEL_NAME(ht__fill_binary)(kernels);
    HT_LEVEL_NAME(ht__fill_convert)(kernels);
    HT_LEVEL_NAME(ht__fill_cumulative)(kernels);
    HT_LEVEL_NAME(ht__fill_dropout)(kernels);
    HT_LEVEL_NAME(ht__fill_max_pool)(kernels);
    HT_LEVEL_NAME(ht__fill_norm)(kernels);
    HT_LEVEL_NAME(ht__fill_random)(kernels);
    HT_LEVEL_NAME(ht__fill_reduce)(kernels);
    HT_LEVEL_NAME(ht__fill_rows)(kernels);
    HT_LEVEL_NAME(ht__fill_unary)(kernels);
    HT_LEVEL_NAME(ht__fill_update)(kernels);
}

/* SPDX-License-Identifier: MIT
 *
 * Steps of optimizers. */
#include "backends/cpu/level.h"
#include "ht/kernels/optim.h"

#define HT_TEMPLATE "backends/cpu/optim/update.inc.c"
#include "backends/cpu/foreach_dtype.h"

void HT_LEVEL_NAME(ht__fill_update)(ht_kernel_table *k)
{
#define ROW(name)                                            \
    k->at[HT_KERNEL_##name][HT_FLOAT32] = name##_HT_FLOAT32; \
    k->at[HT_KERNEL_##name][HT_FLOAT64] = name##_HT_FLOAT64;
    HT_OPTIM_KERNELS(ROW)
#undef ROW
}

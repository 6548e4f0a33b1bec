/* SPDX-License-Identifier: MIT
 *
 * Random draws. */
#include "backends/cpu/level.h"
#include "backends/cpu/random/walk.h"

#define HT_TEMPLATE "backends/cpu/random/random.inc.c"
#include "backends/cpu/foreach_dtype.h"

void HT_LEVEL_NAME(ht__fill_random)(ht_kernel_table *k)
{
#define FILL(dtype)                                                  \
    k->at[HT_KERNEL_RANDOM_UNIFORM][dtype] = random_uniform_##dtype; \
    k->at[HT_KERNEL_RANDOM_NORMAL][dtype] = random_normal_##dtype;
    HT_FLOATING_LIST(FILL)
#undef FILL
#define FILL(dtype) k->at[HT_KERNEL_RANDOM_INTEGER][dtype] = random_integer_##dtype;
    FILL(HT_BOOL)
    FILL(HT_UINT8)
    FILL(HT_INT8)
    FILL(HT_INT16)
    FILL(HT_INT32)
    FILL(HT_INT64)
    HT_FLOATING_LIST(FILL)
}

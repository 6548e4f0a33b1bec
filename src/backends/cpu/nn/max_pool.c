/* SPDX-License-Identifier: MIT
 *
 * Max pooling. */
#include "backends/cpu/level.h"
#include "ht/kernels/nn.h"

#define HT_TEMPLATE "backends/cpu/nn/max_pool.inc.c"
#include "backends/cpu/foreach_dtype.h"

void HT_LEVEL_NAME(ht__fill_max_pool)(ht_kernel_table *k)
{
#define FILL(dtype)                                                  \
    k->at[HT_KERNEL_MAX_POOL_FORWARD][dtype] = pool_forward_##dtype; \
    k->at[HT_KERNEL_MAX_POOL_BACKWARD][dtype] = pool_backward_##dtype;
    HT_FLOATING_LIST(FILL)
}

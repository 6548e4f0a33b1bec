/* SPDX-License-Identifier: MIT
 *
 * Cells of recurrent networks. */
#include "backends/cpu/level.h"
#include "ht/kernels/nn.h"

#define HT_TEMPLATE "backends/cpu/nn/cell.inc.c"
#include "backends/cpu/foreach_dtype.h"

void HT_LEVEL_NAME(ht__fill_cell)(ht_kernel_table *k)
{
#define FILL(dtype)                                              \
    k->at[HT_KERNEL_CELL_FORWARD][dtype] = cell_forward_##dtype; \
    k->at[HT_KERNEL_CELL_BACKWARD][dtype] = cell_backward_##dtype;
    HT_FLOATING_LIST(FILL)
}

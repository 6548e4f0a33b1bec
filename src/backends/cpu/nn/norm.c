/* SPDX-License-Identifier: MIT
 *
 * Normalisation by channel and by row. */
#include "backends/cpu/level.h"
#include "backends/cpu/scratch.h"
#include "ht/kernels/nn.h"

/* Factors for distances whose squares overflow or vanish, and the sum of squares that is small. */
#define NORM_DOWN  0x1p-600
#define NORM_UP    0x1p600
#define NORM_SMALL 0x1p-960

#define HT_TEMPLATE "backends/cpu/nn/norm.inc.c"
#include "backends/cpu/foreach_dtype.h"

#define HT_TEMPLATE "backends/cpu/nn/row_norm.inc.c"
#include "backends/cpu/foreach_dtype.h"

void HT_LEVEL_NAME(ht__fill_norm)(ht_kernel_table *k)
{
#define FILL(dtype)                                                       \
    k->at[HT_KERNEL_NORM_MOMENTS][dtype] = norm_kernel_moments_##dtype;   \
    k->at[HT_KERNEL_NORM_PREPARE][dtype] = norm_kernel_prepare_##dtype;   \
    k->at[HT_KERNEL_NORM_FORWARD][dtype] = norm_kernel_forward_##dtype;   \
    k->at[HT_KERNEL_NORM_SUMS][dtype] = norm_kernel_sums_##dtype;         \
    k->at[HT_KERNEL_NORM_BACKWARD][dtype] = norm_kernel_backward_##dtype; \
    k->at[HT_KERNEL_ROW_NORM_FORWARD][dtype] = row_norm_forward_##dtype;  \
    k->at[HT_KERNEL_ROW_NORM_BACKWARD][dtype] = row_norm_backward_##dtype;
    HT_FLOATING_LIST(FILL)
}

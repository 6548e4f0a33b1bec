/* SPDX-License-Identifier: MIT
 *
 * Softmax, log-softmax, negative log likelihood and cross entropy. */
#include "backends/cpu/level.h"
#include "backends/cpu/reduce/plan.h"
#include "ht/kernels/nn.h"

#define HT_TEMPLATE "backends/cpu/nn/rows.inc.c"
#include "backends/cpu/foreach_dtype.h"

void HT_LEVEL_NAME(ht__fill_rows)(ht_kernel_table *k)
{
#define FILL(dtype)                                                                     \
    k->at[HT_KERNEL_SOFTMAX_FORWARD][dtype] = rows_softmax_forward_##dtype;             \
    k->at[HT_KERNEL_SOFTMAX_BACKWARD][dtype] = rows_softmax_backward_##dtype;           \
    k->at[HT_KERNEL_LOG_SOFTMAX_FORWARD][dtype] = rows_log_softmax_forward_##dtype;     \
    k->at[HT_KERNEL_LOG_SOFTMAX_BACKWARD][dtype] = rows_log_softmax_backward_##dtype;   \
    k->at[HT_KERNEL_NLL_FORWARD][dtype] = rows_nll_forward_##dtype;                     \
    k->at[HT_KERNEL_NLL_BACKWARD][dtype] = rows_nll_backward_##dtype;                   \
    k->at[HT_KERNEL_CROSS_ENTROPY_FORWARD][dtype] = rows_cross_entropy_forward_##dtype; \
    k->at[HT_KERNEL_CROSS_ENTROPY_BACKWARD][dtype] = rows_cross_entropy_backward_##dtype;
    HT_FLOATING_LIST(FILL)
}

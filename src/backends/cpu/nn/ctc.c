/* SPDX-License-Identifier: MIT
 *
 * Connectionist temporal classification. */
#include "backends/cpu/level.h"
#include "backends/cpu/nn/ctc.h"

#define HT_TEMPLATE "backends/cpu/nn/ctc.inc.c"
#include "backends/cpu/foreach_dtype.h"

void HT_LEVEL_NAME(ht__fill_ctc)(ht_kernel_table *k)
{
#define FILL(dtype)                                            \
    k->at[HT_KERNEL_CTC_FORWARD][dtype] = ctc_forward_##dtype; \
    k->at[HT_KERNEL_CTC_BACKWARD][dtype] = ctc_backward_##dtype;
    HT_FLOATING_LIST(FILL)
}

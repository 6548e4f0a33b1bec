/* SPDX-License-Identifier: MIT
 *
 * The operands of a call, for code that handles all kernels in the same way: the host as a
 * substitute for a device, and a device that translates addresses. */
#include "core/device/device.h"

static void visit_list(void *list, uint32_t count, ht_operand_visit_fn *visit, void *user)
{
    ht_kernel_operand *operand = list;

    for (uint32_t i = 0; i < count; i++) {
        if (operand[i].data != NULL)
            visit(&operand[i], user);
    }
}

void ht__call_operands(ht_kernel_call *call, ht_operand_visit_fn *visit, void *user)
{
    char *row = (char *)call + call->table;

    visit_list(call + 1, call->operands, visit, user);
    for (uint32_t i = 0; i < call->rows; i++, row += call->row_bytes)
        visit_list(row, call->row_operands, visit, user);
}

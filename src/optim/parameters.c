/* SPDX-License-Identifier: MIT
 *
 * The list of parameters of an optimizer. */
#include "optim/optim.h"

int ht__optimizer_find(const ht_optimizer *optimizer, const ht_tensor *parameter)
{
    for (int i = 0; i < optimizer->count; i++) {
        if (optimizer->entries[i].parameter == parameter)
            return i;
    }
    return -1;
}

int ht_optimizer_parameter_count(const ht_optimizer *optimizer)
{
    return HT_IS_THERE(optimizer) ? optimizer->count : 0;
}

ht_tensor *ht_optimizer_parameter(const ht_optimizer *optimizer, int index)
{
    if (!HT_IS_THERE(optimizer) || index < 0 || index >= optimizer->count)
        return NULL;
    return optimizer->entries[index].parameter;
}

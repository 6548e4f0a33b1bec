/* SPDX-License-Identifier: MIT
 *
 * An optimizer as text: its groups and their settings. */
#include "optim/optim.h"

#include <stdio.h>

void ht__optimizer_describe_group(const ht_optimizer *optimizer, int index, char *text, size_t size)
{
    const ht_optimizer_group *group = &optimizer->groups[index];
    const ht_optimizer_type *type = optimizer->type;
    size_t used = (size_t)snprintf(text, size, "%s group %d of %d parameters:", type->name, index,
                                   group->count);

    for (int i = 0; i < ht__optim_setting_count(type) && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, " %s=%.15g", type->settings[i].name,
                                 ht__optim_setting(type, &group->settings, i));
}

void ht_optimizer_print(const ht_optimizer *optimizer, FILE *stream)
{
    char text[384];

    if (HT_IS_NULL(stream, "ht_optimizer_print", "stream"))
        return;
    for (int g = 0; g < ht_optimizer_group_count(optimizer); g++) {
        ht__optimizer_describe_group(optimizer, g, text, sizeof text);
        fprintf(stream, "%s lr=%.15g\n", text, optimizer->groups[g].lr);
    }
}

/* SPDX-License-Identifier: MIT
 *
 * Sequential: modules one after another, named "0", "1", ... */
#include <stdio.h>

#include "nn/module/module.h"
#include "ht/nn.h"

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    for (int i = 0; i < self->slot_count; i++)
        x = ht_forward(*ht__slot_place(self, &self->slots[i]), x);
    return x;
}

static const ht_module_type type = {.name = "Sequential", .forward = forward};

ht_module *ht_nn_sequential(int count, ht_module *const modules[])
{
    ht_module *self;
    ht_status status = HT_SUCCESS;

    if (count > 0 && HT_IS_NULL(modules, "ht_nn_sequential", "the list of modules"))
        return NULL;
    self = ht_module_new(0, &type);
    for (int i = 0; i < count; i++) {
        char name[16];

        snprintf(name, sizeof name, "%d", i);
        if (status == HT_SUCCESS)
            status = ht_module_add(self, name, NULL, modules[i]);
        else
            ht_release(modules[i]); /* taken over, also when an earlier one was refused */
    }
    if (status == HT_SUCCESS)
        return self;
    ht_release(self);
    return NULL;
}

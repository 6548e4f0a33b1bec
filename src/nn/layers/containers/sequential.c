/* SPDX-License-Identifier: MIT
 *
 * Sequential: modules one after another, named "0", "1", ... */
#include "ht/nn.h"
#include "nn/layers/containers/children.h"

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    for (int i = 0; i < self->slot_count; i++)
        x = ht_forward(*ht__slot_place(self, &self->slots[i]), x);
    return x;
}

static const ht_module_type type = {.name = "Sequential", .forward = forward};

ht_module *ht_nn_sequential(int count, ht_module *const modules[])
{
    return ht__new_with_children("ht_nn_sequential", &type, count, NULL, modules);
}

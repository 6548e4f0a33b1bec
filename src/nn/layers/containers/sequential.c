/* SPDX-License-Identifier: MIT
 *
 * Sequential: modules one after another, named "0", "1", ... */
#include "ht/nn.h"
#include "nn/layers/containers/children.h"

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    return ht__run_children(self, 0, self->slot_count, x);
}

static const ht_module_type type = {.name = "Sequential", .forward = forward};

ht_module *ht_nn_sequential(int count, ht_module *const modules[])
{
    return ht__new_with_children("ht_nn_sequential", &type, count, NULL, modules);
}

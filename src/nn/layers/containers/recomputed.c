/* SPDX-License-Identifier: MIT
 *
 * Recomputed: a module whose backward pass runs it again instead of keeping its activations. */
#include "ht/containers.h"
#include "ht/gradient_tools.h"
#include "nn/layers/containers/children.h"

static ht_tensor *run(ht_tensor *inputs[], void *module)
{
    return ht_forward(module, inputs[0]);
}

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    return ht_recomputed(run, 1, &x, *ht__slot_place(self, &self->slots[0]));
}

static const ht_module_type type = {.name = "Recomputed", .forward = forward};

ht_module *ht_nn_recomputed(ht_module *module)
{
    if (HT_IS_NULL(module, "ht_nn_recomputed", "module"))
        return NULL;
    return ht__new_with_children("ht_nn_recomputed", &type, 1, NULL, &module);
}

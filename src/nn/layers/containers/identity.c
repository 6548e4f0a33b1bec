/* SPDX-License-Identifier: MIT
 *
 * Identity: the output is the input. */
#include "ht/containers.h"

static ht_value *forward_value(ht_module *self, ht_value *inputs)
{
    (void)self;
    return inputs;
}

static const ht_module_type type = {.name = "Identity", .forward_value = forward_value};

ht_module *ht_nn_identity(void)
{
    return ht_module_new(0, &type);
}

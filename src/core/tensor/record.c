/* SPDX-License-Identifier: MIT
 *
 * Recording: an operation gets a node if one of its inputs needs a gradient. */
#include "core/tensor/node.h"

static bool all_current(const char *what, int count, ht_tensor *const inputs[])
{
    for (int i = 0; i < count; i++) {
        if (inputs[i] != NULL && !ht__is_current(inputs[i]) &&
            !ht__catch_up(what, "an operand", inputs[i]))
            return false;
    }
    return true;
}

static bool anything_needs_grad(int count, ht_tensor *const inputs[])
{
    for (int i = 0; i < count; i++) {
        if (inputs[i] != NULL && ht__needs_grad(inputs[i]))
            return true;
    }
    return false;
}

ht_node *ht_node_new(const char *name, ht_backward_fn *backward, int count,
                     ht_tensor *const inputs[])
{
    bool current;

    if (count > 0 && HT_IS_NULL(inputs, name, "inputs"))
        return NULL;
    if (!ht_is_grad_enabled())
        return NULL;
    current = all_current(name, count, inputs);
    if (current && !anything_needs_grad(count, inputs))
        return NULL;
    return ht__node_make(name, backward, count, inputs, !current);
}

/* SPDX-License-Identifier: MIT
 *
 * Computes parametrized slots, from their originals through one module after another. */
#include "nn/module/parametrize/compute.h"

static ht_tensor *no_forward(ht_module *self, ht_tensor *x)
{
    HT_FAIL(ht_tensor_comm(x), HT_ERR_UNSUPPORTED, "ht_forward: %s has no forward",
            self->type->name);
    return NULL;
}

/* The originals, as inputs, through all children. */
static ht_value *run_list(ht_module *self, ht_value *inputs)
{
    for (int i = 0; i < ht_module_child_count(self) && inputs != NULL; i++)
        inputs = ht_forward_value(ht_module_child(self, i, NULL), inputs);
    return inputs;
}

const ht_module_type ht__parametrizations_type = {.name = "ModuleDict", .forward = no_forward};
const ht_module_type ht__parametrization_list_type = {.name = "ParametrizationList",
                                                      .forward_value = run_list};

/* A child of this name and type, also inside a wrapper; NULL: none. */
static ht_module *child_of_type(ht_module *module, const char *name, const ht_module_type *type)
{
    ht_slot *slot = ht__module_slot(module, name);
    ht_module *child;

    if (slot == NULL || slot->kind != HT_SLOT_CHILD)
        return NULL;
    child = ht__module_unwrapped(*ht__slot_place(module, slot));
    return child->type == type ? child : NULL;
}

ht_module *ht__parametrization_lists(ht_module *module)
{
    return child_of_type(module, HT_PARAMETRIZATIONS, &ht__parametrizations_type);
}

ht_module *ht__parametrization_list(ht_module *module, const char *name)
{
    ht_slot *slot = ht__module_slot(module, name);
    ht_module *lists = ht__parametrization_lists(module);

    if (lists == NULL || slot == NULL || slot->kind != HT_SLOT_COMPUTED)
        return NULL;
    return child_of_type(lists, name, &ht__parametrization_list_type);
}

ht_value *ht__parametrization_originals(ht_module *list)
{
    ht_value *originals = ht_value_list();

    for (int i = 0; i < list->slot_count; i++) {
        if (list->slots[i].kind == HT_SLOT_PARAMETER)
            ht_value_append(originals, ht_value_tensor(*ht__slot_place(list, &list->slots[i])));
    }
    return ht_value_count(originals) == 1 ? ht_value_at(originals, 0) : originals;
}

ht_tensor *ht__parametrization_value(const char *what, ht_module *list)
{
    ht_value *value = ht_forward_value(list, ht__parametrization_originals(list));

    if (value != NULL && ht_value_as_tensor(value) == NULL)
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: the result of a parametrization is not one tensor",
                what);
    return ht_value_as_tensor(value);
}

bool ht__parametrize_compute(const char *what, ht_module *module)
{
    for (int i = 0; i < module->slot_count; i++) {
        ht_slot *slot = &module->slots[i];
        void **place = ht__slot_place(module, slot);
        ht_module *list;
        ht_tensor *value;

        if (slot->kind != HT_SLOT_COMPUTED)
            continue;
        list = ht__parametrization_list(module, slot->name);
        if (list == NULL)
            return HT_FAIL(NULL, HT_ERR_STATE, "%s: the parametrizations of %s were removed", what,
                           slot->name) == HT_SUCCESS;
        value = ht__parametrization_value(what, list);
        if (value == NULL)
            return false;
        ht_retain(value);
        ht_release(*place);
        *place = value;
    }
    return true;
}

/* SPDX-License-Identifier: MIT
 *
 * The tree of a module: its parameters, buffers and children; finding and replacing. */
#include "nn/module/module.h"

#include <string.h>

void ht_module_apply(ht_module *module, ht_module_visit_fn *visit, void *user)
{
    if (!HT_IS_NULL(module, "ht_module_apply", "module") &&
        !HT_IS_NULL(visit, "ht_module_apply", "visit"))
        ht__module_walk(module, visit, user);
}

static void walk_named(const char *what, ht_module *module, ht_slot_kind kind,
                       ht_tensor_visit_fn *visit, void *user)
{
    if (!HT_IS_NULL(module, what, "module") && !HT_IS_NULL(visit, what, "visit") &&
        ht__module_drain(module) == HT_SUCCESS)
        ht__module_walk_tensors(module, kind, visit, user);
}

void ht_module_named_parameters(ht_module *module, ht_tensor_visit_fn *visit, void *user)
{
    walk_named("ht_module_named_parameters", module, HT_SLOT_PARAMETER, visit, user);
}

void ht_module_named_buffers(ht_module *module, ht_tensor_visit_fn *visit, void *user)
{
    walk_named("ht_module_named_buffers", module, HT_SLOT_BUFFER, visit, user);
}

static void append(const char *name, ht_tensor *tensor, void *list)
{
    (void)name;
    ht_value_append(list, ht_value_tensor(tensor));
}

static ht_value *list_tensors(const char *what, ht_module *module, ht_slot_kind kind)
{
    ht_value *list;

    if (HT_IS_NULL(module, what, "module") || ht__module_drain(module) != HT_SUCCESS)
        return NULL;
    list = ht_value_list();
    ht__module_walk_tensors(module, kind, append, list);
    return list;
}

ht_value *ht_module_parameters(ht_module *module)
{
    return list_tensors("ht_module_parameters", module, HT_SLOT_PARAMETER);
}

ht_value *ht_module_buffers(ht_module *module)
{
    return list_tensors("ht_module_buffers", module, HT_SLOT_BUFFER);
}

static void add_size(const char *name, ht_tensor *tensor, void *total)
{
    (void)name;
    *(int64_t *)total += ht_tensor_size(tensor);
}

int64_t ht_module_parameter_count(ht_module *module)
{
    int64_t total = 0;

    ht__module_walk_tensors(module, HT_SLOT_PARAMETER, add_size, &total);
    return total;
}

int ht_module_child_count(const ht_module *module)
{
    int count = 0;

    for (int i = 0; HT_IS_THERE(module) && i < module->slot_count; i++)
        count += module->slots[i].kind == HT_SLOT_CHILD;
    return count;
}

ht_module *ht_module_child(const ht_module *module, int index, const char **name)
{
    for (int i = 0; HT_IS_THERE(module) && index >= 0 && i < module->slot_count; i++) {
        ht_slot *slot = &module->slots[i];

        if (slot->kind != HT_SLOT_CHILD || index-- > 0)
            continue;
        if (name != NULL)
            *name = slot->name;
        return *ht__slot_place((ht_module *)module, slot);
    }
    return NULL;
}

/* The slot of one kind at a dotted path below `module`, and the module that has it in *owner. */
static ht_slot *find_slot(ht_module *module, const char *path, ht_slot_kind kind, ht_module **owner)
{
    while (module != NULL) {
        size_t length = strcspn(path, ".");

        if (module->wraps && (length != strlen("module") || memcmp(path, "module", length) != 0))
            module = ht__module_unwrapped(module);
        bool last = path[length] == '\0';
        ht_slot_kind wanted = last ? kind : HT_SLOT_CHILD;
        ht_slot *slot = NULL;

        for (int i = 0; i < module->slot_count && slot == NULL; i++) {
            ht_slot *s = &module->slots[i];

            if (s->kind == wanted && strlen(s->name) == length &&
                memcmp(s->name, path, length) == 0)
                slot = s;
        }
        *owner = module;
        if (slot == NULL || last)
            return slot;
        module = *ht__slot_place(module, slot);
        path += length + 1;
    }
    return NULL;
}

ht_module *ht_module_find(ht_module *module, const char *path)
{
    ht_module *owner;
    ht_slot *slot;

    if (!HT_IS_THERE(module) || path == NULL || path[0] == '\0')
        return module;
    slot = find_slot(module, path, HT_SLOT_CHILD, &owner);
    return slot != NULL ? *ht__slot_place(owner, slot) : NULL;
}

static ht_tensor *tensor_at(ht_module *module, const char *path, ht_slot_kind kind)
{
    ht_module *owner;
    ht_slot *slot = find_slot(module, path, kind, &owner);

    return slot != NULL ? *ht__slot_place(owner, slot) : NULL;
}

ht_tensor *ht__module_find_tensor(ht_module *module, const char *path)
{
    ht_tensor *parameter = tensor_at(module, path, HT_SLOT_PARAMETER);

    return parameter != NULL ? parameter : tensor_at(module, path, HT_SLOT_BUFFER);
}

static ht_tensor *find_tensor(const char *what, ht_module *module, const char *path,
                              ht_slot_kind kind)
{
    if (HT_IS_NULL(module, what, "module") || HT_IS_NULL(path, what, "path") ||
        ht__module_drain(module) != HT_SUCCESS)
        return NULL;
    return tensor_at(module, path, kind);
}

ht_tensor *ht_module_find_parameter(ht_module *module, const char *path)
{
    return find_tensor("ht_module_find_parameter", module, path, HT_SLOT_PARAMETER);
}

ht_tensor *ht_module_find_buffer(ht_module *module, const char *path)
{
    return find_tensor("ht_module_find_buffer", module, path, HT_SLOT_BUFFER);
}

ht_status ht_module_replace(ht_module *module, const char *name, ht_module *child)
{
    ht_slot *slot = module != NULL && name != NULL ? ht__module_slot(module, name) : NULL;
    ht_status status = HT_SUCCESS;

    if (child == NULL && ht_error_get(NULL) != HT_SUCCESS)
        return ht_error_get(NULL);
    if (child == NULL || slot == NULL || slot->kind != HT_SLOT_CHILD)
        status = HT_FAIL(NULL, HT_ERR_ARGUMENT,
                         "ht_module_replace: %s has no child '%s', or it is NULL",
                         module != NULL ? module->type->name : "NULL", name != NULL ? name : "");
    else if (ht__module_contains(child, module))
        status = HT_FAIL(NULL, HT_ERR_ARGUMENT,
                         "ht_module_replace: the child for '%s' contains the module itself", name);
    else
        status = ht__module_check_free("ht_module_replace", module);
    if (status != HT_SUCCESS) {
        ht_release(child);
        return status;
    }

    void **place = ht__slot_place(module, slot);
    ht_release(*place);
    *place = child;
    ht__module_set_path(module, module->path);
    return HT_SUCCESS;
}

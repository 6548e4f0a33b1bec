/* SPDX-License-Identifier: MIT
 *
 * Items of containers, by name or by number. */
#include "nn/layers/containers/children.h"

#include <stdio.h>

enum { NAME = 16 };

/* The number of items of this kind, as a name. */
static const char *next_name(const ht_module *module, ht_slot_kind kind, char name[NAME])
{
    int count = 0;

    for (int i = 0; i < module->slot_count; i++)
        count += module->slots[i].kind == kind;
    snprintf(name, NAME, "%d", count);
    return name;
}

ht_status ht__append_child(const char *what, ht_module *module, ht_module *child)
{
    char name[NAME];

    return ht__module_add(what, module, next_name(module, HT_SLOT_CHILD, name), NULL, child);
}

ht_status ht__append_parameter(const char *what, ht_module *module, ht_tensor *parameter)
{
    char name[NAME];

    return ht__module_add_parameter(what, module, next_name(module, HT_SLOT_PARAMETER, name),
                                    parameter);
}

bool ht__is_list(const char *what, int count, const void *items, const char *name)
{
    if (count >= 0)
        return count == 0 || !HT_IS_NULL(items, what, name);
    HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: count is %d, expected at least 0", what, count);
    return false;
}

bool ht__is_missing(const char *what, const char *items, int i, const void *item)
{
    char name[NAME + 16];

    snprintf(name, sizeof name, "%s[%d]", items, i);
    return HT_IS_NULL(item, what, name);
}

ht_module *ht__new_with_children(const char *what, const ht_module_type *type, int count,
                                 const char *const names[], ht_module *const modules[])
{
    if (!ht__is_list(what, count, modules, "modules"))
        return NULL;
    return ht__take_children(what, ht_module_new(0, type), count, names, modules);
}

ht_module *ht__take_children(const char *what, ht_module *self, int count,
                             const char *const names[], ht_module *const modules[])
{
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < count; i++) {
        if (status != HT_SUCCESS)
            ht_release(modules[i]); /* taken over, also when an earlier one was refused */
        else if (ht__is_missing(what, "modules", i, modules[i]))
            status = ht_error_get(NULL);
        else if (names == NULL)
            status = ht__append_child(what, self, modules[i]);
        else
            status = ht__module_add(what, self, names[i], NULL, modules[i]);
    }
    if (status == HT_SUCCESS)
        return self;
    ht_release(self);
    return NULL;
}

ht_tensor *ht__run_children(ht_module *self, int first, int end, ht_tensor *x)
{
    for (int i = first; i < end; i++)
        x = ht_forward(*ht__slot_place(self, &self->slots[i]), x);
    return x;
}

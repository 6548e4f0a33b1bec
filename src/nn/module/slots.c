/* SPDX-License-Identifier: MIT
 *
 * Slots: where a module keeps its parameters, buffers and children, and the paths that follow from
 * their names. */
#include "core/ops/ops.h"
#include "nn/module/module.h"

#include <string.h>

void **ht__slot_place(ht_module *module, ht_slot *slot)
{
    if (slot->offset < 0)
        return &slot->held;
    return (void **)(void *)((char *)module->data + slot->offset);
}

ht_slot *ht__module_slot(ht_module *module, const char *name)
{
    for (int i = 0; i < module->slot_count; i++) {
        if (strcmp(module->slots[i].name, name) == 0)
            return &module->slots[i];
    }
    return NULL;
}

void ht__module_new_slot(ht_module *module, const char *name, ht_slot_kind kind, ptrdiff_t offset,
                         void *handle)
{
    size_t count = (size_t)module->slot_count + 1;
    ht_slot *slot;

    module->slots = ht__realloc(module->slots, count * sizeof *module->slots);
    slot = &module->slots[module->slot_count++];
    *slot = (ht_slot){.name = ht__strdup(name), .kind = kind, .offset = offset};
    *ht__slot_place(module, slot) = handle;
}

void ht__module_remove_slot(ht_module *module, const char *name)
{
    ht_slot *slot = ht__module_slot(module, name);
    const ptrdiff_t after = module->slots + module->slot_count - (slot + 1);

    ht_release(*ht__slot_place(module, slot));
    ht__free(slot->name);
    memmove(slot, slot + 1, (size_t)after * sizeof *slot);
    module->slot_count--;
}

void ht__module_set_path(ht_module *module, const char *path)
{
    module->path = ht__name(path);
    for (int i = 0; i < module->slot_count; i++) {
        ht_slot *slot = &module->slots[i];

        if (slot->kind != HT_SLOT_CHILD)
            continue;
        size_t room = strlen(path) + strlen(slot->name) + 2;
        char *below = ht__alloc(room);
        if (module->wraps)
            snprintf(below, room, "%s", path);
        else
            snprintf(below, room, "%s%s%s", path, path[0] != '\0' ? "." : "", slot->name);
        ht__module_set_path(*ht__slot_place(module, slot), below);
        ht__free(below);
    }
}

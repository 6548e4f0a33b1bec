/* SPDX-License-Identifier: MIT
 *
 * Walking through the tree: each module and each tensor once, with its dotted name. A wrapper and
 * what it wraps have one name, so that wrapping changes none. */
#include "nn/module/module.h"

#include <string.h>

/* A walk in progress; `name` is the path of the module it is at. */
struct walk {
    ht_address_set modules, tensors; /* seen */
    char *name;
    size_t room;
    ht_module_visit_fn *visit_module; /* one of the two */
    ht_tensor_visit_fn *visit_tensor;
    ht_slot_kind kind; /* of the tensors to visit */
    bool lasting;      /* without transient buffers */
    void *user;
};

/* Appends ".part" (no dot at the start) to the name of length `length`; returns the new length. */
static size_t push_name(struct walk *walk, size_t length, const char *part)
{
    size_t more = strlen(part);

    if (length + more + 2 > walk->room) {
        walk->room = 2 * (length + more + 2);
        walk->name = ht__realloc(walk->name, walk->room);
    }
    if (length > 0)
        walk->name[length++] = '.';
    memcpy(walk->name + length, part, more + 1);
    return length + more;
}

static void walk_tensors(struct walk *walk, ht_module *module, size_t length)
{
    for (int i = 0; i < module->slot_count; i++) {
        ht_slot *slot = &module->slots[i];
        ht_tensor *tensor = *ht__slot_place(module, slot);

        if (slot->kind != walk->kind || (walk->lasting && slot->transient) ||
            !ht__address_add(&walk->tensors, tensor))
            continue;
        push_name(walk, length, slot->name);
        walk->visit_tensor(walk->name, tensor, walk->user);
    }
    walk->name[length] = '\0';
}

static void walk_module(struct walk *walk, ht_module *module, size_t length)
{
    if (!ht__address_add(&walk->modules, module))
        return;
    if (walk->visit_module != NULL)
        walk->visit_module(walk->name, module, walk->user);
    else
        walk_tensors(walk, module, length);

    /* By position: a visitor may replace children. */
    for (int i = 0; i < module->slot_count; i++) {
        ht_slot *slot = &module->slots[i];

        if (slot->kind != HT_SLOT_CHILD)
            continue;
        size_t below = module->wraps ? length : push_name(walk, length, slot->name);
        walk_module(walk, *ht__slot_place(module, slot), below);
        walk->name[length] = '\0';
    }
}

static void run_walk(struct walk *walk, ht_module *module)
{
    if (ht__alive(module, "walking through a module", "it") == NULL)
        return;
    push_name(walk, 0, "");
    walk_module(walk, module, 0);
    ht__address_set_free(&walk->modules);
    ht__address_set_free(&walk->tensors);
    ht__free(walk->name);
}

void ht__module_walk(ht_module *module, ht_module_visit_fn *visit, void *user)
{
    struct walk walk = {.visit_module = visit, .user = user};

    run_walk(&walk, module);
}

void ht__module_walk_tensors(ht_module *module, ht_slot_kind kind, ht_tensor_visit_fn *visit,
                             void *user)
{
    struct walk walk = {.visit_tensor = visit, .kind = kind, .user = user};

    run_walk(&walk, module);
}

void ht__module_walk_state(ht_module *module, ht_tensor_visit_fn *visit, void *user)
{
    struct walk walk = {
        .visit_tensor = visit, .kind = HT_SLOT_BUFFER, .lasting = true, .user = user};

    ht__module_walk_tensors(module, HT_SLOT_PARAMETER, visit, user);
    run_walk(&walk, module);
}

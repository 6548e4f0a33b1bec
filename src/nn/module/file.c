/* SPDX-License-Identifier: MIT
 *
 * The named tensors of a tree, in the form in which a file has them. */
#include "nn/module/file.h"

#include <stdio.h>
#include <string.h>

static const char extra_state[] = "_extra_state";

static void append(ht_state *state, struct ht_state_entry entry)
{
    if (state->count == state->capacity) {
        state->capacity = state->capacity > 0 ? 2 * state->capacity : 32;
        state->entries = ht__realloc(state->entries, state->capacity * sizeof *state->entries);
    }
    state->entries[state->count++] = entry;
}

static void add_tensor(const char *name, ht_tensor *tensor, void *state)
{
    append(state, (struct ht_state_entry){.name = ht__strdup(name), .tensor = tensor});
}

static void add_extra(const char *name, ht_module *module, void *state)
{
    const size_t room = strlen(name) + sizeof extra_state + 1;
    char *path;

    if (module->type->get_extra_state == NULL)
        return;
    path = ht__alloc(room);
    snprintf(path, room, "%s%s%s", name, name[0] != '\0' ? "." : "", extra_state);
    append(state, (struct ht_state_entry){.name = path, .module = module});
}

ht_state ht__state_collect(ht_module *module)
{
    ht_state state = {.tree = module};

    ht__module_walk_state(module, add_tensor, &state);
    ht__module_walk(module, add_extra, &state);
    return state;
}

ht_value *ht__state_value(const struct ht_state_entry *entry)
{
    if (entry->tensor != NULL)
        return ht_value_tensor(entry->tensor);
    return ht_value_tensor(entry->module->type->get_extra_state(entry->module));
}

/* The module whose extra state `name` calls; NULL: none. */
static const ht_module *owner_of_extra(ht_module *tree, const char *name)
{
    const char *last = strrchr(name, '.');
    ht_module *module;
    char *path;

    if (last == NULL || strcmp(last + 1, extra_state) != 0)
        return NULL;
    path = ht__strdup(name);
    path[last - name] = '\0';
    module = ht_module_find(tree, path);
    ht__free(path);
    return module != NULL ? ht__module_unwrapped(module) : NULL;
}

struct ht_state_entry *ht__state_find(const ht_state *state, const char *name)
{
    const ht_tensor *tensor;
    const ht_module *module;

    for (size_t i = 0; i < state->count; i++) {
        if (strcmp(state->entries[i].name, name) == 0)
            return &state->entries[i];
    }
    tensor = ht__module_find_tensor(state->tree, name);
    module = tensor == NULL ? owner_of_extra(state->tree, name) : NULL;
    for (size_t i = 0; i < state->count && (tensor != NULL || module != NULL); i++) {
        if (state->entries[i].tensor == tensor && state->entries[i].module == module)
            return &state->entries[i];
    }
    return NULL;
}

void ht__state_free(ht_state *state)
{
    for (size_t i = 0; i < state->count; i++)
        ht__free(state->entries[i].name);
    ht__free(state->entries);
}

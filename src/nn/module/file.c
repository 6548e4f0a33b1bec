/* SPDX-License-Identifier: MIT
 *
 * The named tensors of a tree, as they stand in a file. */
#include "nn/module/file.h"

static void add_entry(const char *name, ht_tensor *tensor, void *user)
{
    ht_state *state = user;

    if (state->count == state->capacity) {
        state->capacity = state->capacity > 0 ? 2 * state->capacity : 32;
        state->entries = ht__realloc(state->entries, state->capacity * sizeof *state->entries);
    }
    state->entries[state->count++] = (struct ht_state_entry){.name = ht__strdup(name),
                                                             .tensor = tensor};
}

ht_state ht__state_collect(ht_module *module)
{
    ht_state state = {0};

    ht__module_walk_state(module, add_entry, &state);
    return state;
}

void ht__state_free(ht_state *state)
{
    for (size_t i = 0; i < state->count; i++)
        ht__free(state->entries[i].name);
    ht__free(state->entries);
}

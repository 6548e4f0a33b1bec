/* SPDX-License-Identifier: MIT
 *
 * States of trees as maps: made, and loaded. */
#include "ht/autograd.h"
#include "nn/module/file.h"
#include "nn/module/hooks/hooks.h"

ht_value *ht_module_state_dict(ht_module *module)
{
    ht_status status;
    ht_value *map;
    ht_state state;

    if (HT_IS_NULL(module, "ht_module_state_dict", "module") ||
        ht__module_drain(module) != HT_SUCCESS)
        return NULL;
    module = ht__module_unwrapped(module);
    if (ht__hooks_before_state(module) != HT_SUCCESS)
        return NULL;
    map = ht_value_map();
    state = ht__state_collect(module);
    status = HT_SUCCESS;
    for (size_t i = 0; i < state.count && status == HT_SUCCESS; i++)
        status = ht_value_set(map, state.entries[i].name, ht__state_value(&state.entries[i]));
    ht__state_free(&state);
    return status == HT_SUCCESS ? ht__hooks_after_state("ht_module_state_dict", module, map) : NULL;
}

/* The entries that the map lacks. */
static ht_value *list_missing(const ht_state *state)
{
    ht_value *missing = ht_value_map();

    for (size_t i = 0; i < state->count; i++) {
        if (state->entries[i].item == NULL)
            ht_value_set(missing, state->entries[i].name, ht__state_value(&state->entries[i]));
    }
    return missing;
}

/* The items of the map that no entry takes. */
static ht_value *list_unexpected(const ht_state *state, const ht_value *map)
{
    ht_value *unexpected = ht_value_map();

    for (int i = 0; i < ht_value_count(map); i++) {
        if (ht__state_find(state, ht_value_key(map, i)) == NULL)
            ht_value_set(unexpected, ht_value_key(map, i), ht_value_at(map, i));
    }
    return unexpected;
}

/* Alone, the error that was recorded is raised here. */
static ht_status check(const ht_loading *loading, ht_state *state, const ht_value *map)
{
    ht_status status = ht__state_fits(loading->what, loading->source, state, map, loading->strict);
    const char *message;

    if (status == HT_SUCCESS || loading->comm != NULL)
        return status;
    ht_error_get(&message);
    return HT_FAIL(NULL, status, "%s", message);
}

static ht_status finish(const ht_loading *loading, const ht_state *state, const ht_value *map)
{
    const bool hooks = ht__hooks_in_tree(loading->tree, HT_HOOK_LOAD);
    ht_value *missing = NULL, *unexpected = NULL;

    if (hooks || loading->missing != NULL)
        missing = list_missing(state);
    if (hooks || loading->unexpected != NULL)
        unexpected = list_unexpected(state, map);
    if (loading->missing != NULL)
        *loading->missing = missing;
    if (loading->unexpected != NULL)
        *loading->unexpected = unexpected;
    return hooks ? ht__hooks_after_load(loading->tree, missing, unexpected) : HT_SUCCESS;
}

/* Errors of one rank become those of all. */
static bool begin(const ht_loading *loading)
{
    return loading->comm != NULL && ht__agree_begin();
}

static ht_status end(const ht_loading *loading, bool held, ht_status status)
{
    return loading->comm != NULL ? ht__agree_end(loading->what, loading->comm, held, status)
                                 : status;
}

/* All tensors and extra states, or none on any rank. */
static ht_status change(const ht_loading *loading, ht_state *state)
{
    ht_scope *scope = ht_scope_open();
    const bool was = ht_set_grad_enabled(false);
    bool held = begin(loading);
    ht_status status = end(loading, held, ht__state_prepare(state));

    if (status != HT_SUCCESS) {
        ht__state_put_back(state);
    } else {
        held = begin(loading);
        status = end(loading, held, ht__state_copy(state));
    }
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status;
}

ht_status ht__state_load(const ht_loading *loading, ht_value *map)
{
    ht_status status;
    ht_state state;
    bool held;

    held = begin(loading);
    map = ht__hooks_before_load(loading->what, loading->tree, map);
    state = ht__state_collect(loading->tree);
    status = map != NULL ? check(loading, &state, map) : ht_error_get(NULL);
    status = end(loading, held, status);
    if (status == HT_SUCCESS)
        status = change(loading, &state);
    if (status == HT_SUCCESS) {
        held = begin(loading);
        status = end(loading, held, finish(loading, &state, map));
    }
    ht__state_free(&state);
    return status;
}

static ht_status load(ht_loading *loading, ht_module *module, const ht_value *state)
{
    ht_status status;

    if (HT_IS_NULL(module, loading->what, "module") || HT_IS_NULL(state, loading->what, "state"))
        return ht_error_get(NULL);
    if (ht_value_get_kind(state) != HT_VALUE_MAP)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: state is %s, expected a map", loading->what,
                       ht__value_kind_name(state));
    status = ht__module_drain(module);
    if (status != HT_SUCCESS)
        return status;
    loading->tree = ht__module_unwrapped(module);
    loading->source = "the state";
    return ht__state_load(loading, (ht_value *)state);
}

ht_status ht_module_load_state_dict(ht_module *module, const ht_value *state)
{
    return load(&(ht_loading){.what = "ht_module_load_state_dict", .strict = true}, module, state);
}

ht_status ht_module_load_state_dict_ext(ht_module *module, const ht_value *state, bool strict,
                                        ht_value **missing, ht_value **unexpected)
{
    return load(&(ht_loading){.what = "ht_module_load_state_dict_ext",
                              .strict = strict,
                              .missing = missing,
                              .unexpected = unexpected},
                module, state);
}

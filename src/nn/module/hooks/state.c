/* SPDX-License-Identifier: MIT
 *
 * Hooks around states. Before a state is made or loaded, parents come before children; afterwards
 * children come before parents. */
#include "nn/module/hooks/hooks.h"

#include <string.h>

struct place {
    ht_module *module; /* retained */
    char *prefix;      /* owned */
};

/* The modules of a tree with hooks of a kind, parents before children. An error from before their
 * hooks is set aside meanwhile. */
struct places {
    ht_hook_kind kind;
    struct place *list;
    int count;
    ht_error_kept earlier;
};

static void add_place(const char *name, ht_module *module, void *user)
{
    struct places *places = user;
    const size_t room = strlen(name) + 2;
    char *prefix;

    if (!ht__hooks_any(module, places->kind))
        return;
    prefix = ht__alloc(room);
    snprintf(prefix, room, "%s%s", name, name[0] != '\0' ? "." : "");
    places->list = ht__realloc(places->list, ((size_t)places->count + 1) * sizeof *places->list);
    places->list[places->count++] = (struct place){ht_retain(module), prefix};
}

static struct places find_places(ht_module *tree, ht_hook_kind kind)
{
    struct places places = {.kind = kind};

    ht__module_walk(tree, add_place, &places);
    ht__error_set_aside(&places.earlier);
    return places;
}

static void free_places(struct places *places)
{
    for (int i = 0; i < places->count; i++) {
        ht_release(places->list[i].module);
        ht__free(places->list[i].prefix);
    }
    ht__free(places->list);
    ht__error_put_back(&places->earlier);
}

bool ht__hooks_in_tree(ht_module *tree, ht_hook_kind kind)
{
    struct places places = find_places(tree, kind);
    const bool found = places.count > 0;

    free_places(&places);
    return found;
}

ht_status ht__hooks_before_state(ht_module *tree)
{
    struct places places = find_places(tree, HT_HOOK_STATE_PRE);
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < places.count && status == HT_SUCCESS; i++) {
        ht_hook_walk walk = ht__hooks_begin(places.list[i].module, places.kind);

        while (ht__hooks_next(&walk))
            walk.hook.run.state_pre(places.list[i].module, places.list[i].prefix, walk.hook.user);
        status = ht_error_get(NULL);
    }
    free_places(&places);
    return status;
}

/* The state that the hooks of one module return. NULL after an error. */
static ht_value *change(const char *what, const struct place *place, ht_hook_kind kind,
                        ht_value *state)
{
    ht_hook_walk walk = ht__hooks_begin(place->module, kind);

    while (ht__hooks_next(&walk)) {
        ht_value *changed = walk.hook.run.state(place->module, state, place->prefix,
                                                walk.hook.user);

        if (ht_error_get(NULL) != HT_SUCCESS)
            return NULL;
        state = changed != NULL ? changed : state;
        if (ht_value_get_kind(state) == HT_VALUE_MAP)
            continue;
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: the result of a hook of %s is %s, expected a map", what,
                place->module->type->name, ht__value_kind_name(state));
        return NULL;
    }
    return state;
}

ht_value *ht__hooks_after_state(const char *what, ht_module *tree, ht_value *state)
{
    struct places places = find_places(tree, HT_HOOK_STATE);

    for (int i = places.count - 1; i >= 0 && state != NULL; i--)
        state = change(what, &places.list[i], places.kind, state);
    free_places(&places);
    return state;
}

/* Another map with the same items. */
static ht_value *copy_of(const ht_value *state)
{
    ht_value *map = ht_value_map();

    for (int i = 0; i < ht_value_count(state); i++)
        ht_value_set(map, ht_value_key(state, i), ht_value_at(state, i));
    return map;
}

ht_value *ht__hooks_before_load(const char *what, ht_module *tree, ht_value *state)
{
    struct places places = find_places(tree, HT_HOOK_LOAD_PRE);

    if (places.count > 0)
        state = copy_of(state); /* a hook may change it, and the caller keeps his */
    for (int i = 0; i < places.count && state != NULL; i++)
        state = change(what, &places.list[i], places.kind, state);
    free_places(&places);
    return state;
}

ht_status ht__hooks_after_load(ht_module *tree, ht_value *missing, ht_value *unexpected)
{
    struct places places = find_places(tree, HT_HOOK_LOAD);
    ht_status status = HT_SUCCESS;

    for (int i = places.count - 1; i >= 0 && status == HT_SUCCESS; i--) {
        ht_hook_walk walk = ht__hooks_begin(places.list[i].module, places.kind);

        while (ht__hooks_next(&walk))
            walk.hook.run.load(places.list[i].module, missing, unexpected, walk.hook.user);
        status = ht_error_get(NULL);
    }
    free_places(&places);
    return status;
}

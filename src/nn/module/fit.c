/* SPDX-License-Identifier: MIT
 *
 * Whether a saved state fits a tree: all that does not is said at once. */
#include "ht/autograd.h"
#include "nn/module/file.h"

#include <stdio.h>
#include <string.h>

/* A list of complaints that fits an error message. */
struct complaints {
    char text[768];
    size_t used;
    int left_out;
};

static void complain(struct complaints *list, const char *kind, const char *name,
                     const char *detail)
{
    size_t room = sizeof list->text - list->used;
    int length = snprintf(list->text + list->used, room, "%s%s %s%s", list->used > 0 ? "; " : "",
                          kind, name, detail);

    if (length > 0 && (size_t)length < room) {
        list->used += (size_t)length;
        return;
    }
    list->text[list->used] = '\0';
    list->left_out++;
}

static struct ht_state_entry *find(const ht_state *state, const char *name)
{
    for (size_t i = 0; i < state->count; i++) {
        if (strcmp(state->entries[i].name, name) == 0)
            return &state->entries[i];
    }
    return NULL;
}

/* All that a copy could stumble over: once one is made, all are. */
static void compare(struct complaints *list, const struct ht_state_entry *entry, const ht_tensor *x)
{
    const ht_body *mine = entry->tensor->body, *theirs = x->body;
    char detail[384];

    if (!ht__body_same_shape(theirs, mine)) {
        snprintf(detail, sizeof detail, " is %s in the state, %s in the model",
                 ht__shape_str(theirs->ndim, theirs->shape),
                 ht__shape_str(mine->ndim, mine->shape));
        complain(list, "misshapen", entry->name, detail);
    } else if (!ht__comm_compatible(mine->comm, theirs->comm)) {
        snprintf(detail, sizeof detail, " lives on %d rank%s, in the model on %d",
                 theirs->comm->size, theirs->comm->size > 1 ? "s" : "", mine->comm->size);
        complain(list, "misplaced", entry->name, detail);
    } else if (ht_dtype_is_complex(theirs->dtype) && !ht_dtype_is_complex(mine->dtype)) {
        snprintf(detail, sizeof detail, " is %s, in the model %s", ht_dtype_name(theirs->dtype),
                 ht_dtype_name(mine->dtype));
        complain(list, "mistyped", entry->name, detail);
    }
}

/* The entry of a checkpoint that holds a state of its own; NULL: there is none. */
static const char *inner_state(const ht_value *map)
{
    for (int i = 0; i < ht_value_count(map); i++) {
        if (ht_value_get_kind(ht_value_at(map, i)) == HT_VALUE_MAP)
            return ht_value_key(map, i);
    }
    return NULL;
}

ht_status ht__state_fits(const char *what, const char *source, const ht_state *state,
                         const ht_value *map, bool strict)
{
    struct complaints list = {.used = 0};
    const char *inner = strict ? inner_state(map) : NULL;

    if (inner != NULL)
        return ht__error_set(
            HT_ERR_FORMAT,
            "%s: %s is a checkpoint whose entry \"%s\" is a state of its own; load it with "
            "ht_checkpoint_load",
            what, source, inner);
    for (int i = 0; i < ht_value_count(map) && strict; i++) {
        if (find(state, ht_value_key(map, i)) == NULL)
            complain(&list, "unexpected", ht_value_key(map, i), "");
    }
    for (size_t i = 0; i < state->count; i++) {
        const ht_value *item = ht_value_get(map, state->entries[i].name);
        ht_tensor *x = ht_value_as_tensor(item);

        if (item == NULL && !strict)
            continue;
        if (x == NULL)
            complain(&list, "missing", state->entries[i].name, "");
        else
            compare(&list, &state->entries[i], x);
    }
    if (list.used == 0 && list.left_out == 0)
        return HT_SUCCESS;
    if (list.left_out == 0)
        return ht__error_set(HT_ERR_FORMAT, "%s: %s does not fit the model: %s", what, source,
                             list.text);
    return ht__error_set(HT_ERR_FORMAT, "%s: %s does not fit the model: %s; and %d more", what,
                         source, list.text, list.left_out);
}

/* What needs memory, or may fail in another way, comes before the first change. */
static ht_status prepare(const ht_state *state, const ht_value *map, ht_tensor *made[])
{
    for (size_t i = 0; i < state->count; i++) {
        const ht_body *body = state->entries[i].tensor->body;
        const ht_value *item = ht_value_get(map, state->entries[i].name);

        if (item == NULL)
            continue;
        made[i] = ht_astype(ht_to_device(ht_value_as_tensor(item), body->storage->device),
                            body->dtype);
        if (made[i] == NULL)
            return ht_error_get(NULL);
    }
    return HT_SUCCESS;
}

ht_status ht__state_copy(const ht_state *state, const ht_value *map)
{
    ht_tensor **made = ht__alloc((state->count + 1) * sizeof *made);
    ht_scope *scope = ht_scope_open();
    bool was = ht_set_grad_enabled(false);
    ht_status status = prepare(state, map, made);

    for (size_t i = 0; i < state->count && status == HT_SUCCESS; i++) {
        if (made[i] != NULL)
            status = ht_copy_(state->entries[i].tensor, made[i]);
    }
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    ht__free(made);
    return status;
}

static void add_to_map(const char *name, ht_tensor *tensor, void *map)
{
    ht_value_set(map, name, ht_value_tensor(tensor));
}

ht_value *ht_module_state_dict(ht_module *module)
{
    ht_value *map;

    if (HT_IS_NULL(module, "ht_module_state_dict", "the module") ||
        ht__module_drain(module) != HT_SUCCESS)
        return NULL;
    map = ht_value_map();
    ht__module_walk_state(ht__module_unwrapped(module), add_to_map, map);
    return map;
}

/* The entries that the map lacks, and the items of the map that no entry takes. */
static void list_rest(const ht_state *state, const ht_value *map, ht_value **missing,
                      ht_value **unexpected)
{
    if (missing != NULL)
        *missing = ht_value_map();
    for (size_t i = 0; i < state->count && missing != NULL; i++) {
        if (ht_value_get(map, state->entries[i].name) == NULL)
            add_to_map(state->entries[i].name, state->entries[i].tensor, *missing);
    }
    if (unexpected != NULL)
        *unexpected = ht_value_map();
    for (int i = 0; i < ht_value_count(map) && unexpected != NULL; i++) {
        if (find(state, ht_value_key(map, i)) == NULL)
            ht_value_set(*unexpected, ht_value_key(map, i), ht_value_at(map, i));
    }
}

static ht_status load(const char *what, ht_module *module, const ht_value *state, bool strict,
                      ht_value **missing, ht_value **unexpected)
{
    const char *message;
    ht_state tree;
    ht_status status;

    if (HT_IS_NULL(module, what, "the module") || HT_IS_NULL(state, what, "the state"))
        return ht_error_get(NULL);
    if (ht_value_get_kind(state) != HT_VALUE_MAP)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: the state is not a map", what);
    status = ht__module_drain(module);
    if (status != HT_SUCCESS)
        return status;

    tree = ht__state_collect(ht__module_unwrapped(module));
    status = ht__state_fits(what, "the state", &tree, state, strict);
    if (status == HT_SUCCESS) {
        status = ht__state_copy(&tree, state);
    } else {
        ht_error_get(&message);
        HT_FAIL(NULL, status, "%s", message);
    }
    if (status == HT_SUCCESS)
        list_rest(&tree, state, missing, unexpected);
    ht__state_free(&tree);
    return status;
}

ht_status ht_module_load_state_dict(ht_module *module, const ht_value *state)
{
    return load("ht_module_load_state_dict", module, state, true, NULL, NULL);
}

ht_status ht_module_load_state_dict_ext(ht_module *module, const ht_value *state, bool strict,
                                        ht_value **missing, ht_value **unexpected)
{
    return load("ht_module_load_state_dict_ext", module, state, strict, missing, unexpected);
}

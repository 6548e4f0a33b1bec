/* SPDX-License-Identifier: MIT
 *
 * Whether a saved state fits a tree: all that does not is said at once. */
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

/* All that a copy could stumble over: once one is made, all are. */
static void compare(struct complaints *list, const struct ht_state_entry *entry, const char *name,
                    const ht_tensor *x)
{
    const ht_body *mine = entry->tensor->body, *theirs = x->body;
    char detail[384];

    if (!ht__body_same_shape(theirs, mine)) {
        snprintf(detail, sizeof detail, " is %s in the state, %s in the model",
                 ht__shape_str(theirs->ndim, theirs->shape),
                 ht__shape_str(mine->ndim, mine->shape));
        complain(list, "misshapen", name, detail);
    } else if (!ht__comm_compatible(mine->comm, theirs->comm)) {
        snprintf(detail, sizeof detail, " is on %d rank%s, in the model on %d", theirs->comm->size,
                 theirs->comm->size > 1 ? "s" : "", mine->comm->size);
        complain(list, "misplaced", name, detail);
    } else if (ht_dtype_is_complex(theirs->dtype) && !ht_dtype_is_complex(mine->dtype)) {
        snprintf(detail, sizeof detail, " is %s, in the model %s", ht_dtype_name(theirs->dtype),
                 ht_dtype_name(mine->dtype));
        complain(list, "mistyped", name, detail);
    }
}

/* The entry of a checkpoint that is a separate state; NULL: there is none. */
static const char *inner_state(const ht_value *map)
{
    for (int i = 0; i < ht_value_count(map); i++) {
        if (ht_value_get_kind(ht_value_at(map, i)) == HT_VALUE_MAP)
            return ht_value_key(map, i);
    }
    return NULL;
}

/* Gives an entry its item, and compares it if the item has another of its paths. */
static void match(struct complaints *list, const ht_state *state, const char *name,
                  const ht_value *item, bool strict)
{
    struct ht_state_entry *entry = ht__state_find(state, name);
    const ht_tensor *x = ht_value_as_tensor(item);

    if (entry == NULL) {
        if (strict)
            complain(list, "unexpected", name, "");
        return;
    }
    entry->item = item;
    if (x != NULL && entry->tensor != NULL && strcmp(name, entry->name) != 0)
        compare(list, entry, name, x);
}

ht_status ht__state_fits(const char *what, const char *source, ht_state *state, const ht_value *map,
                         bool strict)
{
    struct complaints list = {.used = 0};
    const char *inner = strict ? inner_state(map) : NULL;

    if (inner != NULL)
        return ht__error_set(
            HT_ERR_FORMAT,
            "%s: %s is a checkpoint whose entry \"%s\" is a state of its own; load it with "
            "ht_checkpoint_load",
            what, source, inner);
    for (int i = 0; i < ht_value_count(map); i++)
        match(&list, state, ht_value_key(map, i), ht_value_at(map, i), strict);
    for (size_t i = 0; i < state->count; i++) {
        const struct ht_state_entry *entry = &state->entries[i];
        const ht_tensor *x = ht_value_as_tensor(ht_value_get(map, entry->name));

        if (entry->item != NULL ? ht_value_as_tensor(entry->item) == NULL : strict)
            complain(&list, "missing", entry->name, "");
        else if (x != NULL && entry->tensor != NULL)
            compare(&list, entry, entry->name, x);
    }
    if (list.used == 0 && list.left_out == 0)
        return HT_SUCCESS;
    if (list.left_out == 0)
        return ht__error_set(HT_ERR_FORMAT, "%s: %s does not fit the model: %s", what, source,
                             list.text);
    return ht__error_set(HT_ERR_FORMAT, "%s: %s does not fit the model: %s; and %d more", what,
                         source, list.text, list.left_out);
}

/* The result for the tensor of an entry: what needs memory comes before the first change. */
static ht_status prepare_tensor(struct ht_state_entry *entry, ht_tensor *x)
{
    const ht_body *body = entry->tensor->body;

    entry->made = ht_astype(ht_to_device(x, body->storage->device), body->dtype);
    return entry->made != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

/* A copy, as the present state may be memory of the module. */
static ht_status set_extra(struct ht_state_entry *entry, ht_tensor *x)
{
    const ht_module_type *type = entry->module->type;
    ht_tensor *present = type->get_extra_state(entry->module);

    entry->earlier = present != NULL ? ht_copy(present) : NULL;
    if (entry->earlier == NULL)
        return ht_error_get(NULL);
    return type->set_extra_state(entry->module, x);
}

ht_status ht__state_prepare(ht_state *state)
{
    ht_status status = HT_SUCCESS;

    for (size_t i = 0; i < state->count && status == HT_SUCCESS; i++) {
        ht_tensor *x = ht_value_as_tensor(state->entries[i].item);

        if (x != NULL)
            status = state->entries[i].tensor != NULL ? prepare_tensor(&state->entries[i], x)
                                                      : set_extra(&state->entries[i], x);
    }
    return status;
}

void ht__state_put_back(ht_state *state)
{
    ht_error_kept cause;

    ht__error_set_aside(&cause);
    for (size_t i = 0; i < state->count; i++) {
        struct ht_state_entry *entry = &state->entries[i];

        if (entry->earlier != NULL)
            entry->module->type->set_extra_state(entry->module, entry->earlier);
    }
    ht__error_put_back(&cause);
}

ht_status ht__state_copy(const ht_state *state)
{
    ht_status status = HT_SUCCESS;

    for (size_t i = 0; i < state->count && status == HT_SUCCESS; i++) {
        if (state->entries[i].made != NULL)
            status = ht_copy_(state->entries[i].tensor, state->entries[i].made);
    }
    return status;
}

/* SPDX-License-Identifier: MIT
 *
 * The state of optimizers as values, for saving and resuming: torch's state_dict. All of a state is
 * checked before the optimizer changes. */
#include "optim/optim.h"

#include <math.h>
#include <string.h>

#include "ht/factories.h"

ht_status ht__optim_check_state(const char *what, const ht_value *state,
                                const ht_optim_number *number)
{
    const ht_value *value = ht_value_get(state, number->name);
    int64_t count;

    if (number->counts
            ? ht__value_whole(value, &count)
            : ht_value_get_kind(value) == HT_VALUE_NUMBER && !isnan(ht_value_as_number(value)))
        return HT_SUCCESS;
    return HT_FAIL(NULL, HT_ERR_FORMAT, "%s: the state has no %s \"%s\"%s", what,
                   number->counts ? "integer" : "number", number->name,
                   number->counts ? " of at least 0" : "");
}

static const char what[] = "ht_optimizer_load_state_dict";

static void set_number(ht_value *map, const char *key, double number)
{
    ht_value_set(map, key, ht_value_number(number));
}

/* One parameter's tensors, once it was updated, here or on another rank: all ranks save the same
 * ones. A tensor that no update has used is new after loading, too. */
static ht_value *entry_state(const ht_optimizer *optimizer, const ht_optimizer_entry *entry)
{
    const char *number = optimizer->type->number_name;
    ht_value *map = ht_value_map();

    set_number(map, "step", (double)entry->steps);
    if (number != NULL)
        set_number(map, number, entry->number);
    for (int s = 0; s < HT_OPTIMIZER_STATES; s++) {
        if (entry->state[s] != NULL && (!entry->is_new[s] || entry->used_elsewhere[s]))
            ht_value_set(map, optimizer->type->state_names[s], ht_value_tensor(entry->state[s]));
    }
    return map;
}

/* The places of a group's parameters in "state". */
static ht_value *places(const ht_optimizer_group *group)
{
    int64_t count = group->count, *numbers = ht__alloc((size_t)count * sizeof *numbers);
    ht_value *value;

    for (int64_t i = 0; i < count; i++)
        numbers[i] = group->first + i;
    value = ht_value_tensor(ht_array(numbers, 1, &count, HT_INT64, HT_LOCAL));
    ht__free(numbers);
    return value;
}

static ht_value *group_state(const ht_optimizer_type *type, const ht_optimizer_group *group)
{
    ht_value *map = ht_value_map();

    set_number(map, "lr", group->lr);
    if (!isnan(group->initial_lr))
        set_number(map, "initial_lr", group->initial_lr);
    for (int i = 0; i < ht__optim_setting_count(type); i++)
        set_number(map, type->settings[i].name, ht__optim_setting(type, &group->settings, i));
    ht_value_set(map, "params", places(group));
    return map;
}

static ht_status drain(ht_optimizer *optimizer)
{
    const ht_optimizer_deferral *deferral = optimizer->deferral;

    return deferral != NULL ? deferral->drain(deferral->user) : HT_SUCCESS;
}

ht_value *ht_optimizer_state_dict(ht_optimizer *optimizer)
{
    ht_value *map, *name, *groups, *list;

    if (HT_IS_NULL(optimizer, "ht_optimizer_state_dict", "optimizer") ||
        drain(optimizer) != HT_SUCCESS)
        return NULL;
    map = ht_value_map();
    name = ht_value_map();
    groups = ht_value_list();
    list = ht_value_list();
    set_number(name, optimizer->type->name, 1);
    for (int g = 0; g < optimizer->group_count; g++)
        ht_value_append(groups, group_state(optimizer->type, &optimizer->groups[g]));
    for (int i = 0; i < optimizer->count; i++)
        ht_value_append(list, entry_state(optimizer, &optimizer->entries[i]));
    ht_value_set(map, "optimizer", name);
    set_number(map, "step", (double)optimizer->steps);
    ht_value_set(map, "param_groups", groups);
    ht_value_set(map, "state", list);
    if (optimizer->memory != NULL)
        ht_value_set(map, "memory", optimizer->type->memory_save(optimizer->memory));
    return ht__value_complete(map);
}

static double number(const ht_value *map, const char *key)
{
    return ht_value_as_number(ht_value_get(map, key));
}

/* HT_ERR_FORMAT unless `map`, the state of a group or parameter, has a number in [0, below). */
static ht_status check_number(const ht_value *map, const char *key, double low, double below,
                              const char *of, int index)
{
    const ht_value *value = ht_value_get(map, key);

    if (ht_value_get_kind(value) == HT_VALUE_NUMBER && ht_value_as_number(value) >= low &&
        ht_value_as_number(value) < below)
        return HT_SUCCESS;
    return HT_FAIL(NULL, HT_ERR_FORMAT, "%s: the state of %s %d has no number \"%s\" in [%g, %g)",
                   what, of, index, key, low, below);
}

/* p: the body that a new state tensor would have. */
static ht_status check_tensor(const ht_body *p, int index, const char *key, const ht_tensor *x)
{
    if (x == NULL)
        return HT_FAIL(NULL, HT_ERR_FORMAT, "%s: the state of parameter %d has no tensor \"%s\"",
                       what, index, key);
    if (!ht__body_same_shape(x->body, p))
        return HT_FAIL(NULL, HT_ERR_FORMAT,
                       "%s: \"%s\" of parameter %d is %s, but the parameter is %s", what, key,
                       index, ht__shape_str(x->body->ndim, x->body->shape),
                       ht__shape_str(p->ndim, p->shape));
    if (!ht__comm_compatible(p->comm, x->body->comm))
        return HT_FAIL(NULL, HT_ERR_FORMAT,
                       "%s: \"%s\" of parameter %d is on %d rank%s, but the parameter on %d", what,
                       key, index, x->body->comm->size, x->body->comm->size > 1 ? "s" : "",
                       p->comm->size);
    if (ht_dtype_is_complex(x->body->dtype) && !ht_dtype_is_complex(p->dtype))
        return HT_FAIL(NULL, HT_ERR_FORMAT,
                       "%s: \"%s\" of parameter %d is %s, but the parameter is %s", what, key,
                       index, ht_dtype_name(x->body->dtype), ht_dtype_name(p->dtype));
    return HT_SUCCESS;
}

/* State `s` of the type. */
static ht_status check_one(ht_optimizer *optimizer, int index, int s, const ht_tensor *x)
{
    const ht_optimizer_type *type = optimizer->type;
    ht_tensor *made = NULL;
    ht_status status;

    if (type->make_state == NULL)
        return check_tensor(optimizer->entries[index].parameter->body, index, type->state_names[s],
                            x);
    status = ht__optimizer_new_state(optimizer, index, s, &made);
    if (status == HT_SUCCESS && made != NULL)
        status = check_tensor(made->body, index, type->state_names[s], x);
    ht_release(made);
    return status;
}

/* A group as the state has it: rates and settings. */
static ht_status read_group(const ht_optimizer *optimizer, const ht_value *state, int index,
                            ht_optimizer_group *group)
{
    const ht_value *map = ht_value_at(ht_value_get(state, "param_groups"), index);
    const ht_optimizer_type *type = optimizer->type;
    ht_status status = check_number(map, "lr", 0, INFINITY, "group", index);

    *group = optimizer->groups[index];
    group->lr = number(map, "lr");
    /* A state from before there was a schedule does not take the schedule's first rate away. */
    if (ht_value_get(map, "initial_lr") != NULL && status == HT_SUCCESS) {
        status = check_number(map, "initial_lr", 0, INFINITY, "group", index);
        group->initial_lr = number(map, "initial_lr");
    }
    for (int i = 0; i < ht__optim_setting_count(type) && status == HT_SUCCESS; i++) {
        const char *key = type->settings[i].name;
        double below = type->settings[i].below;

        status = check_number(map, key, type->settings[i].low,
                              below == HT_SETTING_FLAG ? 2 : fabs(below), "group", index);
        if (status == HT_SUCCESS && below <= HT_SETTING_FLAG && fmod(number(map, key), 1) != 0)
            return HT_FAIL(NULL, HT_ERR_FORMAT, "%s: \"%s\" of group %d is %g, expected %s", what,
                           key, index, number(map, key), below < 0 ? "an integer" : "0 or 1");
        ht__optim_set_setting(type, &group->settings, i, number(map, key));
    }
    if (status == HT_SUCCESS && type->check != NULL)
        status = type->check(what, &group->settings, true);
    return status;
}

static ht_status check_group(const ht_optimizer *optimizer, const ht_value *state, int index)
{
    const ht_value *map = ht_value_at(ht_value_get(state, "param_groups"), index);
    const ht_tensor *params = ht_value_as_tensor(ht_value_get(map, "params"));
    int64_t count = params != NULL ? ht_tensor_size(params) : 0;
    ht_optimizer_group group;

    if (count != optimizer->groups[index].count)
        return HT_FAIL(NULL, HT_ERR_FORMAT,
                       "%s: group %d has %lld parameters, expected %d as in the optimizer", what,
                       index, (long long)count, optimizer->groups[index].count);
    return read_group(optimizer, state, index, &group);
}

/* Whether a parameter that was updated has that state tensor. That of a momentum may be absent, if
 * the momentum has just begun. */
static bool must_be_there(const ht_optimizer_type *type, const ht_update_call *settings, int s)
{
    ht_update_call at_rest = *settings;

    at_rest.momentum = 0;
    return ht__optimizer_uses(type, &at_rest, s);
}

static ht_status check_entry(ht_optimizer *optimizer, const ht_value *state, int index)
{
    const ht_value *map = ht_value_at(ht_value_get(state, "state"), index);
    const ht_optimizer_type *type = optimizer->type;
    ht_optimizer_group group;
    int64_t steps;
    ht_status status = check_number(map, "step", 0, 1e15, "parameter", index);

    if (status == HT_SUCCESS && !ht__value_whole(ht_value_get(map, "step"), &steps))
        return HT_FAIL(NULL, HT_ERR_FORMAT,
                       "%s: \"step\" of parameter %d is %g, expected an integer", what, index,
                       number(map, "step"));
    if (status != HT_SUCCESS || number(map, "step") == 0)
        return status;
    status = read_group(optimizer, state, optimizer->entries[index].group, &group);
    if (status == HT_SUCCESS && type->number_name != NULL)
        status = check_number(map, type->number_name, 0, INFINITY, "parameter", index);
    for (int s = 0; s < HT_OPTIMIZER_STATES && type->state_names[s] != NULL; s++) {
        const ht_value *value = ht_value_get(map, type->state_names[s]);

        if (status == HT_SUCCESS && (value != NULL || must_be_there(type, &group.settings, s)))
            status = check_one(optimizer, index, s, ht_value_as_tensor(value));
    }
    return status;
}

static ht_status check_kind(const ht_optimizer *optimizer, const ht_value *state)
{
    const ht_value *name = ht_value_get(state, "optimizer");
    int groups = ht_value_count(ht_value_get(state, "param_groups"));
    static const ht_optim_number steps = {.name = "step", .counts = true};

    if (ht_value_get_kind(name) != HT_VALUE_MAP || ht_value_count(name) != 1)
        return HT_FAIL(NULL, HT_ERR_FORMAT,
                       "%s: the state is not that of an optimizer: it has no \"optimizer\"", what);
    if (strcmp(ht_value_key(name, 0), optimizer->type->name) != 0)
        return HT_FAIL(NULL, HT_ERR_FORMAT, "%s: state is of %s, but optimizer is %s", what,
                       ht_value_key(name, 0), optimizer->type->name);
    if (groups != optimizer->group_count)
        return HT_FAIL(NULL, HT_ERR_FORMAT, "%s: the state has %d groups, but the optimizer has %d",
                       what, groups, optimizer->group_count);
    return ht__optim_check_state(what, state, &steps);
}

static ht_status check_state(ht_optimizer *optimizer, const ht_value *state)
{
    ht_status status = check_kind(optimizer, state);
    int count = ht_value_count(ht_value_get(state, "state"));

    for (int g = 0; g < optimizer->group_count && status == HT_SUCCESS; g++)
        status = check_group(optimizer, state, g);
    if (status == HT_SUCCESS && count != optimizer->count)
        return HT_FAIL(NULL, HT_ERR_FORMAT,
                       "%s: the state has %d parameters, but the optimizer has %d", what, count,
                       optimizer->count);
    for (int i = 0; i < optimizer->count && status == HT_SUCCESS; i++)
        status = check_entry(optimizer, state, i);
    if (status == HT_SUCCESS && optimizer->memory != NULL)
        status = optimizer->type->memory_check(what, optimizer, ht_value_get(state, "memory"));
    return status;
}

static ht_status load_one(ht_optimizer *optimizer, int index, int s, ht_tensor *x)
{
    ht_tensor **state = &optimizer->entries[index].state[s];
    const ht_status status = ht__optimizer_new_state(optimizer, index, s, state);

    return *state == NULL ? status
                          : ht_copy_(*state, ht_to_device(x, (*state)->body->storage->device));
}

static ht_status load_entry(ht_optimizer *optimizer, int index, const ht_value *map)
{
    const ht_optimizer_type *type = optimizer->type;
    ht_optimizer_entry *entry = &optimizer->entries[index];
    ht_status status = HT_SUCCESS;

    ht__optimizer_drop_state(optimizer, index);
    entry->steps = (int64_t)number(map, "step");
    if (entry->steps == 0)
        return HT_SUCCESS;
    if (type->number_name != NULL)
        entry->number = number(map, type->number_name);
    for (int s = 0; s < HT_OPTIMIZER_STATES && type->state_names[s] != NULL; s++) {
        ht_tensor *x = ht_value_as_tensor(ht_value_get(map, type->state_names[s]));

        if (x != NULL && status == HT_SUCCESS)
            status = load_one(optimizer, index, s, x);
    }
    return status;
}

ht_status ht_optimizer_load_state_dict(ht_optimizer *optimizer, const ht_value *state)
{
    ht_status status;
    ht_scope *scope;

    if (HT_IS_NULL(optimizer, "ht_optimizer_load_state_dict", "optimizer") ||
        HT_IS_NULL(state, "ht_optimizer_load_state_dict", "state"))
        return ht_error_get(NULL);
    status = check_state(optimizer, state);
    if (status == HT_SUCCESS)
        status = drain(optimizer);
    if (status != HT_SUCCESS)
        return status;
    optimizer->steps = (int64_t)number(state, "step");
    scope = ht_scope_open();
    for (int g = 0; g < optimizer->group_count; g++)
        read_group(optimizer, state, g, &optimizer->groups[g]);
    for (int i = 0; i < optimizer->count && status == HT_SUCCESS; i++)
        status = load_entry(optimizer, i, ht_value_at(ht_value_get(state, "state"), i));
    if (status == HT_SUCCESS && optimizer->memory != NULL)
        status = optimizer->type->memory_load(optimizer, ht_value_get(state, "memory"));
    ht_scope_close(scope);
    return status;
}

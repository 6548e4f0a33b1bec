/* SPDX-License-Identifier: MIT
 *
 * The state of optimizers and schedules as values, to keep and to go on from: torch's state_dict.
 */
#include "optim_impl.h"

#include <string.h>

static void set_number(ht_value *map, const char *key, double number)
{
    ht_value_set(map, key, ht_value_number(number));
}

/* One parameter's tensors, once it was updated. */
static ht_value *entry_state(const ht_optimizer *optimizer, int index)
{
    const ht_optimizer_entry *entry = &optimizer->entries[index];
    ht_value *map = ht_value_map();

    set_number(map, "step", (double)entry->steps);
    for (int s = 0; s < optimizer->type->state_count; s++) {
        if (entry->state[s] != NULL)
            ht_value_set(map, optimizer->type->state_names[s], ht_value_tensor(entry->state[s]));
    }
    return map;
}

static ht_status drain(ht_optimizer *optimizer)
{
    const ht_optimizer_deferral *deferral = optimizer->deferral;

    return deferral != NULL ? deferral->drain(deferral->user) : HT_SUCCESS;
}

ht_value *ht_optimizer_state_dict(ht_optimizer *optimizer)
{
    ht_value *map, *list;

    if (optimizer == NULL || drain(optimizer) != HT_SUCCESS)
        return NULL;
    map = ht_value_map();
    list = ht_value_list();
    set_number(map, "lr", optimizer->lr);
    set_number(map, "initial_lr", optimizer->initial_lr);
    set_number(map, "step", (double)optimizer->steps);
    for (int i = 0; i < optimizer->count; i++)
        ht_value_append(list, entry_state(optimizer, i));
    ht_value_set(map, "state", list);
    return map;
}

/* HT_ERR_FORMAT unless `map` has a number under `key`. */
static ht_status check_number(const char *what, const ht_value *map, const char *key)
{
    if (ht_value_get_kind(ht_value_get(map, key)) == HT_VALUE_NUMBER)
        return HT_SUCCESS;
    return HT_FAIL(NULL, HT_ERR_FORMAT, "%s: the state has no number \"%s\"", what, key);
}

static double number(const ht_value *map, const char *key)
{
    return ht_value_as_number(ht_value_get(map, key));
}

static ht_status check_tensor(const char *what, const ht_optimizer *optimizer, int index,
                              const char *key, ht_tensor *x)
{
    const ht_body *p = optimizer->entries[index].parameter->body;

    if (x == NULL)
        return HT_FAIL(NULL, HT_ERR_FORMAT, "%s: the state of parameter %d has no tensor \"%s\"",
                       what, index, key);
    if (x->body->ndim == p->ndim &&
        memcmp(x->body->shape, p->shape, (size_t)p->ndim * sizeof *p->shape) == 0)
        return HT_SUCCESS;
    return HT_FAIL(NULL, HT_ERR_FORMAT, "%s: \"%s\" of parameter %d is %s, the parameter is %s",
                   what, key, index, ht__shape_str(x->body->ndim, x->body->shape),
                   ht__shape_str(p->ndim, p->shape));
}

/* Everything is checked before anything changes. */
static ht_status check_state(const char *what, const ht_optimizer *optimizer, const ht_value *state)
{
    const ht_value *list = ht_value_get(state, "state");
    ht_status status = check_number(what, state, "lr");

    if (status == HT_SUCCESS)
        status = check_number(what, state, "initial_lr");
    if (status == HT_SUCCESS)
        status = check_number(what, state, "step");
    if (status == HT_SUCCESS && ht_value_count(list) != optimizer->count)
        return HT_FAIL(NULL, HT_ERR_FORMAT, "%s: a state of %d parameters for an optimizer of %d",
                       what, ht_value_count(list), optimizer->count);
    for (int i = 0; i < optimizer->count && status == HT_SUCCESS; i++) {
        const ht_value *map = ht_value_at(list, i);

        status = check_number(what, map, "step");
        if (status != HT_SUCCESS || number(map, "step") == 0)
            continue;
        for (int s = 0; s < optimizer->type->state_count && status == HT_SUCCESS; s++) {
            const char *key = optimizer->type->state_names[s];

            status = check_tensor(what, optimizer, i, key,
                                  ht_value_as_tensor(ht_value_get(map, key)));
        }
    }
    return status;
}

static ht_status load_entry(ht_optimizer *optimizer, int index, const ht_value *map)
{
    ht_optimizer_entry *entry = &optimizer->entries[index];
    ht_status status = HT_SUCCESS;

    entry->steps = (int64_t)number(map, "step");
    for (int s = 0; entry->steps == 0 && s < optimizer->type->state_count; s++) {
        ht_release(entry->state[s]);
        entry->state[s] = NULL;
    }
    if (entry->steps > 0)
        status = ht__optimizer_make_state(optimizer, index);
    for (int s = 0; entry->steps > 0 && s < optimizer->type->state_count; s++) {
        ht_value *from = ht_value_get(map, optimizer->type->state_names[s]);

        if (status == HT_SUCCESS)
            status = ht_copy_(entry->state[s], ht_value_as_tensor(from));
    }
    return status;
}

ht_status ht_optimizer_load_state_dict(ht_optimizer *optimizer, const ht_value *state)
{
    ht_status status;
    ht_scope *scope;

    if (optimizer == NULL || state == NULL)
        return ht_error_get(NULL) != HT_SUCCESS ? ht_error_get(NULL) : HT_ERR_ARGUMENT;
    status = check_state("ht_optimizer_load_state_dict", optimizer, state);
    if (status == HT_SUCCESS)
        status = drain(optimizer);
    if (status != HT_SUCCESS)
        return status;
    optimizer->lr = number(state, "lr");
    optimizer->initial_lr = number(state, "initial_lr");
    optimizer->steps = (int64_t)number(state, "step");
    scope = ht_scope_open();
    for (int i = 0; i < optimizer->count && status == HT_SUCCESS; i++)
        status = load_entry(optimizer, i, ht_value_at(ht_value_get(state, "state"), i));
    ht_scope_close(scope);
    return status;
}

static double *remembered(ht_scheduler *scheduler, int index)
{
    return (double *)(void *)((char *)scheduler + scheduler->type->numbers[index].at);
}

ht_value *ht_scheduler_state_dict(ht_scheduler *scheduler)
{
    ht_value *map;

    if (scheduler == NULL)
        return NULL;
    map = ht_value_map();
    set_number(map, "last_epoch", (double)scheduler->epoch);
    set_number(map, "base_lr", scheduler->base_lr);
    for (int i = 0; i < HT_SCHEDULER_NUMBERS && scheduler->type->numbers[i].name != NULL; i++)
        set_number(map, scheduler->type->numbers[i].name, *remembered(scheduler, i));
    return map;
}

ht_status ht_scheduler_load_state_dict(ht_scheduler *scheduler, const ht_value *state)
{
    static const char what[] = "ht_scheduler_load_state_dict";
    ht_status status;

    if (scheduler == NULL || state == NULL)
        return ht_error_get(NULL) != HT_SUCCESS ? ht_error_get(NULL) : HT_ERR_ARGUMENT;
    status = check_number(what, state, "last_epoch");
    if (status == HT_SUCCESS)
        status = check_number(what, state, "base_lr");
    for (int i = 0; i < HT_SCHEDULER_NUMBERS && status == HT_SUCCESS; i++) {
        if (scheduler->type->numbers[i].name != NULL)
            status = check_number(what, state, scheduler->type->numbers[i].name);
    }
    if (status != HT_SUCCESS)
        return status;
    scheduler->epoch = (int64_t)number(state, "last_epoch");
    scheduler->base_lr = number(state, "base_lr");
    for (int i = 0; i < HT_SCHEDULER_NUMBERS && scheduler->type->numbers[i].name != NULL; i++)
        *remembered(scheduler, i) = number(state, scheduler->type->numbers[i].name);
    return HT_SUCCESS;
}

/* SPDX-License-Identifier: MIT
 *
 * The state tensors of a parameter: made before its first update, and dropped. */
#include "optim/optim.h"

#include "ht/autograd.h"
#include "ht/tensor.h"

/* A state tensor is row-major for any strides of the parameter, because only the update reads it.
 */
static ht_tensor *new_state(const ht_tensor *parameter, double start)
{
    ht_scope *scope = ht_scope_open();
    const ht_body *like = parameter->body;
    ht_tensor *state = ht__tensor_new(ht__body_new("ht_optimizer_step", like->comm,
                                                   like->storage->device, like->dtype, like->ndim,
                                                   like->shape, like->split, like->bounds));

    state = state != NULL && ht_fill_(state, start) == HT_SUCCESS ? ht_retain(state) : NULL;
    ht_scope_close(scope);
    return state;
}

void ht__optimizer_drop_state(ht_optimizer *optimizer, int index)
{
    for (int s = 0; s < HT_OPTIMIZER_STATES; s++) {
        ht_release(optimizer->entries[index].state[s]);
        optimizer->entries[index].state[s] = NULL;
        optimizer->entries[index].is_new[s] = false;
        optimizer->entries[index].used_elsewhere[s] = false;
    }
}

/* The module was changed after the first step. */
static ht_status refuse_state(int index, const ht_body *state, const ht_body *parameter)
{
    return HT_FAIL(parameter->comm, HT_ERR_STATE,
                   "ht_optimizer_step: parameter %d is %s, but its state is %s; first change the "
                   "module, then make its optimizer",
                   index, ht__body_str(parameter), ht__body_str(state));
}

/* A state tensor of another shape has the parameter's axes, some of them reduced to length 1. */
static bool fits(const ht_optimizer_type *type, const ht_body *state, const ht_body *parameter)
{
    bool alike = state->ndim == parameter->ndim;

    if (type->make_state == NULL)
        return ht__body_fits(state, parameter);
    for (int i = 0; i < state->ndim && alike; i++)
        alike = state->shape[i] == parameter->shape[i] || state->shape[i] == 1;
    return alike && state->dtype == parameter->dtype &&
           state->storage->device == parameter->storage->device;
}

static ht_status own_state(const ht_optimizer_type *type, ht_tensor *parameter, int state,
                           ht_tensor **made)
{
    ht_scope *scope = ht_scope_open();
    const bool was = ht_set_grad_enabled(false);
    const ht_status status = type->make_state(parameter, state, made);

    if (status == HT_SUCCESS && *made != NULL)
        ht_retain(*made);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status;
}

/* The rate is that of the first step, which may run after a schedule has set another. */
static ht_update_call first_settings(const ht_optimizer *optimizer, const ht_optimizer_group *group)
{
    ht_update_call settings = group->settings;

    settings.lr = optimizer->steps > 0 ? group->arguments.lr : group->lr;
    return settings;
}

/* The value that a new state tensor is filled with. */
static double start_of(const ht_optimizer_type *type, const ht_update_call *settings, int state)
{
    const char *at = (const char *)settings + type->start[state];

    return type->start[state] == 0 ? 0 : *(const double *)(const void *)at;
}

ht_status ht__optimizer_new_state(ht_optimizer *optimizer, int index, int state, ht_tensor **made)
{
    const ht_optimizer_entry *entry = &optimizer->entries[index];
    const ht_optimizer_type *type = optimizer->type;
    const ht_update_call settings = first_settings(optimizer, &optimizer->groups[entry->group]);

    if (type->make_state != NULL)
        return own_state(type, entry->parameter, state, made);
    *made = new_state(entry->parameter, start_of(type, &settings, state));
    return *made != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

bool ht__optimizer_uses(const ht_optimizer_type *type, const ht_update_call *settings, int state)
{
    return type->state_names[state] != NULL && (type->uses == NULL || type->uses(settings, state));
}

static ht_status make_one(ht_optimizer *optimizer, int index, int state)
{
    ht_optimizer_entry *entry = &optimizer->entries[index];
    const ht_tensor *there = entry->state[state];
    ht_status status;

    if (there != NULL)
        return fits(optimizer->type, there->body, entry->parameter->body)
                   ? HT_SUCCESS
                   : refuse_state(index, there->body, entry->parameter->body);
    status = ht__optimizer_new_state(optimizer, index, state, &entry->state[state]);
    entry->is_new[state] = entry->state[state] != NULL;
    return status;
}

ht_status ht__optimizer_make_state(ht_optimizer *optimizer, int index,
                                   const ht_update_call *settings)
{
    ht_optimizer_entry *entry = &optimizer->entries[index];
    const ht_update_call first = first_settings(optimizer, &optimizer->groups[entry->group]);
    ht_status status = HT_SUCCESS;

    if (entry->steps == 0 && optimizer->type->number_start != NULL)
        entry->number = optimizer->type->number_start(&first);
    for (int s = 0; s < HT_OPTIMIZER_STATES && status == HT_SUCCESS; s++) {
        if (ht__optimizer_uses(optimizer->type, settings, s))
            status = make_one(optimizer, index, s);
    }
    return status;
}

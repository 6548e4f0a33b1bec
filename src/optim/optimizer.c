/* SPDX-License-Identifier: MIT
 *
 * Shared parts of all optimizers: step and zero_grad, their parameters and counters. */
#include "core/tensor/graph.h"
#include "optim/optim.h"

#include <math.h>
#include <string.h>

#include "core/timeline/timeline.h"
#include "ht/autograd.h"

static void destroy(void *object)
{
    ht_optimizer *optimizer = object;

    for (int i = 0; i < optimizer->count; i++) {
        ht_release(optimizer->entries[i].parameter);
        ht__optimizer_drop_state(optimizer, i);
    }
    ht__free(optimizer->entries);
    ht__free(optimizer->call);
    ht__free(optimizer->groups);
    ht__free(optimizer->hooks);
    if (optimizer->memory != NULL)
        optimizer->type->memory_clear(optimizer->memory);
    ht__free(optimizer->memory);
    ht__object_fini(optimizer);
    ht__free(optimizer);
}

static ht_kind kind = {.name = "optimizer", .destroy = destroy};

ht_optimizer *ht__optimizer_new(const char *what, const ht_optimizer_type *type,
                                ht_value *parameters, double lr, const ht_update_call *settings)
{
    ht_optimizer *optimizer = ht__alloc(sizeof *optimizer);

    ht__object_init(optimizer, &kind);
    optimizer->type = type;
    if (type->memory_size > 0)
        optimizer->memory = ht__alloc(type->memory_size);
    if (ht__optimizer_add_group(what, type, optimizer, parameters, lr, settings) == HT_SUCCESS)
        return optimizer;
    ht_release(optimizer);
    return NULL;
}

void ht__optimizer_defer(ht_optimizer *optimizer, const ht_optimizer_deferral *deferral)
{
    optimizer->deferral = deferral;
}

ht_optimizer *ht_optim_data_parallel(ht_optimizer *optimizer, bool blocking)
{
    if (optimizer != NULL)
        optimizer->step_mode = blocking ? HT_STEP_BLOCKING : HT_STEP_DEFERRED;
    return optimizer;
}

static bool waits(const ht_optimizer *optimizer, bool to_step)
{
    const ht_optimizer_deferral *deferral = optimizer->deferral;

    return deferral != NULL && deferral->waits(deferral->user, to_step);
}

static ht_status step(const char *what, ht_optimizer *optimizer)
{
    ht__watch_at("ht_optimizer_step");
    if (ht__timeline_is_on())
        ht__timeline_step();
    optimizer->steps++;
    if (optimizer->deferral != NULL)
        return optimizer->deferral->step(optimizer->deferral->user);

    ht__optimizer_begin_step(optimizer);
    HT_NAMED(what);
    return ht__optimizer_update_all(optimizer);
}

ht_status ht__optimizer_step(const char *what, ht_optimizer *optimizer)
{
    if (HT_IS_NULL(optimizer, what, "optimizer"))
        return ht_error_get(NULL);
    if (optimizer->type->step_with != NULL)
        return HT_FAIL(NULL, HT_ERR_STATE, "%s: %s evaluates the loss, use ht_optimizer_step_with",
                       what, optimizer->type->name);
    if (waits(optimizer, true))
        return HT_SUCCESS;

    ht_status status = ht__optimizer_run_hooks(optimizer, false);
    int span;

    if (status != HT_SUCCESS)
        return status;
    span = ht__span_begin(HT_SPAN_UPDATE, "ht_optimizer_step", optimizer->type->name);
    status = step(what, optimizer);
    ht__span_end(span);
    return status == HT_SUCCESS ? ht__optimizer_run_hooks(optimizer, true) : status;
}

ht_status ht_optimizer_step(ht_optimizer *optimizer)
{
    return ht__optimizer_step("ht_optimizer_step", optimizer);
}

ht_status ht__optimizer_loss(ht_loss_fn *closure, void *user, double *loss)
{
    const bool was = ht_set_grad_enabled(true);
    ht_tensor *value = closure(user);
    ht_status status = HT_IS_NULL(value, "ht_optimizer_step_with", "the result of the closure")
                           ? ht_error_get(NULL)
                           : ht_tensor_item(value, loss);

    ht_set_grad_enabled(was);
    return status;
}

/* By a rule that evaluates the loss itself. */
static ht_status step_by_losses(ht_optimizer *optimizer, ht_loss_fn *closure, void *user,
                                double *loss)
{
    ht_status status;

    if (optimizer->deferral != NULL)
        return HT_FAIL(
            NULL, HT_ERR_STATE,
            "ht_optimizer_step_with: %s evaluates the loss several times in a step, which "
            "a data-parallel wrapper cannot do later; give the wrapper no optimizer",
            optimizer->type->name);
    status = ht__optimizer_run_hooks(optimizer, false);
    if (status == HT_SUCCESS)
        status = optimizer->type->step_with(optimizer, closure, user, loss);
    if (status == HT_SUCCESS)
        optimizer->steps++;
    return status == HT_SUCCESS ? ht__optimizer_run_hooks(optimizer, true) : status;
}

ht_status ht_optimizer_step_with(ht_optimizer *optimizer, ht_loss_fn *closure, void *user,
                                 double *loss)
{
    double value = NAN;
    ht_status status;

    if (HT_IS_NULL(optimizer, "ht_optimizer_step_with", "optimizer"))
        return ht_error_get(NULL);
    if (closure == NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "ht_optimizer_step_with: closure is NULL");
    if (optimizer->type->step_with != NULL) {
        status = step_by_losses(optimizer, closure, user, &value);
    } else {
        status = ht__optimizer_loss(closure, user, &value);
        if (status == HT_SUCCESS)
            status = ht__optimizer_step("ht_optimizer_step_with", optimizer);
    }
    if (status == HT_SUCCESS && loss != NULL)
        *loss = value;
    return status;
}

ht_status ht_optimizer_zero_grad(ht_optimizer *optimizer)
{
    if (HT_IS_NULL(optimizer, "ht_optimizer_zero_grad", "optimizer"))
        return ht_error_get(NULL);
    if (waits(optimizer, false))
        return HT_SUCCESS;
    for (int i = 0; i < optimizer->count; i++)
        ht__grad_zero(optimizer->entries[i].parameter);
    return HT_SUCCESS;
}

ht_tensor *ht_optimizer_state(ht_optimizer *optimizer, int index, const char *name)
{
    if (!HT_IS_THERE(optimizer) || name == NULL || index < 0 || index >= optimizer->count)
        return NULL;
    if (optimizer->deferral != NULL &&
        optimizer->deferral->drain(optimizer->deferral->user) != HT_SUCCESS)
        return NULL;
    for (int s = 0; s < HT_OPTIMIZER_STATES && optimizer->type->state_names[s] != NULL; s++) {
        if (strcmp(optimizer->type->state_names[s], name) == 0)
            return optimizer->entries[index].state[s];
    }
    return NULL;
}

int64_t ht_optimizer_steps(const ht_optimizer *optimizer)
{
    return HT_IS_THERE(optimizer) ? optimizer->steps : 0;
}

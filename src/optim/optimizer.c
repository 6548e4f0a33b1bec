/* SPDX-License-Identifier: MIT
 *
 * What all optimizers share: their parameters, step and zero_grad, learning rate and counters. */
#include "optim_impl.h"

#include <math.h>
#include <string.h>

#include "core/timeline.h"
#include "ht/autograd.h"

static void destroy(void *object)
{
    ht_optimizer *optimizer = object;

    for (int i = 0; i < optimizer->count; i++) {
        ht_release(optimizer->entries[i].parameter);
        for (int s = 0; s < HT_OPTIMIZER_STATES; s++)
            ht_release(optimizer->entries[i].state[s]);
    }
    ht__free(optimizer->entries);
    ht__object_fini(optimizer);
    ht__free(optimizer);
}

static ht_kind kind = {.name = "optimizer", .destroy = destroy};

ht_status ht__optim_check_range(const char *what, const char *name, double value, double low,
                                double high)
{
    if (value >= low && value < high)
        return HT_SUCCESS;
    if (isinf(high) && !isnan(value))
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "%s: %s is %g, expected a finite value of at least %g", what, name, value,
                       low);
    return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: %s is %g, expected %g <= %s < %g", what, name, value,
                   low, name, high);
}

ht_status ht__optim_check_options(const char *what, const char *filler, size_t size,
                                  size_t expected)
{
    if (size == expected)
        return HT_SUCCESS;
    return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                   "%s: the options are not initialised (size is %zu, expected %zu); "
                   "start from %s()",
                   what, size, expected, filler);
}

static ht_status check_parameter(const char *what, const ht_optimizer *optimizer, int index,
                                 const ht_tensor *parameter)
{
    ht_dtype dtype = ht_tensor_dtype(parameter);

    if (parameter == NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: parameter %d is not a tensor", what, index);
    if (parameter->node != NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "%s: parameter %d is the result of an operation, not a leaf", what, index);
    if (dtype != HT_FLOAT32 && dtype != HT_FLOAT64)
        return HT_FAIL(NULL, HT_ERR_DTYPE, "%s: parameter %d is %s, expected float32 or float64",
                       what, index, ht_dtype_name(dtype));
    if (ht__optimizer_find(optimizer, parameter) >= 0)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: parameter %d is in the list twice", what, index);
    return HT_SUCCESS;
}

ht_optimizer *ht__optimizer_new(const char *what, const ht_optimizer_type *type,
                                ht_value *parameters, double lr, const ht_update *settings)
{
    ht_optimizer *optimizer;

    if (ht__optim_check_range(what, "lr", lr, 0, INFINITY) != HT_SUCCESS)
        return NULL;
    if (parameters == NULL && ht_error_get(NULL) != HT_SUCCESS)
        return NULL;
    if (ht_value_count(parameters) == 0) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: the list of parameters is empty", what);
        return NULL;
    }

    optimizer = ht__alloc(sizeof *optimizer);
    ht__object_init(optimizer, &kind);
    optimizer->type = type;
    optimizer->settings = *settings;
    optimizer->lr = lr;
    optimizer->initial_lr = NAN;
    optimizer->entries = ht__alloc((size_t)ht_value_count(parameters) * sizeof *optimizer->entries);
    for (int i = 0; i < ht_value_count(parameters); i++) {
        ht_tensor *parameter = ht_value_as_tensor(ht_value_at(parameters, i));

        if (check_parameter(what, optimizer, i, parameter) != HT_SUCCESS) {
            ht_release(optimizer);
            return NULL;
        }
        optimizer->entries[optimizer->count++].parameter = ht_retain(parameter);
    }
    return optimizer;
}

int ht__optimizer_find(const ht_optimizer *optimizer, const ht_tensor *parameter)
{
    for (int i = 0; i < optimizer->count; i++) {
        if (optimizer->entries[i].parameter == parameter)
            return i;
    }
    return -1;
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

static ht_status step(ht_optimizer *optimizer)
{
    ht_step_arguments arguments = {.lr = optimizer->lr, .grad_scale = 1};

    if (ht__timeline_is_on())
        ht__timeline_step();
    optimizer->steps++;
    if (optimizer->deferral != NULL)
        return optimizer->deferral->step(optimizer->deferral->user, &arguments);

    for (int i = 0; i < optimizer->count; i++) {
        ht_tensor *grad = ht_tensor_grad(optimizer->entries[i].parameter);
        ht_status status = HT_SUCCESS;

        if (grad != NULL)
            status = ht__optimizer_update(optimizer, i, grad, &arguments);
        if (status != HT_SUCCESS)
            return status;
    }
    return HT_SUCCESS;
}

ht_status ht_optimizer_step(ht_optimizer *optimizer)
{
    if (optimizer == NULL)
        return HT_ERR_ARGUMENT;
    if (waits(optimizer, true))
        return HT_SUCCESS;

    int span = ht__span_begin(HT_SPAN_UPDATE, "ht_optimizer_step", optimizer->type->name);
    ht_status status = step(optimizer);

    ht__span_end(span);
    return status;
}

ht_status ht_optimizer_zero_grad(ht_optimizer *optimizer)
{
    if (optimizer == NULL)
        return HT_ERR_ARGUMENT;
    if (waits(optimizer, false))
        return HT_SUCCESS;
    for (int i = 0; i < optimizer->count; i++) {
        ht_grad_meta *meta = optimizer->entries[i].parameter->meta;

        if (meta != NULL)
            meta->overwrite = true;
    }
    return HT_SUCCESS;
}

double ht_optimizer_lr(const ht_optimizer *optimizer)
{
    return optimizer != NULL ? optimizer->lr : NAN;
}

ht_status ht_optimizer_set_lr(ht_optimizer *optimizer, double lr)
{
    ht_status status;

    if (optimizer == NULL)
        return HT_ERR_ARGUMENT;
    status = ht__optim_check_range("ht_optimizer_set_lr", "lr", lr, 0, INFINITY);
    if (status == HT_SUCCESS)
        optimizer->lr = lr;
    return status;
}

int ht_optimizer_parameter_count(const ht_optimizer *optimizer)
{
    return optimizer != NULL ? optimizer->count : 0;
}

ht_tensor *ht_optimizer_parameter(const ht_optimizer *optimizer, int index)
{
    if (optimizer == NULL || index < 0 || index >= optimizer->count)
        return NULL;
    return optimizer->entries[index].parameter;
}

ht_tensor *ht_optimizer_state(ht_optimizer *optimizer, int index, const char *name)
{
    if (optimizer == NULL || name == NULL || index < 0 || index >= optimizer->count)
        return NULL;
    if (optimizer->deferral != NULL &&
        optimizer->deferral->drain(optimizer->deferral->user) != HT_SUCCESS)
        return NULL;
    for (int s = 0; s < optimizer->type->state_count; s++) {
        if (strcmp(optimizer->type->state_names[s], name) == 0)
            return optimizer->entries[index].state[s];
    }
    return NULL;
}

int64_t ht_optimizer_steps(const ht_optimizer *optimizer)
{
    return optimizer != NULL ? optimizer->steps : 0;
}

/* SPDX-License-Identifier: MIT
 *
 * Groups of parameters, each with its own hyperparameters and learning rate: torch's param_groups.
 */
#include "optim/optim.h"

#include <math.h>

#include "ht/autograd.h"

/* `first`: the first entry of the group that is being added. */
static ht_status check_parameter(const char *what, const ht_optimizer *optimizer, int first,
                                 int index, const ht_value *item)
{
    const ht_tensor *parameter = ht_value_as_tensor(item);
    ht_dtype dtype = ht_tensor_dtype(parameter);
    int entry = ht__optimizer_find(optimizer, parameter);

    if (parameter == NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: parameters[%d] is %s, expected a tensor", what,
                       index, ht__value_kind_name(item));
    if (parameter->node != NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "%s: parameter %d is the result of an operation, expected a leaf", what,
                       index);
    if (dtype != HT_FLOAT32 && dtype != HT_FLOAT64)
        return HT_FAIL(NULL, HT_ERR_DTYPE, "%s: parameter %d is %s, expected float32 or float64",
                       what, index, ht_dtype_name(dtype));
    if (optimizer->type->ndim != 0 && parameter->body->ndim != optimizer->type->ndim)
        return HT_FAIL(NULL, HT_ERR_SHAPE, "%s: parameter %d is %s, expected %d axes", what, index,
                       ht__shape_str(parameter->body->ndim, parameter->body->shape),
                       optimizer->type->ndim);
    if (parameter->body->read_only)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "%s: parameter %d is %s, expected a tensor that can be written", what, index,
                       ht__read_only_name(parameter->body));
    if (entry >= first)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: parameter %d is in the list twice", what, index);
    if (entry >= 0)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: parameter %d is already in group %d", what,
                       index, optimizer->entries[entry].group);
    return HT_SUCCESS;
}

static ht_status check_group(const char *what, const ht_optimizer_type *type,
                             const ht_optimizer *optimizer, const ht_value *parameters, double lr)
{
    ht_status status = ht__optim_check_range(what, "lr", lr, 0, INFINITY);

    if (status != HT_SUCCESS)
        return status;
    if (type != optimizer->type)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: optimizer is %s, expected %s", what,
                       optimizer->type->name, type->name);
    if (optimizer->deferral != NULL)
        return HT_FAIL(NULL, HT_ERR_STATE,
                       "%s: the optimizer already belongs to a data-parallel wrapper; add its "
                       "groups before wrapping",
                       what);
    if (parameters == NULL && ht_error_get(NULL) != HT_SUCCESS)
        return ht_error_get(NULL);
    if (ht_value_count(parameters) == 0)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "%s: parameters is empty, expected at least one tensor", what);
    return HT_SUCCESS;
}

static ht_status add_entries(const char *what, ht_optimizer *optimizer, const ht_value *parameters)
{
    int first = optimizer->count, added = ht_value_count(parameters);
    ht_status status = HT_SUCCESS;

    optimizer->entries = ht__realloc(optimizer->entries,
                                     (size_t)(first + added) * sizeof *optimizer->entries);
    for (int i = 0; i < added && status == HT_SUCCESS; i++) {
        const ht_value *item = ht_value_at(parameters, i);

        status = check_parameter(what, optimizer, first, i, item);
        if (status == HT_SUCCESS)
            optimizer->entries[optimizer->count++] = (ht_optimizer_entry){
                .parameter = ht_retain(ht_value_as_tensor(item)), .group = optimizer->group_count};
    }
    while (status != HT_SUCCESS && optimizer->count > first)
        ht_release(optimizer->entries[--optimizer->count].parameter);
    return status;
}

ht_status ht__optimizer_add_group(const char *what, const ht_optimizer_type *type,
                                  ht_optimizer *optimizer, ht_value *parameters, double lr,
                                  const ht_update_call *settings)
{
    ht_optimizer_group *group;
    ht_status status;
    bool scheduled;

    if (HT_IS_NULL(optimizer, what, "optimizer"))
        return ht_error_get(NULL);
    status = check_group(what, type, optimizer, parameters, lr);
    if (status == HT_SUCCESS)
        status = add_entries(what, optimizer, parameters);
    if (status != HT_SUCCESS)
        return status;

    optimizer->groups = ht__realloc(optimizer->groups, ((size_t)optimizer->group_count + 1) *
                                                           sizeof *optimizer->groups);
    scheduled = optimizer->group_count > 0 && !isnan(optimizer->groups[0].initial_lr);
    group = &optimizer->groups[optimizer->group_count];
    *group = (ht_optimizer_group){.lr = lr, .initial_lr = scheduled ? lr : NAN};
    group->count = ht_value_count(parameters);
    group->first = optimizer->count - group->count;
    group->settings = settings != NULL ? *settings : optimizer->groups[0].settings;
    optimizer->group_count++;
    return HT_SUCCESS;
}

void ht__optimizer_begin_step(ht_optimizer *optimizer)
{
    for (int g = 0; g < optimizer->group_count; g++) {
        ht_optimizer_group *group = &optimizer->groups[g];

        group->arguments = (ht_step_arguments){
            .settings = group->settings, .lr = group->lr, .grad_scale = 1};
    }
}

int ht_optimizer_group_count(const ht_optimizer *optimizer)
{
    return HT_IS_THERE(optimizer) ? optimizer->group_count : 0;
}

int ht_optimizer_group_of(const ht_optimizer *optimizer, int index)
{
    if (!HT_IS_THERE(optimizer) || index < 0 || index >= optimizer->count)
        return -1;
    return optimizer->entries[index].group;
}

double ht_optimizer_group_lr(const ht_optimizer *optimizer, int group)
{
    if (!HT_IS_THERE(optimizer) || group < 0 || group >= optimizer->group_count)
        return NAN;
    return optimizer->groups[group].lr;
}

double ht_optimizer_lr(const ht_optimizer *optimizer)
{
    return ht_optimizer_group_lr(optimizer, 0);
}

ht_status ht_optimizer_set_group_lr(ht_optimizer *optimizer, int group, double lr)
{
    static const char what[] = "ht_optimizer_set_group_lr";
    ht_status status;

    if (HT_IS_NULL(optimizer, "ht_optimizer_set_group_lr", "optimizer"))
        return ht_error_get(NULL);
    if (group < 0 || group >= optimizer->group_count)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: group is %d, expected 0 to %d", what, group,
                       optimizer->group_count - 1);
    status = ht__optim_check_range(what, "lr", lr, 0, INFINITY);
    if (status == HT_SUCCESS)
        optimizer->groups[group].lr = lr;
    return status;
}

ht_status ht_optimizer_set_lr(ht_optimizer *optimizer, double lr)
{
    ht_status status;

    if (HT_IS_NULL(optimizer, "ht_optimizer_set_lr", "optimizer"))
        return ht_error_get(NULL);
    status = ht__optim_check_range("ht_optimizer_set_lr", "lr", lr, 0, INFINITY);
    for (int g = 0; g < optimizer->group_count && status == HT_SUCCESS; g++)
        optimizer->groups[g].lr = lr;
    return status;
}

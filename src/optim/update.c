/* SPDX-License-Identifier: MIT
 *
 * One update of one parameter: the backend's fused kernel, or the operations of a rule. */
#include "core/tensor/graph.h"
#include "optim/optim.h"

#include "ht/arithmetics.h"
#include "ht/autograd.h"
#include "ht/tensor.h"

static ht_status refuse_gradient(int index, const ht_body *grad, const ht_body *parameter)
{
    return HT_FAIL(parameter->comm, HT_ERR_STATE,
                   "ht_optimizer_step: parameter %d is %s, but its gradient is %s", index,
                   ht__body_str(parameter), ht__body_str(grad));
}

/* An update of one part. */
typedef struct one_update {
    ht_update_call update;
    ht_update_part part;
} one_update;

/* The operands: two of all parts, and the parts, which lie `parts` bytes behind the beginning. */
static void set_table(ht_update_call *call, size_t parts, uint32_t count)
{
    call->call.operands = 2;
    call->call.table = (uint32_t)parts;
    call->call.rows = count;
    call->call.row_bytes = sizeof(ht_update_part);
    call->call.row_operands = 2 + HT_UPDATE_STATES;
}

/* Elements begin ... begin + n - 1 of the state tensors that the step uses, one after another. To
 * the kernel a step with a new state tensor is the first one: momentum may begin later than the
 * steps. */
static void add_states(ht_update_part *part, const ht_optimizer *optimizer,
                       const ht_optimizer_entry *entry, int64_t begin)
{
    const ht_update_call *settings = &optimizer->groups[entry->group].arguments.settings;
    int count = 0;

    part->step = entry->steps + 1;
    part->number = entry->number;
    for (int s = 0; s < HT_OPTIMIZER_STATES; s++) {
        if (!ht__optimizer_uses(optimizer->type, settings, s))
            continue;
        if (entry->is_new[s])
            part->step = 1;
        part->state[count++] = ht__operand_part(entry->state[s]->body, begin, part->n, HT_WRITE);
    }
}

/* Kernels walk contiguous memory; a parameter or gradient that is not goes through a copy. */
static ht_status run_kernel(const ht_optimizer *optimizer, ht_optimizer_entry *entry,
                            ht_tensor *grad, one_update *one, int64_t begin, int64_t end)
{
    ht_tensor *parameter = ht_contiguous(entry->parameter);

    grad = ht_contiguous(grad);
    if (parameter == NULL || grad == NULL ||
        !ht__has_kernel("ht_optimizer_step", parameter, optimizer->type->kernel))
        return ht_error_get(NULL);
    one->part.n = end - begin;
    one->part.param = ht__operand_part(parameter->body, begin, one->part.n, HT_WRITE);
    one->part.grad = ht__operand_part(grad->body, begin, one->part.n, HT_READ);
    add_states(&one->part, optimizer, entry, begin);
    if (end > begin &&
        HT_RUN(parameter, optimizer->type->kernel, one, "ht_optimizer_step") != HT_SUCCESS)
        return ht_error_get(NULL);
    ht__storage_touch(entry->parameter->body->storage);
    if (parameter == entry->parameter)
        return HT_SUCCESS;
    return ht__copy_local("ht_optimizer_step", entry->parameter->body, parameter->body);
}

/* Reports, before any update, the error that the parameter's device keeps: a partial update would
 * count in part. */
static ht_status ask_device(const ht_tensor *parameter)
{
    if (ht__device_poll(parameter->body->storage->device) != 0)
        return ht__kernel_failed(parameter->body->comm, "ht_optimizer_step");
    return HT_SUCCESS;
}

/* The arguments of the update that is due or runs. */
static ht_status make_state(ht_optimizer *optimizer, int index)
{
    const int group = optimizer->entries[index].group;

    return ht__optimizer_make_state(optimizer, index, &optimizer->groups[group].arguments.settings);
}

/* Before anything is updated: gradients that fit, state tensors, and devices without an error. */
static ht_status make_ready(ht_optimizer *optimizer)
{
    const ht_device *asked = NULL;

    for (int i = 0; i < optimizer->count; i++) {
        const ht_tensor *parameter = optimizer->entries[i].parameter;
        ht_tensor *grad;
        ht_status status = ht__grad_get(parameter, &grad);

        if (status != HT_SUCCESS)
            return status;
        if (grad == NULL)
            continue;
        if (!ht__body_fits(grad->body, parameter->body))
            return refuse_gradient(i, grad->body, parameter->body);
        status = make_state(optimizer, i);
        if (status == HT_SUCCESS && parameter->body->storage->device != asked)
            status = ask_device(parameter);
        if (status != HT_SUCCESS)
            return status;
        asked = parameter->body->storage->device;
    }
    return HT_SUCCESS;
}

/* Whether a parameter can be updated in one call with others: those of `first`, where it is not
 * NULL. */
static bool goes_together(const ht_tensor *parameter, const ht_tensor *grad, const ht_tensor *first)
{
    const ht_body *a = parameter->body;

    return ht__body_is_contiguous(a) && ht__body_is_contiguous(grad->body) &&
           (first == NULL ||
            (a->dtype == first->body->dtype && a->storage->device == first->body->storage->device));
}

/* Room for the parts of all entries; kept, so that a step allocates nothing. */
static ht_update_call *call_of(ht_optimizer *optimizer, const ht_optimizer_group *group)
{
    if (optimizer->call == NULL || optimizer->call_room < optimizer->count) {
        ht__free(optimizer->call);
        optimizer->call_room = optimizer->count;
        optimizer->call = ht__alloc(sizeof *optimizer->call +
                                    (size_t)optimizer->count * sizeof(ht_update_part));
    }
    *optimizer->call = group->arguments.settings;
    optimizer->call->lr = group->arguments.lr;
    optimizer->call->grad_scale = group->arguments.grad_scale;
    set_table(optimizer->call, sizeof *optimizer->call, 0);
    return optimizer->call;
}

static void add_part(ht_update_call *call, const ht_optimizer *optimizer,
                     const ht_optimizer_entry *entry, const ht_tensor *grad)
{
    ht_update_part *part = &ht_update_parts(call)[call->call.rows];

    *part = (ht_update_part){.param = ht__operand_of(entry->parameter->body, HT_WRITE),
                             .grad = ht__operand_of(grad->body, HT_READ),
                             .n = entry->parameter->body->lsize};
    add_states(part, optimizer, entry, 0);
    call->call.rows += part->n > 0;
}

/* The parameters of a group that can be updated with the first of them from *next on in one call;
 * *next is then behind them. */
static ht_status update_run(ht_optimizer *optimizer, const ht_optimizer_group *group, int *next)
{
    const ht_kernel kernel = optimizer->type->kernel;
    ht_update_call *call = call_of(optimizer, group);
    const int end = group->first + group->count;
    ht_tensor *first = NULL;

    for (; *next < end; ++*next) {
        ht_optimizer_entry *entry = &optimizer->entries[*next];
        ht_tensor *grad = ht_tensor_grad(entry->parameter);

        if (grad == NULL)
            continue;
        if (optimizer->type->update != NULL || !goes_together(entry->parameter, grad, first))
            break;
        first = entry->parameter;
        add_part(call, optimizer, entry, grad);
    }
    if (call->call.rows == 0)
        return HT_SUCCESS;
    if (!ht__has_kernel("ht_optimizer_step", first, kernel))
        return HT_ERR_UNSUPPORTED;
    ht__call_fill(&call->call,
                  (uint32_t)(sizeof *call + (size_t)call->call.rows * sizeof(ht_update_part)),
                  kernel, first->body->dtype, "ht_optimizer_step");
    return ht__launch(first->body->comm, first->body->storage->device, &call->call);
}

static void count_step(ht_optimizer *optimizer, int index)
{
    ht_optimizer_entry *entry = &optimizer->entries[index];
    const ht_step_arguments *arguments = &optimizer->groups[entry->group].arguments;

    entry->steps++;
    for (int s = 0; s < HT_OPTIMIZER_STATES; s++)
        entry->is_new[s] &= !ht__optimizer_uses(optimizer->type, &arguments->settings, s);
    if (optimizer->type->number_next != NULL)
        entry->number = optimizer->type->number_next(&arguments->settings, arguments->lr,
                                                     (double)entry->steps, entry->number);
}

/* Those with a gradient from `begin` to `end` have been updated. */
static void count_steps(ht_optimizer *optimizer, int begin, int end)
{
    for (int i = begin; i < end; i++) {
        ht_optimizer_entry *entry = &optimizer->entries[i];

        if (ht_tensor_grad(entry->parameter) == NULL)
            continue;
        ht__storage_touch(entry->parameter->body->storage);
        count_step(optimizer, i);
    }
}

/* By the operations of the type. */
static ht_status run_operations(const ht_optimizer *optimizer, ht_optimizer_entry *entry,
                                ht_tensor *grad, const ht_update_call *settings)
{
    const double scale = settings->maximize ? -settings->grad_scale : settings->grad_scale;

    if (scale != 1)
        grad = ht_mul_scalar(grad, scale);
    if (grad == NULL)
        return ht_error_get(NULL);
    return optimizer->type->update(&(ht_whole_step){.settings = settings,
                                                    .number = (double)entry->steps + 1,
                                                    .parameter = entry->parameter,
                                                    .grad = grad,
                                                    .state = entry->state});
}

/* Elements begin ... end - 1 of a parameter, for which all is ready. */
static ht_status update_entry(ht_optimizer *optimizer, int index, ht_tensor *grad, int64_t begin,
                              int64_t end)
{
    ht_optimizer_entry *entry = &optimizer->entries[index];
    const ht_optimizer_group *group = &optimizer->groups[entry->group];
    const bool last = end >= entry->parameter->body->lsize;
    one_update one = {.update = group->arguments.settings};
    ht_scope *scope = ht_scope_open();
    const bool was = ht_set_grad_enabled(false);
    ht_status status;

    one.update.lr = group->arguments.lr;
    one.update.grad_scale = group->arguments.grad_scale;
    set_table(&one.update, offsetof(one_update, part), 1);
    if (optimizer->type->update != NULL)
        status = run_operations(optimizer, entry, grad, &one.update);
    else
        status = run_kernel(optimizer, entry, grad, &one, begin,
                            last ? entry->parameter->body->lsize : end);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    if (status == HT_SUCCESS && last)
        count_step(optimizer, index);
    return status;
}

static ht_status update_group(ht_optimizer *optimizer, const ht_optimizer_group *group)
{
    const int end = group->first + group->count;
    ht_status status = HT_SUCCESS;

    for (int next = group->first; next < end && status == HT_SUCCESS;) {
        const int before = next;

        status = update_run(optimizer, group, &next);
        if (status == HT_SUCCESS)
            count_steps(optimizer, before, next);
        if (status != HT_SUCCESS || next > before || next == end)
            continue;
        status = update_entry(optimizer, next, ht_tensor_grad(optimizer->entries[next].parameter),
                              0, INT64_MAX);
        next++;
    }
    return status;
}

ht_status ht__optimizer_update_all(ht_optimizer *optimizer)
{
    ht_scope *scope = ht_scope_open();
    ht_status status = make_ready(optimizer);

    for (int g = 0; g < optimizer->group_count && status == HT_SUCCESS; g++)
        status = update_group(optimizer, &optimizer->groups[g]);
    ht_scope_close(scope);
    return status;
}

ht_status ht__optimizer_update_part(ht_optimizer *optimizer, int index, ht_tensor *grad,
                                    int64_t begin, int64_t end)
{
    const ht_tensor *parameter = optimizer->entries[index].parameter;
    ht_status status;

    if (!ht__body_fits(grad->body, parameter->body))
        return refuse_gradient(index, grad->body, parameter->body);
    status = make_state(optimizer, index);
    if (status == HT_SUCCESS)
        status = ask_device(parameter);
    return status != HT_SUCCESS ? status : update_entry(optimizer, index, grad, begin, end);
}

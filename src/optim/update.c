/* SPDX-License-Identifier: MIT
 *
 * One update of one parameter: its state, and the backend's fused kernel. */
#include "optim/optim.h"

#include "ht/autograd.h"
#include "ht/tensor.h"

/* A state tensor is row-major whatever the parameter's strides: only the update reads it. */
static ht_tensor *new_state(const ht_tensor *parameter)
{
    ht_scope *scope = ht_scope_open();
    const ht_body *like = parameter->body;
    ht_tensor *state = ht__tensor_new(ht__body_new("ht_optimizer_step", like->comm,
                                                   like->storage->device, like->dtype, like->ndim,
                                                   like->shape, like->split, like->bounds));

    state = state != NULL && ht_fill_(state, 0) == HT_SUCCESS ? ht_retain(state) : NULL;
    ht_scope_close(scope);
    return state;
}

void ht__optimizer_drop_state(ht_optimizer *optimizer, int index)
{
    for (int s = 0; s < HT_OPTIMIZER_STATES; s++) {
        ht_release(optimizer->entries[index].state[s]);
        optimizer->entries[index].state[s] = NULL;
    }
}

/* The module was changed after the first step. */
static ht_status refuse_state(int index, const ht_body *state, const ht_body *parameter)
{
    return HT_FAIL(parameter->comm, HT_ERR_STATE,
                   "ht_optimizer_step: parameter %d is %s, its state %s: first change the module, "
                   "then make its optimizer",
                   index, ht__body_str(parameter), ht__body_str(state));
}

static ht_status refuse_gradient(int index, const ht_body *grad, const ht_body *parameter)
{
    return HT_FAIL(parameter->comm, HT_ERR_STATE,
                   "ht_optimizer_step: parameter %d is %s, its gradient %s", index,
                   ht__body_str(parameter), ht__body_str(grad));
}

ht_status ht__optimizer_make_state(ht_optimizer *optimizer, int index)
{
    ht_optimizer_entry *entry = &optimizer->entries[index];

    for (int s = 0; s < optimizer->groups[entry->group].state_count; s++) {
        if (entry->state[s] == NULL)
            entry->state[s] = new_state(entry->parameter);
        else if (!ht__body_fits(entry->state[s]->body, entry->parameter->body))
            return refuse_state(index, entry->state[s]->body, entry->parameter->body);
        if (entry->state[s] == NULL)
            return ht_error_get(NULL);
    }
    return HT_SUCCESS;
}

/* Of the elements from `begin` to `end`. */
static void set_part(ht_update *update, int state_count, int64_t begin, int64_t end)
{
    size_t skipped = (size_t)begin * ht_dtype_size(update->dtype);

    update->n = end - begin;
    update->param = (char *)update->param + skipped;
    update->grad = (const char *)update->grad + skipped;
    for (int s = 0; s < state_count; s++)
        update->state[s] = (char *)update->state[s] + skipped;
}

/* Kernels walk contiguous memory; a parameter or gradient that is not goes through a copy. */
static ht_status run_kernel(const ht_optimizer *optimizer, ht_optimizer_entry *entry,
                            ht_tensor *grad, ht_update *update, int64_t begin, int64_t end)
{
    ht_tensor *parameter = ht_contiguous(entry->parameter);
    int (*kernel)(void *, const ht_update *);
    ht_device *device;

    grad = ht_contiguous(grad);
    if (parameter == NULL || grad == NULL)
        return ht_error_get(NULL);
    device = parameter->body->storage->device;
    kernel = device->backend->kernels.update[optimizer->type->kernel];
    if (kernel == NULL)
        return ht__kernel_missing("ht_optimizer_step", parameter);

    update->param = ht__body_data(parameter->body);
    update->grad = ht__body_data(grad->body);
    set_part(update, optimizer->groups[entry->group].state_count, begin, end);
    if (update->n > 0 && kernel(device->stream, update) != 0)
        return ht__kernel_failed(parameter->body->comm, "ht_optimizer_step");
    ht__storage_touch(entry->parameter->body->storage);
    if (parameter == entry->parameter)
        return HT_SUCCESS;
    return ht__copy_local("ht_optimizer_step", entry->parameter->body, parameter->body);
}

ht_status ht__optimizer_update(ht_optimizer *optimizer, int index, ht_tensor *grad)
{
    return ht__optimizer_update_part(optimizer, index, grad, 0, INT64_MAX);
}

ht_status ht__optimizer_update_part(ht_optimizer *optimizer, int index, ht_tensor *grad,
                                    int64_t begin, int64_t end)
{
    ht_optimizer_entry *entry = &optimizer->entries[index];
    const ht_optimizer_group *group = &optimizer->groups[entry->group];
    int64_t size = entry->parameter->body->lsize;
    bool last = end >= size;
    ht_update update = group->settings;
    ht_status status;
    ht_scope *scope;
    bool was;

    if (!ht__body_fits(grad->body, entry->parameter->body))
        return refuse_gradient(index, grad->body, entry->parameter->body);
    status = ht__optimizer_make_state(optimizer, index);
    if (status != HT_SUCCESS)
        return status;
    update.dtype = entry->parameter->body->dtype;
    update.lr = group->arguments.lr;
    update.grad_scale = group->arguments.grad_scale;
    update.step = entry->steps + 1;
    update.first = entry->steps == 0;
    for (int s = 0; s < group->state_count; s++)
        update.state[s] = ht__body_data(entry->state[s]->body);

    scope = ht_scope_open();
    was = ht_set_grad_enabled(false);
    status = run_kernel(optimizer, entry, grad, &update, begin, last ? size : end);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    if (status == HT_SUCCESS && last)
        entry->steps++;
    return status;
}

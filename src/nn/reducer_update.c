/* SPDX-License-Identifier: MIT
 *
 * Updates: at once, or when a parameter's turn comes. A parameter that is behind (its average is on
 * the way, or its update is due) carries a pending call, so that whoever reads it gets it settled.
 */
#include "reducer.h"

static void settle_tensor(ht_tensor *tensor, void *param)
{
    (void)tensor;
    ht__reducer_settle(param);
}

void ht__reducer_watch(ht_reducer_param *param)
{
    const ht_bucket *bucket = &param->reducer->buckets[param->bucket];
    bool on_its_way = bucket->state == HT_BUCKET_ACCUMULATING ||
                      bucket->state == HT_BUCKET_IN_FLIGHT;
    ht_grad_meta *meta = param->tensor->meta;

    meta->pending = param->due || on_its_way ? settle_tensor : NULL;
    meta->pending_user = param;
}

static ht_status apply(ht_reducer_param *param)
{
    ht_reducer *reducer = param->reducer;
    ht_bucket *bucket = &reducer->buckets[param->bucket];

    if (!param->due)
        return HT_SUCCESS;
    param->due = false;
    if (--bucket->due == 0)
        bucket->state = HT_BUCKET_APPLIED;
    ht__reducer_watch(param);
    return ht__optimizer_update(reducer->optimizer, param->optimizer_index, param->view,
                                &reducer->arguments);
}

ht_status ht__reducer_settle(ht_reducer_param *param)
{
    ht_reducer *reducer = param->reducer;
    ht_bucket *bucket = &reducer->buckets[param->bucket];
    ht_status status;

    /* A hook that reads a parameter in the middle of a pass: gradients are still to come. */
    if (bucket->state == HT_BUCKET_ACCUMULATING && ht__backward_running())
        return HT_SUCCESS;
    status = ht__reducer_wait(reducer, param->bucket);
    return status == HT_SUCCESS ? apply(param) : status;
}

ht_status ht__reducer_drain(void *user)
{
    ht_reducer *reducer = user;
    ht_status status = reducer->status;

    for (int i = 0; i < reducer->bucket_count && status == HT_SUCCESS; i++)
        status = ht__reducer_wait(reducer, i);
    for (int i = 0; i < reducer->count && status == HT_SUCCESS; i++)
        status = apply(&reducer->params[i]);
    return status;
}

/* The program has put another gradient in place, or changed one that is no view: that one counts.
 */
static ht_status take_users_gradient(ht_reducer_param *param)
{
    ht_grad_meta *meta = param->tensor->meta;
    ht_scope *scope;
    ht_status status = HT_SUCCESS;

    if (meta->grad == param->view)
        return HT_SUCCESS;
    if (meta->grad != param->grad)
        status = ht__reducer_wait(param->reducer, param->bucket);
    if (status != HT_SUCCESS ||
        param->reducer->buckets[param->bucket].state == HT_BUCKET_IN_FLIGHT ||
        param->reducer->buckets[param->bucket].state == HT_BUCKET_ACCUMULATING)
        return status;
    scope = ht_scope_open();
    status = ht_copy_(param->view, meta->grad);
    ht_scope_close(scope);
    return status;
}

static ht_status mark_due(ht_reducer *reducer)
{
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < reducer->count && status == HT_SUCCESS; i++) {
        ht_reducer_param *param = &reducer->params[i];
        ht_bucket *bucket = &reducer->buckets[param->bucket];

        if (param->optimizer_index < 0 || !ht__reducer_has_grad(param))
            continue;
        status = take_users_gradient(param);
        param->due = true;
        bucket->due++;
        if (bucket->state == HT_BUCKET_IDLE || bucket->state == HT_BUCKET_APPLIED)
            bucket->state = HT_BUCKET_REDUCED;
        ht__reducer_watch(param);
    }
    return status;
}

/* Parameters of the optimizer that no bucket holds are updated at once, as without a wrapper. */
static ht_status update_others(ht_reducer *reducer, const ht_step_arguments *arguments)
{
    ht_optimizer *optimizer = reducer->optimizer;
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < optimizer->count && status == HT_SUCCESS; i++) {
        ht_tensor *parameter = optimizer->entries[i].parameter, *grad;

        if (ht__reducer_find(reducer, parameter) != NULL)
            continue;
        grad = ht_tensor_grad(parameter);
        if (grad != NULL)
            status = ht__optimizer_update(optimizer, i, grad, arguments);
    }
    return status;
}

static bool anything_due(const ht_reducer *reducer)
{
    for (int i = 0; i < reducer->bucket_count; i++) {
        if (reducer->buckets[i].due > 0)
            return true;
    }
    return false;
}

ht_status ht__reducer_step(void *user, const ht_step_arguments *arguments)
{
    ht_reducer *reducer = user;
    ht_status status = reducer->status;

    ht__reducer_close(reducer);
    if (status == HT_SUCCESS && anything_due(reducer))
        status = ht__reducer_drain(reducer);
    if (status == HT_SUCCESS)
        status = update_others(reducer, arguments);
    reducer->arguments = *arguments;
    if (status == HT_SUCCESS)
        status = mark_due(reducer);
    if (status == HT_SUCCESS && reducer->options.blocking)
        status = ht__reducer_drain(reducer);
    return status;
}

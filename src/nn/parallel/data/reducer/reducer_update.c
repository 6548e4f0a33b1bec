/* SPDX-License-Identifier: MIT
 *
 * Updates: at once, or when a parameter's turn comes: when a guard (reducer_guard.c) meets an
 * access to memory that the update will change. */
#include "core/autograd/autograd.h"
#include "nn/parallel/data/reducer/reducer.h"

#include "core/timeline/timeline.h"

static ht_status settle_part(ht_reducer_param *param, int64_t n);

static void bring_parameter(void *user, int64_t begin, int64_t end, bool in_parts)
{
    ht_reducer_param *param = user;
    int64_t element = (int64_t)ht_dtype_size(param->tensor->body->dtype);

    (void)begin;
    if (param->updating)
        return;
    if (in_parts && ht__reducer_comes_in_parts(param))
        settle_part(param, (end - param->guard.begin) / element);
    else
        ht__reducer_settle(param);
}

/* Its gradient, or a state of its update. */
static void bring_all_of(void *user, int64_t begin, int64_t end, bool in_parts)
{
    ht_reducer_param *param = user;

    (void)begin;
    (void)end;
    (void)in_parts;
    if (!param->updating)
        ht__reducer_settle(param);
}

static ht_status bring_gradient(void *param)
{
    return ht__reducer_settle(param);
}

static ht_reducer_param *param_at(const ht_bucket *bucket, int place)
{
    return &bucket->reducer->params[bucket->reducer->order[bucket->first + place]];
}

/* The gradients that lie there; they follow one another. */
static void bring_bucket(void *user, int64_t begin, int64_t end, bool in_parts)
{
    const ht_bucket *bucket = user;
    int64_t element = (int64_t)ht_dtype_size(bucket->dtype);
    int low = 0, high = bucket->count;

    (void)in_parts;
    while (high - low > 1) {
        int middle = (low + high) / 2;

        if (param_at(bucket, middle)->view->body->offset * element <= begin)
            low = middle;
        else
            high = middle;
    }
    for (; low < bucket->count; low++) {
        ht_reducer_param *param = param_at(bucket, low);

        if (param->view->body->offset * element >= end)
            break;
        ht__reducer_settle(param);
    }
}

/* Elements begin ... end - 1. */
static ht_status update(ht_reducer_param *param, const ht_reducer_optimizer *due, int64_t begin,
                        int64_t end)
{
    int span = ht__span_begin(HT_SPAN_UPDATE, param->name, due->optimizer->type->name);
    ht_comm *outer = ht__together(param->reducer->comm); /* no rank continues by itself */
    ht_status status = ht__optimizer_update_part(due->optimizer, param->entry, param->inside, begin,
                                                 end);

    ht__together_end(outer);
    ht__span_end(span);
    return status;
}

static ht_status apply(ht_reducer_param *param)
{
    ht_bucket *bucket = &param->reducer->buckets[param->bucket];
    ht_reducer_optimizer *due = param->due;
    int64_t begin = param->updated;

    if (due == NULL)
        return HT_SUCCESS;
    param->due = NULL;
    param->updated = 0;
    if (--bucket->due == 0)
        bucket->state = HT_BUCKET_APPLIED;
    ht__reducer_watch(param);
    if (begin > 0 && begin == param->tensor->body->lsize)
        return HT_SUCCESS;
    return update(param, due, begin, INT64_MAX);
}

/* A gradient of this rank means that there is an update, for any flags, unless the sum of the
 * ranks' weights is 0. Updates by operations change complete parameters. */
bool ht__reducer_comes_in_parts(const ht_reducer_param *param)
{
    const ht_bucket *bucket = &param->reducer->buckets[param->bucket];

    return bucket->state == HT_BUCKET_IN_FLIGHT && bucket->op != NULL && param->due != NULL &&
           param->due->optimizer->type->update == NULL && !ht__bucket_is_staged(bucket) &&
           param->presence == HT_GRAD_GIVEN && param->reducer->scale != 0 &&
           ht__reducer_weighs(param) && param->tensor->meta->grad == param->view &&
           ht__body_is_contiguous(param->tensor->body);
}

static ht_status settle_part(ht_reducer_param *param, int64_t n)
{
    ht_reducer *reducer = param->reducer;
    ht_bucket *bucket = &reducer->buckets[param->bucket];
    int64_t begin = param->updated;
    ht_status status = ht__reducer_status(reducer);

    if (n <= begin || status != HT_SUCCESS)
        return status;
    status = ht__reducer_judge(reducer);
    if (status != HT_SUCCESS)
        return status;
    status = ht__exchange_wait_part(reducer->exchange, bucket->op, param->view->body->offset + n,
                                    bucket->what);
    if (status != HT_SUCCESS)
        return ht__reducer_fail(reducer, status);
    param->updated = n;
    param->updating = true;
    status = update(param, param->due, begin, n);
    param->updating = false;
    return status;
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

const ht_bringing ht__reducer_bringing = {bring_parameter, bring_all_of, bring_bucket,
                                          bring_gradient};

ht_status ht__reducer_drain(void *user)
{
    ht_reducer *reducer = user;
    ht_status status = ht__reducer_status(reducer);

    for (int i = 0; i < reducer->bucket_count && status == HT_SUCCESS; i++)
        status = ht__reducer_wait(reducer, i);
    for (int i = 0; i < reducer->count && status == HT_SUCCESS; i++)
        status = apply(&reducer->params[i]);
    return status;
}

/* The program has set another gradient, or changed one that is not a view: that one counts.
 */
static ht_status take_users_gradient(ht_reducer_param *param)
{
    ht_grad_meta *meta = param->tensor->meta;
    ht_status status = HT_SUCCESS;
    ht_scope *scope;
    bool was;

    if (meta->grad == param->view)
        return HT_SUCCESS;
    if (meta->grad != param->grad)
        status = ht__reducer_wait(param->reducer, param->bucket);
    if (status != HT_SUCCESS ||
        param->reducer->buckets[param->bucket].state == HT_BUCKET_IN_FLIGHT ||
        param->reducer->buckets[param->bucket].state == HT_BUCKET_ACCUMULATING)
        return status;
    scope = ht_scope_open();
    was = ht_set_grad_enabled(false);
    status = ht_copy_(param->inside, meta->grad);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status;
}

static ht_status mark_due(ht_reducer_param *param, ht_reducer_optimizer *due, int entry)
{
    ht_bucket *bucket = &param->reducer->buckets[param->bucket];
    ht_status status = HT_SUCCESS;

    if (param->due != NULL) /* another optimizer's */
        status = ht__reducer_settle(param);
    if (status == HT_SUCCESS)
        status = take_users_gradient(param);
    param->due = due;
    param->entry = entry;
    bucket->due++;
    if (bucket->state == HT_BUCKET_IDLE || bucket->state == HT_BUCKET_APPLIED)
        bucket->state = HT_BUCKET_REDUCED;
    ht__reducer_watch(param);
    return status;
}

/* No bucket averages this gradient: an update with it would be another one on every rank. */
static ht_status refuse_gradient(const ht_reducer *reducer, const ht_reducer_optimizer *stepping,
                                 int entry)
{
    const ht_tensor *parameter = stepping->optimizer->entries[entry].parameter;

    if (parameter->meta == NULL || parameter->meta->grad == NULL || parameter->meta->overwrite)
        return HT_SUCCESS;
    return HT_FAIL(reducer->comm, HT_ERR_STATE,
                   "ht_optimizer_step: parameter %d %s has a gradient, but required none when "
                   "ht_nn_data_parallel wrapped the module; unfreeze parameters before wrapping",
                   entry, ht__shape_str(parameter->body->ndim, parameter->body->shape));
}

/* They have not been summed: every rank would get different parameters. */
static ht_status refuse_unsent(const ht_reducer *reducer, const ht_reducer_param *param)
{
    return HT_FAIL(reducer->comm, HT_ERR_STATE,
                   "ht_optimizer_step: the gradient of %s is of this rank alone, because the "
                   "last backward pass ran without synchronisation (no_sync); step after a "
                   "synchronised one",
                   param->name);
}

static ht_status mark_all_due(ht_reducer *reducer, ht_reducer_optimizer *stepping)
{
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < stepping->optimizer->count && status == HT_SUCCESS; i++) {
        ht_reducer_param *param = stepping->params[i];

        if (param == NULL)
            status = refuse_gradient(reducer, stepping, i);
        else if (!ht__reducer_has_grad(param))
            continue;
        else if (reducer->pass == HT_PASS_LOCAL)
            status = refuse_unsent(reducer, param);
        else
            status = mark_due(param, stepping, i);
    }
    return status;
}

/* The updates of one optimizer that are due. */
static ht_status settle_all(const ht_reducer_optimizer *stepping)
{
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < stepping->optimizer->count && status == HT_SUCCESS; i++) {
        ht_reducer_param *param = stepping->params[i];

        if (param != NULL && param->due == stepping)
            status = ht__reducer_settle(param);
    }
    return status;
}

static bool is_blocking(const ht_reducer *reducer, const ht_optimizer *optimizer)
{
    if (optimizer->step_mode == HT_STEP_AS_WRAPPER)
        return reducer->options.blocking;
    return optimizer->step_mode == HT_STEP_BLOCKING;
}

/* The pass of this rank has failed. Where steps wait all ranks learn of it in this one; where they
 * do not, this rank alone knows yet. */
static ht_status refuse_broken(ht_reducer *reducer, const ht_optimizer *optimizer)
{
    ht_status status = is_blocking(reducer, optimizer) ? ht__reducer_drain(reducer) : HT_SUCCESS;

    if (status != HT_SUCCESS)
        return status;
    return ht__error_set(reducer->cause != HT_SUCCESS ? reducer->cause : HT_ERR_STATE, "%s",
                         reducer->why);
}

ht_status ht__reducer_step(ht_reducer *reducer, int optimizer)
{
    ht_reducer_optimizer *stepping = &reducer->optimizers[optimizer];
    ht_status status;

    ht__reducer_close(reducer);
    status = ht__reducer_status(reducer);
    if (status == HT_SUCCESS && reducer->broken != HT_BROKEN_NOT)
        status = refuse_broken(reducer, stepping->optimizer);
    if (status == HT_SUCCESS)
        status = settle_all(stepping); /* those of the step before, with its arguments */
    ht__optimizer_begin_step(stepping->optimizer);
    if (status == HT_SUCCESS)
        status = mark_all_due(reducer, stepping);
    if (status == HT_SUCCESS && is_blocking(reducer, stepping->optimizer))
        status = settle_all(stepping);
    return status;
}

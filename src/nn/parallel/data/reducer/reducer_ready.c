/* SPDX-License-Identifier: MIT
 *
 * A parameter becomes ready in a pass: its gradient, or zeros for it, is in its slot, and its flag
 * is set. */
#include "core/autograd/autograd.h"
#include "nn/parallel/data/reducer/reducer.h"

/* By what each says in its bucket; it is not read while the gradient is awaited. */
static const double flags[] = {[HT_GRAD_GIVEN] = HT_FLAG_USED, [HT_GRAD_MISSING] = HT_FLAG_MISSING};

void ht__bucket_set_flag(const ht_bucket *bucket, int flag, double value)
{
    if (bucket->dtype == HT_FLOAT64)
        ((double *)(void *)bucket->flags)[flag] = value;
    else
        ((float *)(void *)bucket->flags)[flag] = (float)value;
}

/* The gradient into its slot; where it is to stay as a view, the tensor's gradient becomes the
 * slot itself, and the next pass accumulates right into it. */
static ht_status collect(ht_reducer_param *param)
{
    ht_grad_meta *meta = param->tensor->meta;
    ht_scope *scope;
    ht_status status;

    if (meta->grad == param->view)
        return HT_SUCCESS;
    scope = ht_scope_open();
    status = ht_copy_(param->inside, meta->grad);
    ht_scope_close(scope);
    if (status != HT_SUCCESS || !param->reducer->options.gradient_as_bucket_view)
        return status;
    ht_retain(param->view);
    ht_release(meta->grad);
    meta->grad = param->view;
    return HT_SUCCESS;
}

/* No gradient on this rank: its slot gets zeros. Other ranks may have one, and the average will be
 * there. */
static ht_status contribute_nothing(ht_reducer_param *param)
{
    ht_grad_meta *meta = param->tensor->meta;

    ht_status status = ht__fill_local("ht_nn_data_parallel", param->inside->body, HT_NUM(0));

    if (status != HT_SUCCESS)
        return status;
    if (meta->grad == NULL)
        meta->grad = param->reducer->options.gradient_as_bucket_view
                         ? ht_retain(param->view)
                         : ht_retain(ht_copy(param->inside));
    meta->overwrite = false;
    return meta->grad != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

void ht__reducer_mark_ready(ht_reducer_param *param)
{
    ht_reducer *reducer = param->reducer;
    ht_bucket *bucket = &reducer->buckets[param->bucket];
    bool has_grad = ht__reducer_has_grad(param);
    ht_status status;

    param->presence = HT_GRAD_GIVEN;
    if (bucket->op == NULL) { /* else it has left, ahead of the gradient */
        param->presence = ht__reducer_presence(param, has_grad);
        ht__bucket_set_flag(bucket, param->flag, flags[param->presence]);
    }
    status = has_grad ? collect(param) : contribute_nothing(param);
    if (status != HT_SUCCESS)
        ht__reducer_fail(reducer, status);
    param->grad = param->tensor->meta->grad;
    if (param->grad != param->view)
        ht__reducer_watch(param);
    bucket->missing--;
}

void ht__reducer_set_verdict(const ht_bucket *bucket)
{
    const ht_reducer *reducer = bucket->reducer;
    bool misses = reducer->broken != HT_BROKEN_NOT;

    if (bucket != &reducer->buckets[reducer->bucket_count - 1])
        return;
    for (int i = 0; i < reducer->count; i++)
        misses |= reducer->params[i].presence == HT_GRAD_MISSING;
    ht__bucket_set_flag(bucket, bucket->count, misses ? HT_FLAG_MISSING : 0);
}

void ht__reducer_complete(ht_reducer *reducer)
{
    ht_scope *scope = ht_scope_open();

    for (int i = 0; i < reducer->count; i++) {
        if (reducer->params[i].presence == HT_GRAD_AWAITED)
            ht__reducer_mark_ready(&reducer->params[i]);
    }
    ht_scope_close(scope);
}

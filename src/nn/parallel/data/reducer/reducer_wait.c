/* SPDX-License-Identifier: MIT
 *
 * Waits for the average of a bucket; then its gradients become the mean of all ranks' gradients. */
#include "core/autograd/autograd.h"
#include "nn/parallel/data/reducer/comm_hook.h"

#include "core/timeline/timeline.h"
#include "ht/arithmetics.h"

/* The average for a gradient that is not a view. A gradient that the program set meanwhile
 * stays. */
static ht_status deliver(ht_reducer_param *param)
{
    ht_grad_meta *meta = param->tensor->meta;
    ht_scope *scope;
    ht_status status;

    if (meta->grad == param->view || meta->grad != param->grad || meta->overwrite)
        return HT_SUCCESS;
    scope = ht_scope_open();
    ht__guard_clear(&param->own);
    status = ht_copy_(meta->grad, param->inside);
    ht_scope_close(scope);
    return status;
}

/* The average is there. A parameter that no rank had a gradient for has none after it either. */
static ht_status receive(ht_reducer *reducer, ht_bucket *bucket)
{
    ht_status status = HT_SUCCESS;

    bucket->state = HT_BUCKET_REDUCED;
    for (int i = bucket->first; i < bucket->first + bucket->count && status == HT_SUCCESS; i++) {
        ht_reducer_param *param = &reducer->params[reducer->order[i]];

        if (ht__bucket_misses(bucket, param->flag)) {
            ht__reducer_close(reducer);
            return ht__reducer_name_missing(reducer);
        }
        param->global = ht__reducer_gives(bucket, param);
        param->averaged = true;
        param->total = param->divisor;
        if (param->global)
            status = deliver(param);
        else
            param->tensor->meta->overwrite = true;
        if (!param->global && param->due != NULL) {
            param->due = NULL;
            bucket->due--;
        }
        ht__reducer_watch(param);
    }
    return status;
}

/* When the sum was there; a hook may have been called once more after its own. */
static uint64_t finished_at(const ht_bucket *bucket)
{
    return bucket->op != NULL ? ht__exchange_finished_at(bucket->op) : bucket->hooked->finished_at;
}

static bool verdict_came(void *user, bool *moved)
{
    const ht_grad_bucket *hooked = user;

    *moved = ht__hooks_progress();
    return !hooked->in_flight || hooked->round > 0 || ht__exchange_done(hooked->sums[0].op);
}

/* Some rank may miss gradients that other buckets hold; the last one says so, ahead of its own. It
 * leaves when backward ends, and the layers that run first in forward wait for it anyway. */
ht_status ht__reducer_judge(ht_reducer *reducer)
{
    const ht_bucket *last = &reducer->buckets[reducer->bucket_count - 1];
    ht_status status = HT_SUCCESS;

    if (reducer->pass != HT_PASS_SYNCED || (reducer->queued && ht__backward_running()))
        return HT_SUCCESS;
    ht__reducer_close(reducer);
    status = ht__reducer_post_all(reducer);
    if (status == HT_SUCCESS && last->state == HT_BUCKET_IN_FLIGHT && reducer->hook != NULL)
        status = ht__exchange_wait_for(reducer->exchange, verdict_came, last->hooked, last->what);
    else if (status == HT_SUCCESS && last->state == HT_BUCKET_IN_FLIGHT)
        status = ht__exchange_wait_part(reducer->exchange, last->op, last->count + 1, last->what);
    if (status == HT_SUCCESS && ht__bucket_misses(last, last->count))
        status = ht__reducer_name_missing(reducer);
    else
        reducer->pass = HT_PASS_JUDGED;
    return ht__reducer_fail(reducer, status);
}

/* The sum of a bucket has come: the rest that has to come before it is used. */
static ht_status wait_rest(ht_reducer *reducer, int number)
{
    const ht_status status = ht__reducer_judge(reducer);

    if (status != HT_SUCCESS || number < reducer->bucket_count - 1)
        return status;
    return ht__reducer_fail(reducer, ht__reducer_wait_order(reducer));
}

ht_status ht__reducer_wait(ht_reducer *reducer, int number)
{
    ht_bucket *bucket = &reducer->buckets[number];
    ht_status status = ht__reducer_status(reducer);

    if (bucket->state == HT_BUCKET_ACCUMULATING) {
        ht__reducer_close(reducer);
        if (status == HT_SUCCESS)
            status = ht__reducer_post_all(reducer);
    }
    if (bucket->state == HT_BUCKET_REDUCED && status == HT_SUCCESS)
        return wait_rest(reducer, number); /* it may have come before the verdict */
    if (bucket->state != HT_BUCKET_IN_FLIGHT || status != HT_SUCCESS)
        return status;
    if (reducer->hook != NULL)
        status = ht__hook_wait(reducer, number, bucket->what);
    else
        status = ht__exchange_wait(reducer->exchange, bucket->op, bucket->what);
    if (status != HT_SUCCESS)
        return ht__reducer_fail(reducer, status);
    if (bucket->posted_at != 0)
        ht__timeline_draw_flight(bucket->what, bucket->posted_at, finished_at(bucket),
                                 (size_t)bucket->exchanged * ht_dtype_size(bucket->dtype));
    status = wait_rest(reducer, number);
    if (status != HT_SUCCESS)
        return status;
    ht__exchange_release(reducer->exchange, bucket->op);
    bucket->op = NULL;
    if (ht__bucket_is_staged(bucket) && reducer->hook == NULL)
        status = ht__bucket_put_back(bucket);
    return ht__reducer_fail(reducer, status == HT_SUCCESS ? receive(reducer, bucket) : status);
}

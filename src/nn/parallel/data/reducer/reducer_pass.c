/* SPDX-License-Identifier: MIT
 *
 * One backward pass: gradients become ready and fill buckets. */
#include "core/autograd/autograd.h"
#include "nn/parallel/data/reducer/comm_hook.h"

#include <string.h>

#include "core/timeline/timeline.h"
#include "ht/arithmetics.h"

/* A single rank brings its average times this, so that the pass restores the average. All ranks
 * bring a mean, unless some may be out of data, and do not know what the others made of it since. */
static double share_factor(const ht_reducer_param *param)
{
    const ht_reducer *reducer = param->reducer;

    switch (reducer->options.averaging) {
    case HT_AVERAGE_MEAN:
        return reducer->comm->size;
    case HT_AVERAGE_WEIGHTED:
        return param->total;
    default:
        return 1;
    }
}

/* A gradient that holds an average gets more added. So it becomes this rank's share of that
 * average: the sum over the ranks, divided as in this pass, restores it. */
static ht_status make_share(ht_reducer_param *param)
{
    const ht_reducer *reducer = param->reducer;
    ht_tensor *grad = param->tensor->meta->grad;
    const double factor = share_factor(param);

    param->global = false;
    if (reducer->options.averaging == HT_AVERAGE_MEAN && reducer->joining != HT_JOINING_ALL)
        return HT_SUCCESS;
    if (reducer->comm->rank != reducer->sharer)
        return ht_fill_(grad, 0);
    return factor != 1 ? ht_mul_scalar_(grad, factor) : HT_SUCCESS;
}

/* A gradient that no rank used stands to be overwritten, and yet it is 0 over those samples. */
void ht__reducer_note_zeroing(ht_reducer_param *param)
{
    const ht_grad_meta *meta = param->tensor->meta;

    if (meta->zeroings != param->zeroings) {
        param->weight = 0;
        param->averaged = false;
    }
    param->zeroings = meta->zeroings;
    param->kept = param->averaged;
}

ht_status ht__reducer_take_over(ht_reducer_param *param)
{
    if (!ht__reducer_has_grad(param))
        param->global = false;
    return param->global ? make_share(param) : ht__reducer_set_unit(param, 1);
}

void ht__reducer_ready(ht_tensor *leaf, void *user)
{
    ht_reducer_param *param = user;
    ht_reducer *reducer = param->reducer;

    (void)leaf;
    if (reducer->pass == HT_PASS_LOCAL)
        return;
    if (reducer->pass == HT_PASS_NONE || param->presence != HT_GRAD_AWAITED) {
        ht__reducer_surprise(param);
        return;
    }
    ht__reducer_mark_ready(param);
    param->fired |= !reducer->recorded;
    if (reducer->passes == 1 && reducer->seen_count >= 0)
        reducer->seen[reducer->seen_count++] = (int)(param - reducer->params);
    ht__reducer_post_ready(reducer);
}

/* The last gradient of its bucket leaves while it is made. */
void ht__reducer_filling(ht_tensor *leaf, int64_t n, void *user)
{
    ht_reducer_param *param = user;
    ht_reducer *reducer = param->reducer;
    ht_bucket *bucket = &reducer->buckets[param->bucket];

    if (reducer->pass != HT_PASS_SYNCED || reducer->broken != HT_BROKEN_NOT ||
        param->presence != HT_GRAD_AWAITED || reducer->hook != NULL ||
        leaf->meta->grad != param->view || bucket->missing > 1 || ht__bucket_is_staged(bucket))
        return;
    ht__reducer_post_ready(reducer);
    if (reducer->posted != param->bucket || !ht__reducer_has_head(reducer) || reducer->crossed ||
        !ht__reducer_is_even(bucket))
        return;

    int span = ht__span_begin(HT_SPAN_MOVING, bucket->what, "a part");

    if (bucket->op == NULL) {
        ht__bucket_set_flag(bucket, param->flag, HT_FLAG_USED);
        ht__reducer_set_verdict(bucket);
        bucket->posted_at = ht__timeline_is_on() ? ht__timeline_now() : 0;
        bucket->op = ht__exchange_open(reducer->exchange, bucket->flags, bucket->elements,
                                       bucket->dtype, bucket->dtype, ht__reducer_scale(reducer),
                                       param->bucket);
    }
    if (bucket->op != NULL)
        ht__exchange_fill(reducer->exchange, bucket->op, param->view->body->offset + n);
    ht__span_end(span);
}

/* Parameters that this rank's graph does not reach need not be waited for. */
static void make_unused_ready(ht_reducer *reducer)
{
    ht_scope *scope = ht_scope_open();

    for (int i = 0; i < reducer->count; i++) {
        if (reducer->params[i].unused)
            ht__reducer_mark_ready(&reducer->params[i]);
    }
    ht_scope_close(scope);
}

/* Before new buckets, which need all ranks, several wrappers send the head: some rank may be in a
 * pass of another one. */
static ht_status rebuild(ht_reducer *reducer, bool *head_due)
{
    const ht_pass_head head = reducer->head;
    bool changes;
    ht_status status = ht__reducer_agree_order(reducer, &changes);

    if (status != HT_SUCCESS || !changes)
        return status;
    if (reducer->shares && *head_due) {
        *head_due = false;
        status = ht__reducer_ask(reducer, &head, "the second pass of one of several wrappers");
    }
    return status == HT_SUCCESS ? ht__reducer_layout(reducer) : status;
}

ht_status ht__reducer_open(ht_reducer *reducer, bool idle, bool head_due)
{
    ht_status status = HT_SUCCESS;

    /* Ranks that step where another one does not would wait in their exchange until the deadline.
     * In a join, ranks out of data ask first. */
    if (ht__compare_on && reducer->joining == HT_JOINING_OFF)
        ht__begin(reducer->comm, (ht_call){.what = "a pass of ht_nn_data_parallel", .later = true});
    if (ht__reducer_order_is_due(reducer))
        status = rebuild(reducer, &head_due);
    if (status != HT_SUCCESS)
        return ht__reducer_fail(reducer, status);
    reducer->pass = HT_PASS_SYNCED;
    reducer->recorded |= reducer->passes > 0 && !reducer->idle;
    reducer->idle = idle;
    reducer->passes++;
    reducer->head_due = head_due;
    reducer->posted = 0;
    ht__reducer_unsent(reducer); /* the last pass has been waited for, if not looked at */
    for (int i = 0; i < reducer->bucket_count; i++) {
        reducer->buckets[i].state = HT_BUCKET_ACCUMULATING;
        reducer->buckets[i].missing = reducer->buckets[i].count;
        reducer->buckets[i].fetched = false;
    }
    for (int i = 0; i < reducer->count; i++) {
        reducer->params[i].presence = HT_GRAD_AWAITED;
        ht__reducer_watch(&reducer->params[i]);
    }
    ht__reducer_queue(reducer);
    ht__reducer_post_ready(reducer);
    ht__reducer_expect(reducer);
    make_unused_ready(reducer);
    if (idle)
        ht__reducer_close(reducer);
    return HT_SUCCESS;
}

/* Prepares a gradient for what this pass adds to it. */
static ht_status prepare(ht_reducer_param *param, double unit, bool sync)
{
    if (sync || !param->reducer->own_means)
        return ht__reducer_take_over(param);
    ht__reducer_keep_own(param);
    return ht__reducer_set_unit(param, unit);
}

/* Notes the composition of this rank's gradients after this pass. */
static ht_status add_pass(ht_reducer *reducer, double weight, bool sync, ht_pass_head *head)
{
    const double unit = ht__reducer_unit(reducer, weight, sync);
    ht_scope *scope = ht_scope_open();
    bool was = ht_set_grad_enabled(false);
    ht_status status = HT_SUCCESS;

    *head = (ht_pass_head){.stops = reducer->stop.mine, .active = 1, .giving = 1};
    for (int i = 0; i < reducer->count && status == HT_SUCCESS; i++) {
        ht_reducer_param *param = &reducer->params[i];

        ht__reducer_note_zeroing(param);
        status = prepare(param, unit, sync);
        param->weight += weight;
        head->weight = param->weight > head->weight ? param->weight : head->weight;
        head->kept = param->kept ? 1 : head->kept;
    }
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status;
}

ht_status ht__reducer_begin(ht_reducer *reducer, double weight, bool sync, bool idle)
{
    static const char what[] = "the second pass of a join";
    bool head_due = true;
    ht_pass_head head;
    ht_status status = ht__reducer_drain(reducer);

    ht__reducer_choose_sharer(reducer);
    if (status == HT_SUCCESS)
        status = add_pass(reducer, weight, sync, &head);
    if (status != HT_SUCCESS)
        return ht__reducer_fail(reducer, status);
    reducer->stop.agreed = reducer->stop.asked;
    reducer->pass = sync ? HT_PASS_SYNCED : HT_PASS_LOCAL;
    if (!sync)
        return HT_SUCCESS;
    reducer->head = head;
    /* Ranks out of data have to know of this pass before they take part in ordering the buckets. */
    if (reducer->joining != HT_JOINING_OFF && ht__reducer_order_is_due(reducer)) {
        status = ht__reducer_ask(reducer, &head, what);
        head_due = false;
    }
    return status == HT_SUCCESS ? ht__reducer_open(reducer, idle, head_due) : status;
}

/* A pass of this rank that cannot be completed: its flags report it to the others at once. After
 * the error the program may never return to this pass. */
void ht__reducer_break(ht_reducer *reducer, bool lossless, const ht_error_kept *cause)
{
    bool broken = lossless;

    for (int i = 0; reducer->queued && !lossless && i < reducer->count; i++)
        broken |= reducer->params[i].presence == HT_GRAD_AWAITED;
    if (!broken)
        return;
    ht__reducer_set_broken(reducer, lossless ? HT_BROKEN_NO_LOSS : HT_BROKEN_MIDDLE, cause);
    if (!lossless) /* else the pass is yet to begin */
        ht__reducer_close(reducer);
}

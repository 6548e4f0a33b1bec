/* SPDX-License-Identifier: MIT
 *
 * Starts the messages of a backward pass in order: its head, then its buckets when they become
 * ready.
 *
 * The weights of the ranks travel first, in a separate message, the head of the pass. No bucket
 * is posted before their sum is known, because gradients are divided by it. That delays nothing,
 * since no sum of gradients can be complete before every rank has begun its pass either. */
#include "nn/parallel/data/reducer/comm_hook.h"

#include "core/timeline/timeline.h"
#include "ht/arithmetics.h"

/* The factor that makes the sum an average. */
double ht__reducer_scale(const ht_reducer *reducer)
{
    if (reducer->options.averaging == HT_AVERAGE_MEAN)
        return 1.0 /
               (reducer->joining == HT_JOINING_ACTIVE ? reducer->head.giving : reducer->comm->size);
    if (reducer->options.averaging == HT_AVERAGE_WEIGHTED)
        return reducer->total > 0 ? 1 / reducer->total : 0;
    return 1;
}

/* The factor of this gradient relative to the scale of all; 1 where all gradients were zeroed at
   once. */
static double balance(const ht_reducer_param *param)
{
    const ht_reducer *reducer = param->reducer;

    if (reducer->options.averaging != HT_AVERAGE_WEIGHTED || !(param->divisor > 0))
        return 1;
    return param->divisor == reducer->total ? 1 : reducer->total / param->divisor;
}

bool ht__reducer_is_even(const ht_bucket *bucket)
{
    const ht_reducer *reducer = bucket->reducer;

    for (int i = bucket->first; i < bucket->first + bucket->count; i++) {
        if (balance(&reducer->params[reducer->order[i]]) != 1)
            return false;
    }
    return true;
}

/* A gradient that was not zeroed when others were is of more samples than they are. */
static void even_out(const ht_bucket *bucket)
{
    ht_reducer *reducer = bucket->reducer;
    ht_scope *scope = ht_scope_open();
    bool was = ht_set_grad_enabled(false);

    for (int i = bucket->first; i < bucket->first + bucket->count; i++) {
        ht_reducer_param *param = &reducer->params[reducer->order[i]];
        double factor = balance(param);

        if (factor != 1 && param->presence == HT_GRAD_GIVEN &&
            ht_mul_scalar_(param->inside, factor) != HT_SUCCESS)
            ht__reducer_fail(reducer, ht_error_get(NULL));
    }
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
}

static void post(ht_reducer *reducer, int number)
{
    ht_bucket *bucket = &reducer->buckets[number];

    if (!bucket->fetched && !ht__reducer_is_even(bucket))
        even_out(bucket);
    bucket->state = HT_BUCKET_IN_FLIGHT;
    if (bucket->op == NULL) {
        bucket->posted_at = ht__timeline_is_on() ? ht__timeline_now() : 0;
        ht__reducer_set_verdict(bucket);
    }
    reducer->scale = reducer->hook != NULL ? 1 : ht__reducer_scale(reducer); /* of the flags */
    if (reducer->hook != NULL) {
        ht__hook_post(reducer, number, ht__reducer_scale(reducer));
        return;
    }
    if (bucket->op != NULL) {
        ht__exchange_fill(reducer->exchange, bucket->op, bucket->elements);
        return;
    }
    /* The last bucket holds the layers that run first in the next forward pass. */
    bucket->op = ht__exchange_start(reducer->exchange, bucket->flags, bucket->exchanged,
                                    bucket->dtype, ht__reducer_scale(reducer), number);
}

/* Those that are complete leave for the host at once, or for the devices of the other ranks. */
static bool is_on_host(ht_reducer *reducer, int number)
{
    for (int i = number; i < reducer->bucket_count && reducer->buckets[i].missing == 0; i++) {
        ht_bucket *bucket = &reducer->buckets[i];

        if (bucket->fetched || !ht__bucket_is_staged(bucket))
            continue;
        if (!ht__reducer_is_even(bucket))
            even_out(bucket);
        ht__bucket_fetch(bucket, ht__reducer_scale(reducer));
    }
    return ht__bucket_is_fetched(&reducer->buckets[number]);
}

/* Whether it has been started: gradients of a device may still be on their way to the host. */
static bool post_one(ht_reducer *reducer, int number)
{
    ht_bucket *bucket = &reducer->buckets[number];
    bool staged = ht__bucket_is_staged(bucket);
    int span;

    if (staged && reducer->hook == NULL && !is_on_host(reducer, number))
        return false;
    if (bucket->state == HT_BUCKET_ACCUMULATING) {
        span = ht__span_begin(HT_SPAN_MOVING, bucket->what, "start");
        post(reducer, number);
        ht__span_end(span);
    }
    return !staged || reducer->hook == NULL || ht__hook_is_started(bucket->hooked);
}

bool ht__reducer_post(ht_reducer *reducer)
{
    bool alone = reducer->posted == reducer->bucket_count; /* a head, and no buckets after it */

    if (reducer->head_due)
        ht__reducer_start_head(reducer);
    if (!ht__reducer_has_head(reducer))
        return false;
    if (reducer->crossed) {
        ht__reducer_delist(reducer);
        return true;
    }
    while (reducer->posted < reducer->bucket_count &&
           reducer->buckets[reducer->posted].missing == 0 && post_one(reducer, reducer->posted))
        reducer->posted++;
    if (reducer->posted < reducer->bucket_count)
        return false;
    ht__reducer_delist(reducer);
    if (alone)
        return true;
    ht__reducer_send_order(reducer);
    ht__reducer_sent(reducer);
    return true;
}

/* Posts the ready buckets: of the pass whose turn it is, and then of those after it. */
void ht__reducer_post_ready(const ht_reducer *reducer)
{
    ht_reducer *turn;

    do
        turn = ht__reducer_turn(reducer);
    while (turn != NULL && ht__reducer_post(turn));
}

static bool serve_all(void)
{
    bool moved = ht__exchange_progress_all();

    for (ht_reducer *reducer = ht__reducers_queued(), *next; reducer != NULL; reducer = next) {
        const int before = reducer->posted;

        next = reducer->next_queued;
        if (ht__reducer_turn(reducer) != reducer)
            continue;
        moved |= ht__reducer_post(reducer);
        moved |= reducer->posted != before;
    }
    moved |= ht__hooks_progress();
    return moved | ht__reducers_look();
}

/* Its errors do not name the waiting call, or the layer that the call is in. */
static bool serve(void)
{
    const char *layer = ht__layer;
    bool moved;
    HT_UNNAMED();

    ht__layer = NULL;
    moved = serve_all();
    ht__layer = layer;
    return moved;
}

void ht__reducer_queue(ht_reducer *reducer)
{
    ht__wait_set_serve(serve);
    ht__reducer_measure_head(reducer);
    ht__reducer_enlist(reducer);
}

void ht__reducer_close(ht_reducer *reducer)
{
    if (!reducer->queued)
        return;
    ht__reducer_complete(reducer);
    ht__reducer_post_ready(reducer);
}

static bool head_came(void *user, bool *moved)
{
    ht_reducer *reducer = user;

    *moved = ht__exchange_progress(reducer->exchange);
    return ht__reducer_has_head(reducer);
}

static ht_status wait_head(ht_reducer *reducer, const char *what)
{
    if (ht__reducer_has_head(reducer))
        return HT_SUCCESS;
    return ht__exchange_wait_for(reducer->exchange, head_came, reducer, what);
}

static bool all_sent(void *user, bool *moved)
{
    const ht_reducer *reducer = user;
    const int before = reducer->posted;

    *moved = ht__exchange_progress(reducer->exchange);
    *moved |= ht__hooks_progress();
    ht__reducer_post_ready(reducer);
    *moved |= reducer->posted != before; /* a bucket has come from the device */
    return !reducer->queued;
}

/* For gradients that were ready and are still to come from the device. */
static ht_status wait_sent(ht_reducer *reducer)
{
    if (!reducer->queued)
        return HT_SUCCESS;
    return ht__exchange_wait_device(reducer->exchange, all_sent, reducer,
                                    "copying gradients from a device");
}

/* Starts everything of this pass, and of those before it, which have ended too. */
ht_status ht__reducer_post_all(ht_reducer *reducer)
{
    ht_status status = ht__reducer_status(reducer);

    while (reducer->queued && status == HT_SUCCESS) {
        ht_reducer *turn = ht__reducer_turn(reducer);

        ht__reducer_close(turn);
        status = wait_head(turn, "summing the weights of the ranks' batches (different numbers of "
                                 "batches need a join)");
        ht__reducer_post_ready(turn);
        if (status == HT_SUCCESS)
            status = wait_sent(turn);
    }
    return status == HT_SUCCESS ? ht__reducer_status(reducer) : status; /* its head may be wrong */
}

ht_status ht__reducer_ask(ht_reducer *reducer, const ht_pass_head *head, const char *what)
{
    ht_status status = ht__reducer_post_all(reducer);

    if (status != HT_SUCCESS)
        return status;
    reducer->head = *head;
    reducer->head_due = true;
    reducer->posted = reducer->bucket_count; /* there are no buckets after it */
    ht__reducer_queue(reducer);
    /* Starting those before it may have started this one, and it is out of the queue then. */
    while (reducer->queued && ht__reducer_turn(reducer) != reducer && status == HT_SUCCESS)
        status = ht__reducer_post_all(ht__reducer_turn(reducer));
    ht__reducer_post_ready(reducer);
    if (status == HT_SUCCESS)
        status = wait_head(reducer, what);
    ht__reducer_post_ready(reducer);
    return status != HT_SUCCESS ? status : ht__reducer_status(reducer);
}

void ht__reducer_progress(void *user)
{
    ht_reducer *reducer = user;
    int span = ht__span_begin(HT_SPAN_MOVING, "moving the exchange", NULL);
    bool moved = ht__exchange_progress_all(); /* DASO's between nodes, too */

    ht__reducer_post_ready(reducer);
    if (reducer->hook != NULL)
        moved |= ht__hooks_progress();
    ht__span_end_if(span, moved);
}

/* SPDX-License-Identifier: MIT
 *
 * How a bucket passes through the rounds of a hook. All ranks must start the sums of one exchange
 * in the same order, and the progress of a bucket differs between ranks. So each round has a
 * separate exchange. A bucket enters a round only after earlier buckets on the same communicator
 * have entered it or are finished. So the order within a round is the order of posting, while the
 * rounds of different buckets overlap. */
#include "nn/parallel/data/reducer/comm_hook.h"

#include "core/timeline/timeline.h"

static ht_grad_bucket *queue; /* in flight, of all reducers */

static void enqueue(ht_grad_bucket *bucket)
{
    ht_grad_bucket **at = &queue;

    while (*at != NULL)
        at = &(*at)->next;
    bucket->next = NULL;
    *at = bucket;
    bucket->in_flight = true;
}

static void dequeue(ht_grad_bucket *bucket)
{
    ht_grad_bucket **at = &queue;

    while (*at != NULL && *at != bucket)
        at = &(*at)->next;
    if (*at != NULL)
        *at = bucket->next;
    bucket->in_flight = false;
    bucket->finished_at = ht__timeline_is_on() ? ht__timeline_now() : 0;
}

static bool sums_are_there(const ht_grad_bucket *bucket)
{
    for (int i = 0; i < bucket->started; i++) {
        if (bucket->sums[i].op != NULL && !ht__exchange_done(bucket->sums[i].op))
            return false;
    }
    return bucket->started == bucket->count;
}

/* Only a wait reports it: when a hook is called depends on when messages come, and an error must
 * not reach the program in other calls on other ranks. */
static void keep_failure(ht_grad_bucket *bucket, ht_status status)
{
    const char *message;

    if (bucket->status != HT_SUCCESS)
        return;
    if (ht_error_get(&message) != status)
        ht__error_set(status, "%s: the communication hook returned %s",
                      bucket->reducer->buckets[bucket->number].what, ht_status_name(status));
    ht_error_get(&message);
    bucket->status = status;
    bucket->message = ht__strdup(message);
}

/* A failure of the device that `earlier` was set aside for. */
static void note_device(ht_grad_bucket *bucket, bool failed, const ht_error_kept *earlier)
{
    bool held = ht__error_hold(true);

    if (failed)
        keep_failure(bucket, ht__kernel_failed(bucket->reducer->comm, "ht_grad_bucket_sum"));
    ht__error_put_back(earlier);
    ht__error_hold(held);
}

static void put_back(ht_grad_bucket *bucket, const ht_hook_sum *sum)
{
    const ht_body *body = sum->x->body;
    ht_error_kept earlier;
    int failed;

    ht__error_set_aside(&earlier);
    failed = ht__device_put(body->storage->device, ht__body_data(body), sum->data,
                            (size_t)sum->n * ht_dtype_size(sum->dtype));
    note_device(bucket, failed != 0, &earlier);
}

static void end_fetch(ht_grad_bucket *bucket, ht_hook_sum *sum)
{
    ht_error_kept earlier;

    ht__error_set_aside(&earlier);
    note_device(bucket, ht__side_copy_end(&sum->fetch) != 0, &earlier);
}

static void release_sums(ht_grad_bucket *bucket)
{
    for (int i = 0; i < bucket->count; i++) {
        ht_hook_sum *sum = &bucket->sums[i];
        ht_status status = HT_SUCCESS;

        if (sum->op != NULL)
            status = ht__exchange_wait(sum->engine, sum->op, "a communication hook");
        if (bucket->status == HT_SUCCESS)
            bucket->status = status;
        if (sum->op != NULL && sum->staged)
            put_back(bucket, sum);
        ht__exchange_release(sum->engine, sum->op);
        end_fetch(bucket, sum);
        ht__free(sum->copy);
        ht_release(sum->x);
    }
    bucket->count = bucket->started = 0;
}

static ht_status start(const ht_grad_bucket *bucket, ht_hook_sum *sum)
{
    sum->op = ht__exchange_start_as(sum->engine, sum->data, sum->n, sum->dtype, sum->wire,
                                    sum->scale, bucket->number);
    return sum->op != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

static bool has_come_to_host(ht_grad_bucket *bucket, ht_hook_sum *sum)
{
    ht_error_kept earlier;
    int done;

    if (!sum->staged)
        return true;
    ht__error_set_aside(&earlier);
    done = ht__fetch_done(&sum->fetch);
    note_device(bucket, done < 0, &earlier);
    return done != 0;
}

/* Those that have come from a device, in the order in which the hook asked for them; whether there
 * were any. */
static bool start_sums(ht_grad_bucket *bucket)
{
    int before = bucket->started;

    while (bucket->started < bucket->count) {
        ht_hook_sum *sum = &bucket->sums[bucket->started];

        if (!has_come_to_host(bucket, sum))
            break;
        if (start(bucket, sum) != HT_SUCCESS)
            keep_failure(bucket, ht_error_get(NULL));
        bucket->started++;
    }
    return bucket->started > before;
}

bool ht__hook_is_started(const ht_grad_bucket *bucket)
{
    return bucket->round > 0 || bucket->started == bucket->count;
}

static void add_sum(ht_grad_bucket *bucket, ht_hook_sum sum)
{
    if (bucket->count == bucket->capacity) {
        bucket->capacity += 4;
        bucket->sums = ht__realloc(bucket->sums, (size_t)bucket->capacity * sizeof *bucket->sums);
    }
    bucket->sums[bucket->count++] = sum;
}

static void call_hook(ht_grad_bucket *bucket)
{
    ht_error_kept earlier;
    ht_status status;
    ht_scope *scope = ht_scope_open();
    bool was = ht_set_grad_enabled(false), held = ht__error_hold(true);
    HT_UNNAMED();

    ht__error_set_aside(&earlier);
    bucket->running = true;
    status = bucket->reducer->hook(bucket, bucket->round, bucket->reducer->hook_state);
    bucket->running = false;
    if (status != HT_SUCCESS)
        keep_failure(bucket, status);
    ht_error_clear();
    ht__error_put_back(&earlier);
    ht__error_hold(held);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
}

static bool may_enter(const ht_grad_bucket *bucket, int round)
{
    for (const ht_grad_bucket *b = queue; b != bucket; b = b->next) {
        if (b->reducer->comm != bucket->reducer->comm)
            continue;
        if (b->round < round || (b->round == round && b->started < b->count))
            return false;
    }
    return true;
}

/* Whether it started something, entered the next round, or finished. */
static bool advance(ht_grad_bucket *bucket)
{
    if (bucket->started < bucket->count && start_sums(bucket))
        return true;
    if (bucket->running || !sums_are_there(bucket) || !may_enter(bucket, bucket->round + 1))
        return false;
    release_sums(bucket);
    bucket->round++;
    if (bucket->status == HT_SUCCESS)
        call_hook(bucket);
    if (bucket->count == 0)
        dequeue(bucket);
    return true;
}

bool ht__hooks_progress(void)
{
    bool any = false, moved = true;

    while (moved) {
        moved = false;
        for (ht_grad_bucket *b = queue, *next; b != NULL; b = next) {
            next = b->next;
            for (int i = 0; i < HT_COMM_HOOK_ROUNDS; i++)
                moved |= ht__exchange_progress(b->reducer->hook_rounds[i]);
            moved |= advance(b);
        }
        any |= moved;
    }
    return any;
}

static ht_grad_bucket *hooked(ht_reducer *reducer, int number)
{
    ht_bucket *bucket = &reducer->buckets[number];

    if (bucket->hooked != NULL)
        return bucket->hooked;
    bucket->hooked = ht__alloc(sizeof *bucket->hooked);
    bucket->hooked->reducer = reducer;
    bucket->hooked->number = number;
    bucket->hooked->buffer = ht_retain(bucket->all);
    return bucket->hooked;
}

/* The flags travel by themselves: a hook must not change which ranks have a gradient. */
void ht__hook_post(ht_reducer *reducer, int number, double scale)
{
    ht_bucket *bucket = &reducer->buckets[number];
    ht_grad_bucket *b = hooked(reducer, number);
    ht_hook_sum flags = {.engine = reducer->exchange,
                         .data = bucket->flags,
                         .n = bucket->count + 1,
                         .dtype = bucket->dtype,
                         .wire = bucket->dtype,
                         .scale = 1};

    b->scale = scale;
    b->loss_scale = reducer->loss_scale;
    b->round = 0;
    b->status = HT_SUCCESS;
    ht__free(b->message);
    b->message = NULL;
    if (start(b, &flags) != HT_SUCCESS)
        keep_failure(b, ht_error_get(NULL));
    add_sum(b, flags);
    b->started = 1;
    enqueue(b);
    call_hook(b);
}

struct waiting {
    const ht_grad_bucket *bucket;
};

static bool has_come(void *user, bool *moved)
{
    const struct waiting *waiting = user;

    *moved = ht__hooks_progress();
    return !waiting->bucket->in_flight;
}

ht_status ht__hook_wait(ht_reducer *reducer, int number, const char *what)
{
    struct waiting waiting = {reducer->buckets[number].hooked};
    ht_status status;

    if (waiting.bucket->running)
        return HT_FAIL(reducer->comm, HT_ERR_STATE,
                       "%s: a communication hook reads a gradient that waits for the hook", what);
    status = ht__exchange_wait_for(reducer->exchange, has_come, &waiting, what);

    if (status != HT_SUCCESS || waiting.bucket->status == HT_SUCCESS)
        return status;
    return HT_FAIL(reducer->comm, waiting.bucket->status, "%s",
                   waiting.bucket->message != NULL ? waiting.bucket->message : what);
}

void ht__hook_bucket_free(ht_grad_bucket *bucket)
{
    if (bucket == NULL)
        return;
    release_sums(bucket);
    dequeue(bucket);
    ht_release(bucket->buffer);
    ht__free(bucket->sums);
    ht__free(bucket->message);
    ht__free(bucket);
}

ht_status ht__hook_register(const char *what, ht_reducer *reducer, ht_comm_hook hook, void *state)
{
    if (hook == NULL)
        return HT_FAIL(reducer->comm, HT_ERR_ARGUMENT, "%s: hook is NULL", what);
    if (reducer->hook != NULL)
        return HT_FAIL(reducer->comm, HT_ERR_STATE, "%s: the wrapper already has a hook", what);
    if (reducer->passes > 0)
        return HT_FAIL(reducer->comm, HT_ERR_STATE,
                       "%s: %d backward passes have run, expected a hook before the first", what,
                       reducer->passes);
    for (int i = 0; i < HT_COMM_HOOK_ROUNDS; i++) {
        reducer->hook_rounds[i] = ht__exchange_get(reducer->comm,
                                                   (ht_purpose)(HT_PURPOSE_REDUCER + i));
        if (reducer->hook_rounds[i] == NULL)
            return ht_error_get(NULL);
    }
    reducer->hook = hook;
    reducer->hook_state = state;
    return HT_SUCCESS;
}

static void keep_sum(ht_grad_bucket *bucket, ht_hook_sum sum)
{
    ht_retain(sum.x);
    ht__storage_touch(sum.x->body->storage);
    add_sum(bucket, sum);
}

/* Where the bucket's own gradients go, or to memory made for it. */
static void *place_on_host(const ht_grad_bucket *bucket, ht_hook_sum *sum)
{
    const ht_bucket *inside = &bucket->reducer->buckets[bucket->number];
    const ht_body *body = sum->x->body;
    size_t element = ht_dtype_size(sum->dtype);

    if (body->storage == inside->storage)
        return (char *)ht__storage_raw(inside->staging) + (size_t)body->offset * element;
    sum->copy = ht__alloc((size_t)sum->n * element);
    return sum->copy;
}

/* A sum of what the host cannot reach: it is started when it has come. */
static ht_status fetch(ht_grad_bucket *bucket, ht_hook_sum sum)
{
    const ht_body *body = sum.x->body;

    sum.staged = true;
    sum.data = place_on_host(bucket, &sum);
    if (ht__fetch_begin(&sum.fetch, body->storage->device, sum.data, ht__body_data(body),
                        (size_t)sum.n * ht_dtype_size(sum.dtype)) != 0) {
        ht__side_copy_end(&sum.fetch); /* nothing is under way */
        ht__free(sum.copy);
        return ht__kernel_failed(bucket->reducer->comm, "ht_grad_bucket_sum");
    }
    keep_sum(bucket, sum);
    start_sums(bucket);
    return HT_SUCCESS;
}

ht_status ht_grad_bucket_sum(ht_grad_bucket *bucket, ht_tensor *x, double scale, ht_dtype wire)
{
    static const char what[] = "ht_grad_bucket_sum";
    ht_comm *comm = bucket->reducer->comm;
    ht_hook_sum sum;

    if (x == NULL && ht_error_get(NULL) != HT_SUCCESS)
        return ht_error_get(NULL);
    if (x == NULL)
        return HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: x is NULL", what);
    if (!bucket->running || bucket->round >= HT_COMM_HOOK_ROUNDS)
        return HT_FAIL(comm, HT_ERR_STATE, "%s: the call is outside of a hook's rounds 0 to %d",
                       what, HT_COMM_HOOK_ROUNDS - 1);
    if (x->body->comm->shared || !ht__body_is_contiguous(x->body))
        return HT_FAIL(comm, HT_ERR_ARGUMENT,
                       "%s: x is %s, expected a contiguous process-local tensor", what,
                       x->body->comm->shared ? "on several ranks" : "not contiguous");
    sum = (ht_hook_sum){.engine = bucket->reducer->hook_rounds[bucket->round],
                        .x = x,
                        .n = x->body->lsize,
                        .dtype = x->body->dtype,
                        .wire = wire,
                        .scale = scale};
    if (!ht__backend_of(x)->host_memory)
        return fetch(bucket, sum);
    sum.data = ht__body_data(x->body);
    if (bucket->started == bucket->count && start(bucket, &sum) != HT_SUCCESS)
        return ht_error_get(NULL);
    bucket->started += sum.op != NULL;
    keep_sum(bucket, sum);
    return HT_SUCCESS;
}

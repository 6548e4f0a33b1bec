/* SPDX-License-Identifier: MIT
 *
 * The exchange by messages: the steps of the plan forwards with additions, and backwards with
 * copies. After the last step forwards each rank that still holds something owns a part of the sum
 * and scales it. Where all steps are swaps, each rank sends 2 (1 - 1/P) times the data, in
 * 2 log2 P steps.
 *
 * What travels between nodes may be narrower than what is added. Then both sides of an addition are
 * rounded, the one that stays and the one that came, so that a sum does not depend on which rank
 * made it; and the owner rounds its result before it is copied.
 *
 * A segment is a state machine with at most two requests. The operation of the highest priority has
 * several under way. */
#include "core/exchange/path.h"

#include <string.h>

enum { WINDOW = 8, TAGS = 32768, SHORT = 4096 };

struct slot {
    ht_exchange_op *op; /* NULL: free */
    const exchange_plan *plan;
    int64_t number; /* among the segments of the operation */
    char *data;
    int64_t n;
    int tag;
    int step;
    char *scratch; /* owned */
    size_t scratch_bytes;
};

typedef struct range {
    int64_t begin, end;
} range;

static bool is_short(const slot *s)
{
    return (size_t)s->n * s->op->element <= SHORT;
}

/* What this rank keeps and what it gives in a step forwards. */
static void parts(const slot *s, int step, range *keep, range *give)
{
    range all = {0, s->n}, none = {0, 0};

    for (int k = 0; k <= step; k++) {
        const exchange_step *at = &s->plan->steps[k];

        if (at->kind != STEP_SWAP || is_short(s)) {
            *keep = at->kind == STEP_GIVE ? none : all;
            *give = at->kind == STEP_TAKE ? none : all;
            continue;
        }

        int64_t middle = all.begin + (all.end - all.begin) / 2;
        range low = {all.begin, middle}, high = {middle, all.end};

        *keep = at->upper ? high : low;
        *give = at->upper ? low : high;
        all = *keep;
    }
}

static MPI_Request *requests_of(ht_exchange *exchange, int index)
{
    return &exchange->requests[2 * index];
}

static bool is_narrow(const slot *s, const exchange_step *step)
{
    return step->far && s->op->wire != s->op->dtype;
}

/* Of the scratch memory, the first half is for what comes and the second for what goes, when both
 * are narrow. */
static void *outgoing(const slot *s)
{
    return s->scratch + s->scratch_bytes / 2;
}

static int send(ht_exchange *exchange, int index, range part, const exchange_step *step)
{
    slot *s = exchange->slots[index];
    const void *from = s->data + (size_t)part.begin * s->op->element;
    int64_t n = part.end - part.begin;
    ht_dtype dtype = s->op->dtype;

    if (n == 0)
        return MPI_SUCCESS;
    if (is_narrow(s, step)) {
        dtype = s->op->wire;
        ht__sum_narrow(dtype, outgoing(s), from, n);
        from = outgoing(s);
    }
    if (step->far)
        exchange->bytes_sent += (uint64_t)n * ht_dtype_size(dtype);
    return MPI_Isend(from, (int)n, ht__mpi_type(dtype), step->peer, s->tag, exchange->mpi,
                     requests_of(exchange, index));
}

static int receive(ht_exchange *exchange, int index, void *into, range part,
                   const exchange_step *step)
{
    slot *s = exchange->slots[index];
    ht_dtype dtype = is_narrow(s, step) ? s->op->wire : s->op->dtype;

    if (part.begin == part.end)
        return MPI_SUCCESS;
    return MPI_Irecv(into, (int)(part.end - part.begin), ht__mpi_type(dtype), step->peer, s->tag,
                     exchange->mpi, requests_of(exchange, index) + 1);
}

/* The step of the plan that a segment is in; its steps are counted forwards, then back. */
static int plan_step(const slot *s)
{
    return s->step < s->plan->count ? s->step : 2 * s->plan->count - 1 - s->step;
}

/* A short segment is added whole on both sides of a swap: there is nothing to bring back. */
static bool is_skipped(const slot *s)
{
    return s->step >= s->plan->count && is_short(s) &&
           s->plan->steps[plan_step(s)].kind == STEP_SWAP;
}

static int post_step(ht_exchange *exchange, int index)
{
    slot *s = exchange->slots[index];
    const exchange_plan *plan = s->plan;
    const exchange_step *step = &plan->steps[plan_step(s)];
    range keep, give;
    int result;

    if (is_skipped(s))
        return MPI_SUCCESS;
    parts(s, plan_step(s), &keep, &give);
    if (s->step < plan->count) {
        result = receive(exchange, index, s->scratch, keep, step);
        return result != MPI_SUCCESS ? result : send(exchange, index, give, step);
    }

    void *into = is_narrow(s, step) ? s->scratch : s->data + (size_t)give.begin * s->op->element;

    result = receive(exchange, index, into, give, step);
    return result != MPI_SUCCESS ? result : send(exchange, index, keep, step);
}

/* The owner of a finished sum. */
static void finish_sum(const ht_exchange *exchange, slot *s, range part)
{
    char *mine = s->data + (size_t)part.begin * s->op->element;
    int64_t n = part.end - part.begin;

    ht__sum_scale(s->op->dtype, mine, n, s->op->scale);
    if (exchange->comm->nodes > 1 && s->op->wire != s->op->dtype)
        ht__sum_round(s->op->wire, mine, n);
}

/* What has come is added on the way forwards, and widened on the way back. */
static void complete_step(const ht_exchange *exchange, slot *s)
{
    const exchange_plan *plan = s->plan;
    const exchange_step *step = &plan->steps[plan_step(s)];
    bool narrow = is_narrow(s, step);
    range keep, give;

    parts(s, plan_step(s), &keep, &give);
    if (s->step >= plan->count) {
        if (narrow && !is_skipped(s))
            ht__sum_widen(s->op->wire, s->data + (size_t)give.begin * s->op->element, s->scratch,
                          give.end - give.begin);
        return;
    }

    char *mine = s->data + (size_t)keep.begin * s->op->element;

    if (narrow)
        ht__sum_add_narrow(s->op->wire, mine, s->scratch, keep.end - keep.begin);
    else
        ht__sum_add(s->op->dtype, mine, s->scratch, keep.end - keep.begin);
    if (s->step == plan->count - 1)
        finish_sum(exchange, s, keep);
}

static bool is_idle(ht_exchange *exchange, int index)
{
    const MPI_Request *requests = requests_of(exchange, index);

    return requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL;
}

/* Up to the first segment that is under way. */
static void count_summed(const ht_exchange *exchange, ht_exchange_op *op)
{
    int64_t first = op->started;

    for (int i = 0; i < exchange->slot_count; i++) {
        const slot *s = exchange->slots[i];

        if (s->op == op && s->number < first)
            first = s->number;
    }
    atomic_store_explicit(&op->summed, first * op->segment, memory_order_release);
}

static void segment_done(ht_exchange *exchange, slot *s)
{
    ht_exchange_op *op = s->op;

    s->op = NULL;
    exchange->slots_busy--;
    op->finished++;
    if (op->block == NULL)
        count_summed(exchange, op);
    if (op->block != NULL)
        ht__shared_carried(exchange, op, s->number);
    else if (op->finished == op->segments)
        ht__exchange_finish(exchange, op, HT_SUCCESS);
}

/* Goes on with a segment whose requests are done, until it has to wait or is finished. */
static void advance(ht_exchange *exchange, int index)
{
    slot *s = exchange->slots[index];

    while (is_idle(exchange, index)) {
        complete_step(exchange, s);
        if (++s->step == 2 * s->plan->count) {
            segment_done(exchange, s);
            return;
        }
        ht__mpi_check(exchange->comm, post_step(exchange, index), "exchange");
    }
}

static int free_slot(ht_exchange *exchange)
{
    int count = exchange->slot_count;

    for (int i = 0; i < count; i++) {
        if (exchange->slots[i]->op == NULL)
            return i;
    }

    int more = count > 0 ? 2 * count : 2 * WINDOW;

    exchange->slots = ht__realloc(exchange->slots, sizeof *exchange->slots * (size_t)more);
    exchange->requests = ht__realloc(exchange->requests,
                                     sizeof *exchange->requests * 2 * (size_t)more);
    exchange->finished = ht__realloc(exchange->finished,
                                     sizeof *exchange->finished * 2 * (size_t)more);
    for (int i = count; i < more; i++) {
        exchange->slots[i] = ht__alloc(sizeof *exchange->slots[i]);
        requests_of(exchange, i)[0] = requests_of(exchange, i)[1] = MPI_REQUEST_NULL;
    }
    exchange->slot_count = more;
    return count;
}

static void segment_start(ht_exchange *exchange, ht_exchange_op *op, void *data, int64_t n)
{
    int index = free_slot(exchange);
    slot *s = exchange->slots[index];
    size_t bytes = (size_t)op->segment * op->element;

    if (s->scratch_bytes < bytes) {
        s->scratch = ht__realloc(s->scratch, bytes);
        s->scratch_bytes = bytes;
    }
    s->op = op;
    s->plan = op->block != NULL ? &exchange->across : &exchange->plan;
    s->number = op->started;
    s->data = data;
    s->n = n;
    s->tag = (int)((op->first_segment + (uint64_t)op->started) % TAGS);
    s->step = 0;
    op->started++;
    exchange->slots_busy++;
    if (ht__mpi_check(exchange->comm, post_step(exchange, index), "exchange") == HT_SUCCESS)
        advance(exchange, index);
}

/* The data of the next segment to be started, or NULL: it is not there yet, or not summed in its
 * node. */
static void *next_data(const ht_exchange *exchange, const ht_exchange_op *op, int64_t *n)
{
    int64_t begin = op->started * op->segment;

    if (op->block != NULL)
        return ht__shared_carry(exchange, op, op->started, n);
    *n = op->n - begin < op->segment ? op->n - begin : op->segment;
    if (begin + *n > op->filled)
        return NULL;
    return op->data + (size_t)begin * op->element;
}

static void start_more(ht_exchange *exchange, ht_exchange_op *op, int64_t window)
{
    while (op->started < op->segments && op->started - op->finished < window) {
        int64_t n;
        void *data = next_data(exchange, op, &n);

        if (data == NULL)
            return;
        segment_start(exchange, op, data, n);
    }
}

/* The higher the priority, the more of the window. An operation with a finished segment has been
 * started by all ranks, and ends without the help of others once its data are complete: until then
 * those below it keep a segment under way, after that they get what it leaves. */
static void start_segments(ht_exchange *exchange)
{
    int64_t window = WINDOW, least = 1;
    ht_exchange_op *next;

    for (ht_exchange_op *op = exchange->active; op != NULL; op = next) {
        bool joined = op->finished > 0 && op->filled == op->n;

        next = op->next;
        start_more(exchange, op, window > least ? window : least);
        window -= op->started - op->finished;
        if (joined)
            least = 0;
    }
}

/* Tags of so many segments. They repeat, but a pair of ranks has one for each that is under way. */
static void take_tags(ht_exchange *exchange, ht_exchange_op *op, int64_t count)
{
    op->first_segment = exchange->segments_started;
    exchange->segments_started += (uint64_t)count;
}

void ht__message_start(ht_exchange *exchange, ht_exchange_op *op)
{
    op->segment = (int64_t)(exchange->segment_bytes / op->element);
    /* Tags repeat after TAGS segments: an operation alone must not use one twice. */
    if (op->n / op->segment >= TAGS / 2)
        op->segment = op->n / (TAGS / 2) + 1;
    op->segments = (op->n + op->segment - 1) / op->segment;
    take_tags(exchange, op, op->segments);
}

void ht__message_carry(ht_exchange *exchange, ht_exchange_op *op)
{
    int carriers = exchange->carriers, beyond = op->slices - exchange->local;

    op->segment = op->slice;
    op->segments = 0;
    if (exchange->across.count > 0 && beyond > 0)
        op->segments = (beyond + carriers - 1) / carriers;
    take_tags(exchange, op, exchange->comm->nodes > 1 ? (op->slices - 1) / carriers + 1 : 0);
}

bool ht__message_progress(ht_exchange *exchange)
{
    int count = 0;

    start_segments(exchange);
    if (exchange->slots_busy == 0)
        return false;

    int result = MPI_Testsome(2 * exchange->slot_count, exchange->requests, &count,
                              exchange->finished, MPI_STATUSES_IGNORE);

    if (ht__mpi_check(exchange->comm, result, "exchange") != HT_SUCCESS || count == MPI_UNDEFINED)
        return false;
    for (int i = 0; i < count; i++) {
        int index = exchange->finished[i] / 2;

        if (exchange->slots[index]->op != NULL && is_idle(exchange, index))
            advance(exchange, index);
    }
    return count > 0;
}

void ht__message_end(ht_exchange *exchange)
{
    for (int i = 0; i < exchange->slot_count; i++) {
        ht__free(exchange->slots[i]->scratch);
        ht__free(exchange->slots[i]);
    }
    ht__free(exchange->slots);
    ht__free(exchange->requests);
    ht__free(exchange->finished);
}

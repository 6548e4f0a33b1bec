/* SPDX-License-Identifier: MIT
 *
 * The exchange by messages: buffers in segments, which advance (exchange/segment.c) when their
 * requests are done. The operation of the highest priority has several segments under way. */
#include "core/comm/mpi.h"
#include "core/exchange/path.h"

enum { WINDOW = 8, TAGS = 32768 };

static MPI_Request *requests_of(ht_exchange *exchange, int index)
{
    return &exchange->requests[2 * index];
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
    if (op->block != NULL) {
        ht__shared_carried(exchange, op, s->number);
        return;
    }
    if (op->kind == OP_SUM)
        count_summed(exchange, op);
    else
        ht__half_unpack(exchange, op, s->number, s->packed);
    if (op->finished == op->segments)
        ht__exchange_finish(exchange, op, HT_SUCCESS);
}

/* Continues a segment whose requests are done, until it has to wait or is finished. */
static void advance(ht_exchange *exchange, int index)
{
    slot *s = exchange->slots[index];

    while (is_idle(exchange, index)) {
        ht__segment_complete(exchange, s);
        if (++s->step == 2 * s->plan->count) {
            segment_done(exchange, s);
            return;
        }
        ht__mpi_check(exchange->comm, ht__segment_post(exchange, s), "exchange");
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
    for (int i = 0; i < more; i++)
        exchange->slots[i]->requests = requests_of(exchange, i);
    exchange->slot_count = more;
    return count;
}

static void make_room(char **memory, size_t *bytes, size_t wanted)
{
    if (*bytes >= wanted)
        return;
    *memory = ht__realloc(*memory, wanted);
    *bytes = wanted;
}

static void segment_start(ht_exchange *exchange, ht_exchange_op *op, void *data, int64_t n)
{
    int index = free_slot(exchange);
    slot *s = exchange->slots[index];
    size_t bytes = (size_t)op->segment * op->element;

    if (op->kind != OP_GATHER) /* which adds nothing */
        make_room(&s->scratch, &s->scratch_bytes, bytes);
    if (op->kind != OP_SUM && op->block == NULL) {
        make_room(&s->packed, &s->packed_bytes, bytes);
        ht__half_pack(exchange, op, op->started, s->packed);
        data = s->packed;
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
    if (ht__mpi_check(exchange->comm, ht__segment_post(exchange, s), "exchange") == HT_SUCCESS)
        advance(exchange, index);
}

/* The data of the next segment to be started, or NULL: it is not there yet, or not summed in its
 * node. */
static void *next_data(const ht_exchange *exchange, const ht_exchange_op *op, int64_t *n)
{
    int64_t begin = op->started * op->segment;

    if (op->block != NULL)
        return ht__shared_carry(exchange, op, op->started, n);
    if (op->kind != OP_SUM) {
        *n = ht__half_length(exchange, op, op->started);
        return op->data;
    }
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
 * started by all ranks, and needs no other operation once its data are complete. Until then
 * operations of lower priority keep a segment under way, and after that they get the remaining
 * window. */
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

/* Tags of `count` segments. They repeat, but a pair of ranks has one for each that is under way. */
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
    if (op->kind != OP_SUM)
        ht__half_cut(exchange, op, op->segment);
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
        ht__free(exchange->slots[i]->packed);
        ht__free(exchange->slots[i]);
    }
    ht__free(exchange->slots);
    ht__free(exchange->requests);
    ht__free(exchange->finished);
}

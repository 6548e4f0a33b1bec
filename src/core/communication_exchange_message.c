/* SPDX-License-Identifier: MIT
 *
 * The exchange by messages: vector halving with distance doubling, and back.
 *
 * With P ranks, the first 2 (P - p) fold in pairs, the even one giving its data to the odd one,
 * which leaves p, a power of two, numbered 0 … p - 1. In step k numbers that differ in bit k
 * exchange halves of what they both hold and add; after log2 p steps each owns the sum of 1/p of
 * the segment, scales it, and the steps run backwards with copies. An element thus sees
 * ((0+1)+(2+3))+… whoever owns it. Each rank sends 2 (1 - 1/p) times the data, in 2 log2 p steps.
 *
 * A segment is a state machine with at most two requests. For every operation the first unfinished
 * segment is always under way, so ranks that prefer different operations cannot block each other;
 * the operation of the highest priority has several. */
#include "exchange_path.h"

#include <string.h>

enum { WINDOW = 4, TAGS = 32768, SHORT = 4096 };

struct slot {
    ht_exchange_op *op; /* NULL: free */
    char *data;
    int64_t n;
    int tag;
    int step;
    char *scratch; /* owned */
    size_t scratch_bytes;
};

typedef struct plan {
    int folded;  /* pairs */
    int number;  /* -1: this rank gives its data away */
    int levels;  /* log2 p */
    int partner; /* of the fold; -1: none */
} plan;

static plan plan_of(const ht_exchange *exchange)
{
    int rank = exchange->rank, power = 1;
    plan p = {.partner = -1};

    while (2 * power <= exchange->size) {
        power *= 2;
        p.levels++;
    }
    p.folded = exchange->size - power;
    p.number = rank - p.folded;
    if (rank < 2 * p.folded) {
        p.number = rank % 2 != 0 ? rank / 2 : -1;
        p.partner = rank ^ 1;
    }
    return p;
}

static int rank_of(const plan *p, int number)
{
    return number < p->folded ? 2 * number + 1 : number + p->folded;
}

typedef struct range {
    int64_t begin, end;
} range;

/* The halves of what this rank holds before step `level`: the one it keeps, the one it gives. */
static void halves(const plan *p, int64_t n, int level, range *keep, range *give)
{
    range all = {0, n};

    for (int k = 0; k <= level; k++) {
        int64_t middle = all.begin + (all.end - all.begin) / 2;
        range low = {all.begin, middle}, high = {middle, all.end};
        bool upper = p->number >> k & 1;

        *keep = upper ? high : low;
        *give = upper ? low : high;
        all = *keep;
    }
}

static bool is_short(const slot *s)
{
    return (size_t)s->n * s->op->element <= SHORT;
}

static MPI_Request *requests_of(ht_exchange *exchange, int index)
{
    return &exchange->requests[2 * index];
}

static int send(ht_exchange *exchange, int index, range part, int to)
{
    slot *s = exchange->slots[index];
    size_t element = s->op->element;

    if (part.begin == part.end)
        return MPI_SUCCESS;
    return MPI_Isend(s->data + (size_t)part.begin * element, (int)(part.end - part.begin),
                     ht__mpi_type(s->op->dtype), to, s->tag, exchange->mpi,
                     requests_of(exchange, index));
}

static int receive(ht_exchange *exchange, int index, void *into, range part, int from)
{
    slot *s = exchange->slots[index];

    if (part.begin == part.end)
        return MPI_SUCCESS;
    return MPI_Irecv(into, (int)(part.end - part.begin), ht__mpi_type(s->op->dtype), from, s->tag,
                     exchange->mpi, requests_of(exchange, index) + 1);
}

/* Steps of a segment: 0 fold, 1 … levels halving, levels + 1 … 2 levels back, 2 levels + 1 unfold.
 */
static int post_step(ht_exchange *exchange, int index, const plan *p)
{
    slot *s = exchange->slots[index];
    range all = {0, s->n}, keep, give;
    int last = 2 * p->levels + 1, result;

    if (s->step == 0 || s->step == last) {
        if (p->partner < 0)
            return MPI_SUCCESS;
        if ((s->step == 0) == (p->number < 0))
            return send(exchange, index, all, p->partner);
        return receive(exchange, index, s->step == 0 ? s->scratch : s->data, all, p->partner);
    }
    if (p->number < 0)
        return MPI_SUCCESS;

    bool back = s->step > p->levels;
    int level = back ? last - 1 - s->step : s->step - 1;
    int peer = rank_of(p, p->number ^ (1 << level));

    if (is_short(s))
        keep = give = all;
    else
        halves(p, s->n, level, &keep, &give);
    if (back) {
        result = receive(exchange, index, s->data + (size_t)give.begin * s->op->element, give,
                         peer);
        return result != MPI_SUCCESS ? result : send(exchange, index, keep, peer);
    }
    result = receive(exchange, index, s->scratch, keep, peer);
    return result != MPI_SUCCESS ? result : send(exchange, index, give, peer);
}

/* What has come is added; the owner of a finished sum scales it. */
static void complete_step(slot *s, const plan *p)
{
    range keep = {0, s->n}, give;

    if (p->number < 0 || s->step > p->levels)
        return;
    if (s->step > 0 && !is_short(s))
        halves(p, s->n, s->step - 1, &keep, &give);

    char *mine = s->data + (size_t)keep.begin * s->op->element;
    int64_t n = keep.end - keep.begin;

    if (s->step > 0 || p->partner >= 0)
        ht__sum_add(s->op->dtype, mine, s->scratch, n);
    if (s->step == p->levels)
        ht__sum_scale(s->op->dtype, mine, n, s->op->scale);
}

static bool is_idle(ht_exchange *exchange, int index)
{
    const MPI_Request *requests = requests_of(exchange, index);

    return requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL;
}

static void segment_done(ht_exchange *exchange, slot *s)
{
    ht_exchange_op *op = s->op;

    s->op = NULL;
    exchange->slots_busy--;
    if (++op->finished == op->segments)
        ht__exchange_finish(exchange, op, HT_SUCCESS);
}

/* Goes on with a segment whose requests are done, until it has to wait or is finished. */
static void advance(ht_exchange *exchange, int index, const plan *p)
{
    slot *s = exchange->slots[index];
    int last = 2 * p->levels + 1;

    while (is_idle(exchange, index)) {
        complete_step(s, p);
        if (s->step == p->levels && is_short(s))
            s->step = last - 1; /* nothing to copy back */
        if (s->step++ == last) {
            segment_done(exchange, s);
            return;
        }
        ht__mpi_check(exchange->comm, post_step(exchange, index, p), "exchange");
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

static void segment_start(ht_exchange *exchange, ht_exchange_op *op, const plan *p)
{
    int index = free_slot(exchange);
    slot *s = exchange->slots[index];
    int64_t begin = op->started * op->segment;
    size_t bytes = (size_t)op->segment * op->element;

    if (s->scratch_bytes < bytes) {
        s->scratch = ht__realloc(s->scratch, bytes);
        s->scratch_bytes = bytes;
    }
    s->op = op;
    s->data = op->data + (size_t)begin * op->element;
    s->n = op->n - begin < op->segment ? op->n - begin : op->segment;
    s->tag = (int)((op->first_segment + (uint64_t)op->started) % TAGS);
    s->step = 0;
    op->started++;
    exchange->slots_busy++;
    if (ht__mpi_check(exchange->comm, post_step(exchange, index, p), "exchange") == HT_SUCCESS)
        advance(exchange, index, p);
}

static void start_segments(ht_exchange *exchange, const plan *p)
{
    int window = WINDOW;
    ht_exchange_op *next;

    for (ht_exchange_op *op = exchange->active; op != NULL; op = next) {
        next = op->next;
        if (op->block != NULL)
            continue;
        while (op->started < op->segments && op->started - op->finished < window)
            segment_start(exchange, op, p);
        window = 1;
    }
}

void ht__message_start(ht_exchange *exchange, ht_exchange_op *op)
{
    op->segment = (int64_t)(exchange->segment_bytes / op->element);
    /* Tags repeat after TAGS segments: an operation alone must not use one twice. */
    if (op->n / op->segment >= TAGS / 2)
        op->segment = op->n / (TAGS / 2) + 1;
    op->segments = (op->n + op->segment - 1) / op->segment;
    op->first_segment = exchange->segments_started;
    exchange->segments_started += (uint64_t)op->segments;
}

bool ht__message_progress(ht_exchange *exchange)
{
    plan p = plan_of(exchange);
    int count = 0;

    start_segments(exchange, &p);
    if (exchange->slots_busy == 0)
        return false;

    int result = MPI_Testsome(2 * exchange->slot_count, exchange->requests, &count,
                              exchange->finished, MPI_STATUSES_IGNORE);

    if (ht__mpi_check(exchange->comm, result, "exchange") != HT_SUCCESS || count == MPI_UNDEFINED)
        return false;
    for (int i = 0; i < count; i++) {
        int index = exchange->finished[i] / 2;

        if (exchange->slots[index]->op != NULL && is_idle(exchange, index))
            advance(exchange, index, &p);
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

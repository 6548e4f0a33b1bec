/* SPDX-License-Identifier: MIT
 *
 * A segment on its way: the steps of the plan forwards, and then back.
 *
 * An all-reduce adds on the way forwards, and copies on the way back. After the last step forwards
 * each rank that still has data owns a part of the sum and scales it. If all steps are swaps, each
 * rank sends 2 (1 - 1/P) times the data, in 2 log2 P steps.
 * A reduce-scatter goes forwards the same way. On the way back only ranks that gave all their data
 * receive something.
 * An all-gather goes back the same way. Before that, ranks that give all pass on their own parts
 * and those of the ranks below them.
 *
 * Data between nodes may travel in a narrower type than that of the additions. Then both operands
 * of an addition are rounded, the local one and the received one, so that a sum does not depend on
 * the rank that made it. The owner rounds its result before it is copied.
 *
 * A segment is a state machine with at most two requests. */
#include "core/comm/mpi.h"
#include "core/exchange/path.h"

enum { SHORT = 4096 };

/* The ranges that a step moves, in elements of the segment. */
typedef struct move {
    range send[2], receive[2]; /* at most two that are not empty */
    bool add; /* receive[0], added to the elements there; otherwise it replaces them */
} move;

static bool is_short(const slot *s)
{
    return (size_t)s->n * s->op->element <= SHORT;
}

static bool is_forward(const slot *s)
{
    return s->step < s->plan->count;
}

/* The step of the plan that a segment is in; its steps are counted forwards, then back. */
static int plan_step(const slot *s)
{
    return is_forward(s) ? s->step : 2 * s->plan->count - 1 - s->step;
}

/* The ranges that this rank keeps and gives in a step forwards. */
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

static move move_sum(const slot *s, const exchange_step *step)
{
    range keep, give;

    /* A short segment is added completely on both sides of a swap: no part has to be returned. */
    if (!is_forward(s) && is_short(s) && step->kind == STEP_SWAP)
        return (move){.add = false};
    parts(s, plan_step(s), &keep, &give);
    if (is_forward(s))
        return (move){.send = {give}, .receive = {keep}, .add = true};
    return (move){.send = {keep}, .receive = {give}};
}

/* The elements of places. */
static range pieces(const slot *s, const ht_exchange *exchange, range places)
{
    int64_t width = s->n / exchange->size;

    return (range){places.begin * width, places.end * width};
}

static move move_scatter(const ht_exchange *exchange, const slot *s, const exchange_step *step)
{
    range all = {0, s->n}, under = pieces(s, exchange, step->under);
    range keep = pieces(s, exchange, step->keep), give = pieces(s, exchange, step->give);

    if (!is_forward(s) && step->kind == STEP_TAKE)
        return (move){.send = {under}};
    if (!is_forward(s))
        return (move){.receive = {under}}; /* empty in a swap */
    if (step->kind == STEP_GIVE)
        return (move){.send = {all}, .add = true};
    if (step->kind == STEP_TAKE)
        return (move){.receive = {all}, .add = true};
    return (move){.send = {give}, .receive = {keep}, .add = true};
}

static move move_gather(const ht_exchange *exchange, const slot *s, const exchange_step *step)
{
    range under = pieces(s, exchange, step->under), keep = pieces(s, exchange, step->keep);
    range before = {0, under.begin}, behind = {under.end, s->n};

    if (is_forward(s))
        return step->kind == STEP_GIVE ? (move){.send = {under}} : (move){.receive = {under}};
    if (step->kind == STEP_GIVE)
        return (move){.receive = {before, behind}};
    if (step->kind == STEP_TAKE)
        return (move){.send = {before, behind}};
    return (move){.send = {keep}, .receive = {pieces(s, exchange, step->give)}};
}

static move move_of(const ht_exchange *exchange, const slot *s)
{
    const exchange_step *step = &s->plan->steps[plan_step(s)];

    switch (s->op->kind) {
    case OP_SCATTER:
        return move_scatter(exchange, s, step);
    case OP_GATHER:
        return move_gather(exchange, s, step);
    default:
        return move_sum(s, step);
    }
}

static bool is_narrow(const slot *s, const exchange_step *step)
{
    return step->far && s->op->wire != s->op->dtype;
}

static char *at(const slot *s, range part)
{
    return s->data + (size_t)part.begin * s->op->element;
}

/* The first half of the scratch memory is for received data and the second for sent data, if both
 * are narrow. */
static void *outgoing(const slot *s)
{
    return s->scratch + s->scratch_bytes / 2;
}

static int send(ht_exchange *exchange, slot *s, range part, const exchange_step *step,
                MPI_Request *request)
{
    const void *from = at(s, part);
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
    return MPI_Isend(from, (int)n, ht__mpi_type(dtype), step->peer, s->tag, exchange->mpi, request);
}

static int receive(ht_exchange *exchange, slot *s, void *into, range part,
                   const exchange_step *step, MPI_Request *request)
{
    ht_dtype dtype = is_narrow(s, step) ? s->op->wire : s->op->dtype;

    if (part.begin == part.end)
        return MPI_SUCCESS;
    return MPI_Irecv(into, (int)(part.end - part.begin), ht__mpi_type(dtype), step->peer, s->tag,
                     exchange->mpi, request);
}

int ht__segment_post(ht_exchange *exchange, slot *s)
{
    const exchange_step *step = &s->plan->steps[plan_step(s)];
    move m = move_of(exchange, s);
    bool aside = m.add || is_narrow(s, step);
    int result = MPI_SUCCESS;

    for (int i = 0; i < 2 && result == MPI_SUCCESS; i++) {
        result = receive(exchange, s, aside ? s->scratch : at(s, m.receive[i]), m.receive[i], step,
                         &s->requests[1 - i]);
        if (result == MPI_SUCCESS)
            result = send(exchange, s, m.send[i], step, &s->requests[i]);
    }
    return result;
}

/* The owner of a finished sum. */
static void finish_sum(const ht_exchange *exchange, const slot *s, range part)
{
    int64_t n = part.end - part.begin;

    ht__sum_scale(s->op->dtype, at(s, part), n, s->op->scale);
    if (exchange->comm->nodes > 1 && s->op->wire != s->op->dtype)
        ht__sum_round(s->op->wire, at(s, part), n);
}

void ht__segment_complete(const ht_exchange *exchange, const slot *s)
{
    const exchange_step *step = &s->plan->steps[plan_step(s)];
    move m = move_of(exchange, s);
    range came = m.receive[0];
    bool narrow = is_narrow(s, step);

    if (!m.add) {
        if (narrow)
            ht__sum_widen(s->op->wire, at(s, came), s->scratch, came.end - came.begin);
        return;
    }
    if (narrow)
        ht__sum_add_narrow(s->op->wire, at(s, came), s->scratch, came.end - came.begin);
    else
        ht__sum_add(s->op->dtype, at(s, came), s->scratch, came.end - came.begin);
    if (s->step == s->plan->count - 1)
        finish_sum(exchange, s, came);
}

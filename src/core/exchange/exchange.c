/* SPDX-License-Identifier: MIT
 *
 * The exchange engine: operations in order of priority, each moved by one of two paths. exchange.h
 * has its guarantees. */
#include "core/comm/mpi.h"
#include "core/exchange/path.h"

#include "core/timeline/timeline.h"

ht_exchange *ht__engines;

/* Everything as far as it goes. */
static bool move(ht_exchange *exchange)
{
    bool moved = exchange->active != NULL, any = false;

    while (moved) {
        ht_exchange_op *next;

        moved = ht__message_progress(exchange);
        for (ht_exchange_op *op = exchange->active; op != NULL; op = next) {
            next = op->next;
            if (op->block != NULL)
                moved |= ht__shared_progress(exchange, op);
        }
        any |= moved;
        moved &= exchange->active != NULL;
    }
    return any;
}

bool ht__exchange_move_all(bool *moved)
{
    bool any = false;

    *moved = false;
    for (ht_exchange *exchange = ht__engines; exchange != NULL; exchange = exchange->next) {
        *moved |= move(exchange);
        any |= exchange->active != NULL;
    }
    return any;
}

void ht__exchange_set_segment(ht_exchange *exchange, size_t bytes)
{
    exchange->segment_bytes = bytes >= sizeof(double) ? bytes : sizeof(double);
}

/* False after the error was reported. */
static bool can_sum(ht_exchange *exchange, ht_dtype dtype, ht_dtype wire)
{
    if (dtype != HT_FLOAT32 && dtype != HT_FLOAT64) {
        HT_FAIL(exchange->comm, HT_ERR_DTYPE, "exchange: dtype is %s, expected float32 or float64",
                ht_dtype_name(dtype));
        return false;
    }
    if (wire != dtype && (dtype != HT_FLOAT32 || (wire != HT_BFLOAT16 && wire != HT_FLOAT16))) {
        HT_FAIL(exchange->comm, HT_ERR_DTYPE, "exchange: %s cannot travel as %s",
                ht_dtype_name(dtype), ht_dtype_name(wire));
        return false;
    }
    return true;
}

static const char *const names[] = {[OP_SUM] = "the exchange of gradients",
                                    [OP_SCATTER] = "the exchange's reduce-scatter",
                                    [OP_GATHER] = "the exchange's all-gather"};

/* The operation that the caller asked for, or NULL. */
static ht_exchange_op *op_new(ht_exchange *exchange, op_kind kind, void *data, int64_t n,
                              ht_dtype dtype, ht_dtype wire, double scale, int priority)
{
    ht_exchange_op *op;

    if (kind != OP_GATHER && !can_sum(exchange, dtype, wire))
        return NULL;
    ht__begin(exchange->comm, (ht_call){.what = names[kind],
                                        .dtype = dtype,
                                        .wire = wire,
                                        .count = n,
                                        .on = exchange->purpose,
                                        .later = true});
    op = ht__exchange_take(exchange);
    op->kind = kind;
    op->data = data;
    op->n = n;
    op->dtype = dtype;
    op->wire = wire;
    op->element = ht_dtype_size(dtype);
    op->scale = scale;
    op->priority = priority;
    return op;
}

/* Without others to add to it, data are their own sum as soon as they are there. */
static bool is_alone(const ht_exchange *exchange, const ht_exchange_op *op)
{
    return exchange->size == 1 || op->n == 0;
}

static void fill_alone(ht_exchange_op *op, int64_t n)
{
    ht__sum_scale(op->dtype, op->data + (size_t)op->filled * op->element, n - op->filled,
                  op->scale);
    op->filled = n;
    atomic_store_explicit(&op->summed, n, memory_order_relaxed);
    atomic_store_explicit(&op->done, n == op->n, memory_order_relaxed);
}

static void start(ht_exchange *exchange, ht_exchange_op *op, int64_t filled)
{
    if (is_alone(exchange, op)) {
        fill_alone(op, filled);
        return;
    }
    ht__gate_lock();
    op->filled = filled;
    op->timed = ht__timeline_is_on();
    if (op->timed)
        ht__flight_begin((size_t)op->n * op->element);
    ht__exchange_enqueue(exchange, op);
    if (ht__shared_start(exchange, op))
        ht__message_carry(exchange, op);
    else
        ht__message_start(exchange, op);
    move(exchange);
    ht__thread_wake();
    ht__gate_unlock();
}

ht_exchange_op *ht__exchange_start(ht_exchange *exchange, void *data, int64_t n, ht_dtype dtype,
                                   double scale, int priority)
{
    return ht__exchange_start_as(exchange, data, n, dtype, dtype, scale, priority);
}

ht_exchange_op *ht__exchange_start_as(ht_exchange *exchange, void *data, int64_t n, ht_dtype dtype,
                                      ht_dtype wire, double scale, int priority)
{
    ht_exchange_op *op = op_new(exchange, OP_SUM, data, n, dtype, wire, scale, priority);

    if (op != NULL)
        start(exchange, op, n);
    return op;
}

ht_exchange_op *ht__exchange_open(ht_exchange *exchange, void *data, int64_t n, ht_dtype dtype,
                                  ht_dtype wire, double scale, int priority)
{
    ht_exchange_op *op = op_new(exchange, OP_SUM, data, n, dtype, wire, scale, priority);

    if (op != NULL)
        start(exchange, op, 0);
    return op;
}

ht_exchange_op *ht__exchange_reduce_scatter(ht_exchange *exchange, void *data, int64_t n,
                                            ht_dtype dtype, ht_dtype wire, double scale,
                                            int priority)
{
    ht_exchange_op *op = op_new(exchange, OP_SCATTER, data, n, dtype, wire, scale, priority);

    if (op != NULL)
        start(exchange, op, n);
    return op;
}

ht_exchange_op *ht__exchange_all_gather(ht_exchange *exchange, void *data, int64_t n,
                                        ht_dtype dtype, int priority)
{
    ht_exchange_op *op = op_new(exchange, OP_GATHER, data, n, dtype, dtype, 1, priority);

    start(exchange, op, n);
    return op;
}

void ht__exchange_fill(ht_exchange *exchange, ht_exchange_op *op, int64_t n)
{
    if (is_alone(exchange, op)) {
        fill_alone(op, n);
        return;
    }
    ht__gate_lock();
    op->filled = n;
    move(exchange);
    ht__gate_unlock();
}

uint64_t ht__exchange_bytes_sent(const ht_exchange *exchange)
{
    ht__gate_lock();

    uint64_t bytes = exchange->bytes_sent;

    ht__gate_unlock();
    return bytes;
}

uint64_t ht__exchange_all_bytes_sent(void)
{
    uint64_t bytes = 0;

    for (const ht_exchange *exchange = ht__engines; exchange != NULL; exchange = exchange->next)
        bytes += ht__exchange_bytes_sent(exchange);
    return bytes;
}

uint64_t ht__exchange_finished_at(const ht_exchange_op *op)
{
    return op->finished_at;
}

bool ht__exchange_progress(ht_exchange *exchange)
{
    if (!ht__gate_try())
        return false; /* the progress thread is at it */

    bool moved = move(exchange);

    ht__gate_unlock();
    return moved;
}

bool ht__exchange_progress_all(void)
{
    bool moved = false;

    for (ht_exchange *exchange = ht__engines; exchange != NULL; exchange = exchange->next)
        moved |= ht__exchange_progress(exchange);
    return moved;
}

bool ht__exchange_done(const ht_exchange_op *op)
{
    return atomic_load_explicit(&op->done, memory_order_acquire);
}

struct waiting {
    ht_exchange *exchange;
    const ht_exchange_op *op;
    int64_t part; /* elements */
};

static bool has_part(const ht_exchange_op *op, int64_t n)
{
    return ht__exchange_done(op) || atomic_load_explicit(&op->summed, memory_order_acquire) >= n;
}

static ht_poll has_come(void *state)
{
    struct waiting *waiting = state;
    bool moved = ht__exchange_progress(waiting->exchange);

    if (has_part(waiting->op, waiting->part))
        return HT_POLL_DONE;
    return moved ? HT_POLL_MOVED : HT_POLL_IDLE;
}

ht_status ht__exchange_wait(ht_exchange *exchange, ht_exchange_op *op, const char *what)
{
    return ht__exchange_wait_part(exchange, op, INT64_MAX, what);
}

ht_status ht__exchange_wait_part(ht_exchange *exchange, ht_exchange_op *op, int64_t n,
                                 const char *what)
{
    struct waiting waiting = {.exchange = exchange, .op = op, .part = n};

    if (has_part(op, n))
        return op->status;

    int span = ht__span_begin(HT_SPAN_EXPOSED, what, NULL);
    ht_status status = ht__wait_until(exchange->comm, has_come, &waiting, what);

    ht__span_end(span);
    return status != HT_SUCCESS ? status : op->status;
}

struct asking {
    bool (*done)(void *user, bool *moved);
    void *user;
};

static ht_poll ask(void *state)
{
    struct asking *asking = state;
    bool moved = false;

    if (asking->done(asking->user, &moved))
        return HT_POLL_DONE;
    return moved ? HT_POLL_MOVED : HT_POLL_IDLE;
}

typedef ht_status wait_fn(ht_comm *comm, ht_poll_fn *poll, void *state, const char *what);

static ht_status wait_by(wait_fn *wait, ht_exchange *exchange, struct asking asking,
                         const char *what)
{
    int span = ht__span_begin(HT_SPAN_EXPOSED, what, NULL);
    ht_status status = wait(exchange->comm, ask, &asking, what);

    ht__span_end(span);
    return status;
}

ht_status ht__exchange_wait_for(ht_exchange *exchange, bool (*done)(void *user, bool *moved),
                                void *user, const char *what)
{
    return wait_by(ht__wait_until, exchange, (struct asking){done, user}, what);
}

ht_status ht__exchange_wait_device(ht_exchange *exchange, bool (*done)(void *user, bool *moved),
                                   void *user, const char *what)
{
    return wait_by(ht__wait_device, exchange, (struct asking){done, user}, what);
}

void ht__exchange_release(ht_exchange *exchange, ht_exchange_op *op)
{
    if (op == NULL)
        return;
    ht__exchange_wait(exchange, op, "exchange");
    op->next = exchange->unused;
    exchange->unused = op;
}

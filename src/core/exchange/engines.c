/* SPDX-License-Identifier: MIT
 *
 * The engines: one for each communicator and purpose, made when it is first asked for. They end with
 * their communicator, in a call in which all of its ranks take part, or with the library. */
#include "core/comm/mpi.h"
#include "core/exchange/path.h"

enum { SEGMENT = 512 * 1024 };

static bool is_idle(const ht_comm *comm)
{
    bool idle = true;

    ht__gate_lock();
    for (const ht_exchange *exchange = ht__engines; exchange != NULL; exchange = exchange->next) {
        if (exchange->comm == comm)
            idle &= exchange->active == NULL && exchange->slots_busy == 0 &&
                    ht__memory_is_idle(exchange);
    }
    ht__gate_unlock();
    return idle;
}

static void end_one(ht_exchange *exchange)
{
    ht__links_end(exchange);
    ht__message_end(exchange);
    ht__memory_end(exchange);
    ht__plan_end(exchange);
    while (exchange->made != NULL) {
        ht_exchange_op *op = exchange->made;

        exchange->made = op->made;
        ht__free(op);
    }
    ht_release(exchange->comm);
    ht__free(exchange);
}

/* In the order of the list, the same on all ranks of the communicator. */
static void end_those_of(ht_comm *comm)
{
    ht_exchange **at = &ht__engines;

    while (*at != NULL) {
        ht_exchange *exchange = *at;

        if (exchange->comm != comm) {
            at = &exchange->next;
            continue;
        }
        ht__gate_lock();
        *at = exchange->next;
        ht__gate_unlock();
        comm->engines--;
        end_one(exchange);
    }
}

static const ht_engine_calls calls = {.idle = is_idle, .end = end_those_of};

static ht_exchange *engine_new(ht_comm *comm, ht_purpose purpose)
{
    MPI_Comm mpi = ht__comm_private(comm, purpose);
    const char *outer;

    if (mpi == MPI_COMM_NULL)
        return NULL;

    ht_exchange *exchange = ht__alloc(sizeof *exchange);

    exchange->comm = ht_retain(comm);
    exchange->purpose = purpose;
    exchange->mpi = mpi;
    exchange->rank = comm->rank;
    exchange->size = comm->size;
    exchange->segment_bytes = SEGMENT;
    ht__plan_open(exchange);
    outer = ht__watch_guard("making an exchange");
    ht__memory_open(exchange);
    ht__watch_unguard(outer);
    ht__thread_start(ht__exchange_move_all);
    ht__gate_lock();
    exchange->next = ht__engines;
    ht__engines = exchange;
    ht__gate_unlock();
    comm->engines++;
    comm->engine_calls = &calls;
    return exchange;
}

ht_exchange *ht__exchange_get(ht_comm *comm, ht_purpose purpose)
{
    for (ht_exchange *exchange = ht__engines; exchange != NULL; exchange = exchange->next) {
        if (exchange->comm == comm && exchange->purpose == purpose)
            return exchange;
    }
    return engine_new(comm, purpose);
}

void ht__exchange_stop(void)
{
    ht__thread_stop();
}

void ht__exchange_end(void)
{
    ht__exchange_stop();
    while (ht__engines != NULL) {
        ht_exchange *exchange = ht__engines;

        ht__engines = exchange->next;
        end_one(exchange);
    }
}

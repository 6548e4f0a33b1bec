/* SPDX-License-Identifier: MIT
 *
 * Operations of the exchange: taken from the finished ones, kept in order of priority while active,
 * and finished. */
#include "core/exchange/path.h"

#include "core/timeline/timeline.h"

ht_exchange_op *ht__exchange_take(ht_exchange *exchange)
{
    ht_exchange_op *op = exchange->unused;

    if (op == NULL) {
        op = ht__alloc(sizeof *op);
        op->made = exchange->made;
        exchange->made = op;
        return op;
    }
    exchange->unused = op->next;
    *op = (ht_exchange_op){.made = op->made};
    return op;
}

void ht__exchange_enqueue(ht_exchange *exchange, ht_exchange_op *op)
{
    ht_exchange_op **at = &exchange->active;

    while (*at != NULL && (*at)->priority >= op->priority)
        at = &(*at)->next;
    op->next = *at;
    *at = op;
}

void ht__exchange_finish(ht_exchange *exchange, ht_exchange_op *op, ht_status status)
{
    ht_exchange_op **at = &exchange->active;

    while (*at != op)
        at = &(*at)->next;
    *at = op->next;
    op->status = status;
    if (op->timed)
        op->finished_at = ht__flight_end();
    atomic_store_explicit(&op->done, true, memory_order_release);
}

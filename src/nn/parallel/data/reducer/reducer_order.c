/* SPDX-License-Identifier: MIT
 *
 * The order of wrappers, and the order in which their passes start exchanges. All ranks start the
 * same operations of one exchange in the same order. But a pass starts some of them late, because
 * its buckets wait for the sum of the weights, and wrappers of one communicator share its exchange.
 * So passes queue up in the order in which they began, and only the first one of each exchange
 * starts operations.
 *
 * A rank that waits for something else (a barrier, a value to print) serves the queue meanwhile.
 * Otherwise it might wait for a rank that waits for an operation that this rank has not started. */
#include "nn/parallel/data/reducer/reducer.h"

#include <stdatomic.h>

/* Numbers of wrappers are the same on all ranks of a communicator, and grow on every rank. So any
 * two wrappers have one order on all ranks that have both. */
static atomic_int_least64_t last_number;

enum { NUMBER, WIDEST, SHARING, WAITING, UNLINKED, AGREED };

/* The wrappers of this rank on the communicator, with this one. */
static void look_at_all(const ht_reducer *reducer, int64_t mine[AGREED])
{
    for (const ht_reducer *other = ht__reducers_all(); other != NULL; other = other->next) {
        if (other->exchange != reducer->exchange)
            continue;
        mine[WIDEST] = other->count > mine[WIDEST] ? other->count : mine[WIDEST];
        mine[WAITING] |= other->waits;
        mine[SHARING]++;
    }
}

/* Another thread may number a wrapper of another communicator. */
static void raise_last(int64_t number)
{
    int_least64_t last = atomic_load(&last_number);

    while (last < number && !atomic_compare_exchange_weak(&last_number, &last, number))
        ;
}

/* Whether this rank has gradients on a device that may be linked. */
static bool has_linkable(const ht_reducer *reducer)
{
    bool linkable = false;

    for (int i = 0; i < reducer->count; i++)
        linkable |= ht__link_is_possible(reducer->exchange,
                                         reducer->params[i].tensor->body->storage->device);
    return linkable;
}

ht_status ht__reducer_take_number(ht_reducer *reducer)
{
    int64_t most[AGREED] = {[NUMBER] = atomic_fetch_add(&last_number, 1) + 1};
    ht_status status;

    look_at_all(reducer, most);
    most[UNLINKED] = !has_linkable(reducer);
    status = ht__comm_allreduce_i64(reducer->comm, most, AGREED, HT_OP_MAX,
                                    "numbering data-parallel wrappers");
    reducer->number = most[NUMBER];
    raise_last(most[NUMBER]);
    reducer->links = most[UNLINKED] == 0;
    for (ht_reducer *other = ht__reducers_all(); other != NULL; other = other->next) {
        if (other->exchange != reducer->exchange)
            continue;
        other->newest = most[NUMBER];
        other->widest = (int)most[WIDEST];
        other->shares = most[SHARING] > 1 && reducer->comm->size > 1;
        other->stays = other->shares && most[WAITING] != 0;
    }
    return status;
}

/* Small enough for sums of squares that are exact. */
int ht__reducer_sign(const ht_reducer *reducer)
{
    return (int)(reducer->number % 65536);
}

static ht_reducer *first; /* in the queue */

static ht_reducer **place_of(const ht_reducer *reducer)
{
    ht_reducer **at = &first;

    while (*at != reducer)
        at = &(*at)->next_queued;
    return at;
}

void ht__reducer_enlist(ht_reducer *reducer)
{
    ht_reducer **end = place_of(NULL);

    *end = reducer;
    reducer->next_queued = NULL;
    reducer->queued = true;
}

void ht__reducer_delist(ht_reducer *reducer)
{
    if (!reducer->queued)
        return;
    *place_of(reducer) = reducer->next_queued;
    reducer->queued = false;
}

ht_reducer *ht__reducers_queued(void)
{
    return first;
}

ht_reducer *ht__reducer_turn(const ht_reducer *reducer)
{
    ht_reducer *turn = first;

    while (turn != NULL && turn->exchange != reducer->exchange)
        turn = turn->next_queued;
    return turn;
}

/* SPDX-License-Identifier: MIT
 *
 * The order in which passes start exchanges. All ranks start the same operations of one exchange in
 * the same order. But a pass starts some of them late, because its buckets wait for the sum of the
 * weights, and wrappers of one communicator share its exchange. So passes queue up in the order in
 * which they began, and only the first one of each exchange starts operations.
 *
 * A rank that waits for something else (a barrier, a value to print) serves the queue meanwhile.
 * Otherwise it might wait for a rank that waits for an operation that this rank has not started. */
#include "nn/parallel/data/reducer/reducer.h"

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

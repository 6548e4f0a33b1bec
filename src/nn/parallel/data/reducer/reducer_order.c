/* SPDX-License-Identifier: MIT
 *
 * The order in which passes start exchanges. All ranks start the same operations of one exchange in
 * the same order. But a pass starts some of them late, because its buckets wait for the sum of the
 * weights, and wrappers of one communicator share its exchange. So passes queue up in the order in
 * which they began, and only the first one of each exchange starts operations.
 *
 * A rank that waits for something else (a barrier, a value to print) serves the queue meanwhile.
 * Otherwise it might wait for a rank that waits for an operation that this rank has not started. */
#include "nn/parallel/data/reducer/comm_hook.h"

static ht_reducer *first; /* in the queue */

static ht_reducer **place_of(const ht_reducer *reducer)
{
    ht_reducer **at = &first;

    while (*at != reducer)
        at = &(*at)->next_queued;
    return at;
}

static bool serve(void)
{
    bool moved = ht__exchange_progress_all();

    for (ht_reducer *reducer = first, *next; reducer != NULL; reducer = next) {
        next = reducer->next_queued;
        if (ht__reducer_turn(reducer) == reducer)
            moved |= ht__reducer_post(reducer);
    }
    moved |= ht__hooks_progress();
    return moved | ht__reducers_look();
}

void ht__reducer_enlist(ht_reducer *reducer)
{
    ht_reducer **end = place_of(NULL);

    ht__wait_set_serve(serve);
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

ht_reducer *ht__reducer_turn(const ht_reducer *reducer)
{
    ht_reducer *turn = first;

    while (turn != NULL && turn->exchange != reducer->exchange)
        turn = turn->next_queued;
    return turn;
}

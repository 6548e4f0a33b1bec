/* SPDX-License-Identifier: MIT
 *
 * Buckets are laid out once more, in the order in which gradients became ready on rank 0 in the
 * first pass. That order travels behind the buckets of the first pass, and has come before the last
 * of them counts as received. So the second pass, which lays them out, has it without waiting for a
 * rank that has not begun that pass. A wrapper that is drained has nothing under way. */
#include "nn/parallel/data/reducer/reducer.h"

#include <string.h>

/* Parameters that did not take part come last. */
static void complete_seen(ht_reducer *reducer)
{
    bool *listed = ht__alloc((size_t)reducer->count * sizeof *listed);

    for (int i = 0; i < reducer->seen_count; i++)
        listed[reducer->seen[i]] = true;
    for (int i = 0; i < reducer->count; i++) {
        if (!listed[reducer->order[i]])
            reducer->seen[reducer->seen_count++] = reducer->order[i];
    }
    ht__free(listed);
}

bool ht__reducer_order_is_due(const ht_reducer *reducer)
{
    return reducer->passes == 1 && reducer->seen_count >= 0;
}

void ht__reducer_send_order(ht_reducer *reducer)
{
    if (!ht__reducer_order_is_due(reducer) || reducer->order_op != NULL)
        return;
    complete_seen(reducer);
    reducer->order_sent = ht__alloc((size_t)reducer->count * sizeof *reducer->order_sent);
    for (int i = 0; i < reducer->count && reducer->comm->rank == 0; i++)
        reducer->order_sent[i] = reducer->seen[i];
    reducer->order_op = ht__exchange_start(reducer->exchange, reducer->order_sent, reducer->count,
                                           HT_FLOAT64, 1, 0);
}

void ht__reducer_end_order(ht_reducer *reducer)
{
    if (reducer->order_op != NULL)
        ht__exchange_release(reducer->exchange, reducer->order_op);
    ht__free(reducer->order_sent);
    reducer->order_op = NULL;
    reducer->order_sent = NULL;
}

/* Whether the order is another one now. A rank without a loss of several wrappers begins their
 * passes one by one. In between it comes to buffers that others have renewed before, or to layers
 * that others come to later. If ranks wait for each other there, a second pass that waits for all
 * ranks, too, would wait for ever. So the first order stays. */
static bool take_order(ht_reducer *reducer)
{
    bool changes = false;

    for (int i = 0; i < reducer->count && !reducer->stays; i++) {
        const int param = (int)reducer->order_sent[i];

        changes |= param != reducer->order[i];
        reducer->order[i] = param;
    }
    return changes;
}

bool ht__reducer_has_order(const ht_reducer *reducer)
{
    return reducer->order_op == NULL || ht__exchange_done(reducer->order_op);
}

ht_status ht__reducer_wait_order(ht_reducer *reducer)
{
    if (ht__reducer_has_order(reducer))
        return HT_SUCCESS;
    return ht__exchange_wait(reducer->exchange, reducer->order_op,
                             "agreeing on the order of gradients");
}

ht_status ht__reducer_agree_order(ht_reducer *reducer, bool *changes)
{
    ht_status status = ht__reducer_wait_order(reducer);

    *changes = status == HT_SUCCESS && take_order(reducer);
    reducer->seen_count = -1;
    ht__reducer_end_order(reducer);
    return status;
}

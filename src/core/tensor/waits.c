/* SPDX-License-Identifier: MIT
 *
 * Places where a backward pass waits for other ranks: the exchange of a node's own backward step,
 * and those of a segment's second run. If an error keeps this rank from such a place, it takes part
 * there with the error instead, which tells the ranks that wait. All ranks of a communicator learn
 * of a failure in the same exchange, and make no other one in that pass. */
#include "core/tensor/node.h"

_Thread_local ht_told *ht__told_now;
static _Thread_local ht_waiting *newest;

ht_waiting *ht__waiting_newest(void)
{
    return newest;
}

ht_waiting *ht__waiting_new(ht_node *node, ht_segment *segment)
{
    ht_waiting *added = ht__alloc(sizeof *added);

    *added = (ht_waiting){.node = node, .segment = segment, .older = newest};
    if (newest != NULL)
        newest->newer = added;
    newest = added;
    return added;
}

void ht__waiting_free(ht_waiting *gone)
{
    if (gone == NULL)
        return;
    if (gone->newer != NULL)
        gone->newer->older = gone->older;
    else
        newest = gone->older;
    if (gone->older != NULL)
        gone->older->newer = gone->newer;
    ht__free(gone);
}

void ht__node_waits(ht_node *node, const ht_meeting *meeting)
{
    node->waiting = ht__waiting_new(node, NULL);
    node->waiting->meeting = *meeting;
}

void ht__node_leave(ht_node *node)
{
    ht__waiting_free(node->waiting);
    node->waiting = NULL;
}

bool ht__is_told(const ht_comm *comm)
{
    for (int i = 0; ht__told_now != NULL && i < ht__told_now->count; i++) {
        if (ht__told_now->comms[i] == comm)
            return true;
    }
    return false;
}

void ht__told(ht_comm *comm)
{
    ht_told *told = ht__told_now;

    if (told == NULL || ht__is_told(comm))
        return;
    told->comms = ht__realloc(told->comms, ((size_t)told->count + 1) * sizeof(ht_comm *));
    told->comms[told->count++] = comm;
}

void ht__meeting_tell(const ht_meeting *meeting)
{
    ht_error_kept cause;

    if (ht__is_told(meeting->comm))
        return;
    ht__error_set_aside(&cause);
    meeting->tell(meeting);
    ht_error_clear();
    ht__error_put_back(&cause);
    ht__told(meeting->comm);
}

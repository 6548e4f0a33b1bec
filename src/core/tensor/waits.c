/* SPDX-License-Identifier: MIT
 *
 * Places where a backward pass waits for other ranks: the exchange of a node's own backward step,
 * and those of a segment's second run. If an error keeps this rank from such a place, it takes part
 * there with the error instead, which tells the ranks that wait. All ranks of a communicator get a
 * failure in the same exchange, and make no other one in that pass.
 *
 * The list is one for all threads, because a graph may be differentiated, or released, on another
 * thread than the one that recorded it. */
#include <pthread.h>

#include "core/tensor/node.h"

_Thread_local ht_told *ht__told_now;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ht_waiting *newest; /* under the lock */
static atomic_int count;   /* in the list */

/* The address of something of the thread is that of a later thread, too. */
static uint64_t this_thread(void)
{
    static atomic_uint_fast64_t threads;
    static _Thread_local uint64_t number;

    if (number == 0)
        number = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
    return number;
}

bool ht__waiting_any(void)
{
    return atomic_load_explicit(&count, memory_order_relaxed) > 0;
}

/* Retained, whose turn begins the second run; NULL: none is left. */
static ht_node *hold_reader(const ht_segment *segment)
{
    for (int i = segment->count - 1; i >= 0; i--) {
        ht_node *node = segment->nodes[i];

        if (node != NULL && node->saved_count > 0 && ht__hold(node))
            return node;
    }
    return NULL;
}

/* Retained; NULL: another thread frees it. */
static ht_node *hold_node(const ht_waiting *waiting)
{
    if (waiting->node == NULL)
        return hold_reader(waiting->segment);
    return ht__hold(waiting->node) ? waiting->node : NULL;
}

/* The work on the nodes, and their last release, come after the lock. */
int ht__waiting_find(ht_node ***nodes)
{
    const uint64_t thread = this_thread();
    int found = 0;

    pthread_mutex_lock(&lock);
    *nodes = ht__alloc((size_t)count * sizeof **nodes);
    for (const ht_waiting *waiting = newest; waiting != NULL; waiting = waiting->older) {
        ht_node *node = waiting->thread == thread ? hold_node(waiting) : NULL;

        if (node != NULL)
            (*nodes)[found++] = node;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void ht__waiting_clear(ht_node **place)
{
    pthread_mutex_lock(&lock);
    *place = NULL;
    pthread_mutex_unlock(&lock);
}

ht_waiting *ht__waiting_new(ht_node *node, ht_segment *segment)
{
    ht_waiting *added = ht__alloc(sizeof *added);

    *added = (ht_waiting){.node = node, .segment = segment, .thread = this_thread()};
    pthread_mutex_lock(&lock);
    added->older = newest;
    if (newest != NULL)
        newest->newer = added;
    newest = added;
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
    return added;
}

void ht__waiting_free(ht_waiting *gone)
{
    if (gone == NULL)
        return;
    pthread_mutex_lock(&lock);
    if (gone->newer != NULL)
        gone->newer->older = gone->older;
    else
        newest = gone->older;
    if (gone->older != NULL)
        gone->older->newer = gone->newer;
    atomic_fetch_sub_explicit(&count, 1, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
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

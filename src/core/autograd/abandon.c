/* SPDX-License-Identifier: MIT
 *
 * The rest of a backward pass that has failed on this rank. The other ranks may go on, and wait in
 * second runs of segments and in exchanges of nodes. They learn of the failure in the first exchange
 * of each communicator that this rank has not come to, in the order of the pass. */
#include "core/autograd/autograd.h"
#include "core/autograd/engine.h"

/* What the node would have reached is abandoned, too, as long as anybody waits. */
static void push_inputs(ht_node_queue *queue, const ht_node *node)
{
    for (int i = 0; i < node->input_count; i++) {
        if (node->inputs[i].node != NULL)
            ht__queue_push(queue, node->inputs[i].node);
    }
}

/* The second run that begins where the node reads what it saved; then its own exchange. */
static void tell(ht_node_queue *queue, const ht_node *node)
{
    ht_told *const outer = ht__told_now;

    ht__told_now = &queue->told;
    if (node->segment != NULL && node->saved_count > 0)
        ht__segment_miss(node->segment);
    if (node->waiting != NULL && queue->met != node->sequence)
        ht__meeting_tell(&node->waiting->meeting);
    ht__told_now = outer;
}

void ht__abandon(ht_node_queue *queue, ht_node *node)
{
    if (!ht__waiting_any() || node->sequence == queue->abandoned)
        return;
    queue->abandoned = node->sequence;
    tell(queue, node);
    push_inputs(queue, node);
}

static void abandon_all(ht_node_queue *queue)
{
    while (queue->count > 0) {
        ht_node *node = ht__queue_pop(queue);

        ht__abandon(queue, node);
        ht_release(node);
    }
    ht__queue_free(queue);
}

void ht__abandon_graph(ht_tensor *root)
{
    ht_node_queue queue = {0};

    if (root->node != NULL)
        ht__queue_push(&queue, root->node);
    abandon_all(&queue);
}

static bool waits_for_nobody(const ht_node *node, void *user)
{
    bool *waits = user;

    *waits = node->waiting != NULL || (node->segment != NULL && node->segment->waiting != NULL);
    return !*waits;
}

bool ht__graph_may_wait(ht_tensor *root)
{
    bool waits = false;

    if (ht__waiting_any())
        ht__graph_walk_each(root, waits_for_nobody, &waits);
    return waits;
}

/* The node at whose turn a pass waits; NULL: none. */
static ht_node *node_of(const ht_waiting *waiting)
{
    return waiting->node != NULL ? waiting->node : ht__segment_reader(waiting->segment);
}

/* Another thread may be about to free it. */
static bool hold(ht_node *node)
{
    int holders = atomic_load_explicit(&node->base.count, memory_order_relaxed);

    while (holders > 0 && !atomic_compare_exchange_weak(&node->base.count, &holders, holders + 1))
        ;
    return holders > 0;
}

struct search {
    ht_node_visit_fn *among;
    void *user;
    ht_node_queue found;
};

static void find(const ht_waiting *waiting, void *user)
{
    struct search *search = user;
    ht_node *node = node_of(waiting);

    if (node != NULL && (search->among == NULL || search->among(node->sequence, search->user)) &&
        hold(node))
        ht__queue_push(&search->found, node);
}

void ht__abandon_nodes(ht_node_visit_fn *among, void *user)
{
    struct search search = {.among = among, .user = user};

    ht__waiting_each(find, &search);
    for (size_t i = 0; i < search.found.count; i++)
        ht_release(search.found.nodes[i]); /* the queue holds it, too */
    abandon_all(&search.found);
}

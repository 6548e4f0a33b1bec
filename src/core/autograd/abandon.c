/* SPDX-License-Identifier: MIT
 *
 * The rest of a backward pass that has failed on this rank. The other ranks may continue, and wait
 * in second runs of segments and in exchanges of nodes. They get the failure in the first exchange
 * of each communicator that this rank has not come to, in the order of the pass. */
#include "core/autograd/autograd.h"
#include "core/autograd/engine.h"

/* The nodes that this one would have reached are abandoned, too, as long as any rank waits. */
static void push_inputs(ht_node_queue *queue, const ht_node *node)
{
    for (int i = 0; i < node->input_count; i++) {
        if (node->inputs[i].node != NULL)
            ht__queue_push(queue, node->inputs[i].node);
    }
}

/* Reports to the ranks of the second run that begins where the node reads its saved tensors, then
 * to those of its own exchange. No rank waits there any longer. */
static void tell(ht_node_queue *queue, ht_node *node)
{
    ht_told *const outer = ht__told_now;

    ht__told_now = &queue->told;
    if (node->segment != NULL && node->saved_count > 0)
        ht__segment_miss(node->segment);
    if (node->waiting != NULL && queue->met != node->sequence)
        ht__meeting_tell(&node->waiting->meeting);
    ht__node_leave(node);
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
}

void ht__abandon_graph(ht_tensor *root)
{
    ht_node_queue queue = {0};

    if (root->node != NULL)
        ht__queue_push(&queue, root->node);
    abandon_all(&queue);
    ht__queue_free(&queue);
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
        ht__graph_walk_each(root->node, waits_for_nobody, &waits);
    return waits;
}

struct search {
    ht_node_visit_fn *among;
    void *user;
    bool found;
};

static bool is_not_among(const ht_node *node, void *user)
{
    struct search *search = user;

    search->found = search->among(node->sequence, search->user);
    return !search->found;
}

/* Others come to a node before they come to those that it depends on. So one that leads to a node
 * among those named is named, too. */
static bool leads_to(ht_node *node, ht_node_visit_fn *among, void *user)
{
    struct search search = {.among = among, .user = user};

    ht__graph_walk_each(node, is_not_among, &search);
    return search.found;
}

void ht__abandon_nodes(ht_node_visit_fn *among, void *user)
{
    static _Thread_local ht_told told; /* by the last call that named nodes */
    static _Thread_local uint64_t by_error;
    ht_node_queue queue = {0};
    ht_node **found;
    const int count = ht__waiting_find(&found);

    for (int i = 0; i < count; i++) {
        if (among == NULL || leads_to(found[i], among, user))
            ht__queue_push(&queue, found[i]); /* which holds it, too */
        ht_release(found[i]);
    }
    ht__free(found);
    if (among != NULL && by_error == ht__error_number())
        queue.told = told;
    else
        ht__free(told.comms);
    told = (ht_told){0};
    abandon_all(&queue);
    if (among != NULL) {
        by_error = ht__error_number();
        told = queue.told;
        queue.told = (ht_told){0};
    }
    ht__queue_free(&queue);
}

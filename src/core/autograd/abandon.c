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
    if (ht__waiting_newest() == NULL || node->sequence == queue->abandoned)
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

bool ht__backward_may_wait(void)
{
    return ht__waiting_newest() != NULL;
}

/* The node at whose turn a pass waits; NULL: none. */
static ht_node *node_of(const ht_waiting *waiting)
{
    return waiting->node != NULL ? waiting->node : ht__segment_reader(waiting->segment);
}

void ht__abandon_nodes(ht_node_visit_fn *among, void *user)
{
    ht_node_queue queue = {0};

    for (const ht_waiting *waiting = ht__waiting_newest(); waiting != NULL;
         waiting = waiting->older) {
        ht_node *node = node_of(waiting);

        if (node != NULL && (among == NULL || among(node->sequence, user)))
            ht__queue_push(&queue, node);
    }
    abandon_all(&queue);
}

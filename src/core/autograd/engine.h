/* SPDX-License-Identifier: MIT
 *
 * The inside of a backward pass. */
#ifndef HT_CORE_AUTOGRAD_ENGINE_H
#define HT_CORE_AUTOGRAD_ENGINE_H

#include "core/tensor/node.h"

typedef struct ht_node_queue {
    ht_node **nodes; /* a heap: the latest on top; owned references */
    size_t count, capacity;
    ht_grad_meta **leaves; /* those that got a gradient; owned references */
    size_t leaf_count, leaf_capacity;
    uint64_t met;       /* the last node that came to its exchange, by its sequence */
    uint64_t abandoned; /* the last node that was */
    ht_told told;       /* who knows of the failure */
    void **kept;        /* owned references: objects that live until the end of the pass */
    size_t kept_count, kept_capacity;
} ht_node_queue;

/* node_queue.c. */
void ht__queue_push(ht_node_queue *queue, ht_node *node);
ht_node *ht__queue_pop(ht_node_queue *queue); /* the latest one, with the queue's reference */
void ht__queue_keep(ht_node_queue *queue, void *object); /* retained until ht__queue_free */
void ht__queue_free(ht_node_queue *queue);               /* an empty one */

/* abandon.c. In place of the node's backward, or after it has failed: ranks that wait for this one
 * get the error, which stays the same. */
void ht__abandon(ht_node_queue *queue, ht_node *node);

/* The program's value for a gradient: a global tensor of any split, like the results of backward
 * functions. But nothing is summed, and no imaginary part is dropped on the way. NULL after an
 * error. */
ht_tensor *ht__grad_fit_given(const char *what, const char *name, ht_tensor *given,
                              const ht_body *like);

/* node_walk.c. `from` and every node that it depends on, until one is answered with false. */
typedef bool ht_node_each_fn(const ht_node *node, void *user);
void ht__graph_walk_each(ht_node *from, ht_node_each_fn *visit, void *user);

/* anomaly.c. Whether this thread looks for NaN; what a node's backward made. */
extern _Thread_local bool ht__anomaly_on;
ht_status ht__anomaly_check(const ht_node *node, ht_tensor *const grads[]);

/* leaves.c. The gradient, or what the hooks of the tensor with this number made of it. */
ht_tensor *ht__hooks_run(const ht_grad_meta *meta, uint64_t of, ht_tensor *grad);

/* A gradient arrives at a leaf; shared: others have it, too. */
ht_status ht__leaf_reach(ht_node_queue *queue, ht_grad_meta *leaf, ht_tensor *grad, bool shared);

/* A node has been differentiated and is given up: leaves that no graph uses are ready. */
void ht__leaf_leave(ht_node *node, int index);
void ht__leaves_leave(ht_node *node);

/* At the end of a pass the others are ready too: what else uses them is not part of it. */
void ht__leaves_finish(ht_node_queue *queue, ht_status status);

#endif

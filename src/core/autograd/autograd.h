/* SPDX-License-Identifier: MIT
 *
 * The interface of the autograd engine for higher folders, and walks over graphs. */
#ifndef HT_CORE_AUTOGRAD_AUTOGRAD_H
#define HT_CORE_AUTOGRAD_AUTOGRAD_H

#include <stdio.h>

#include "core/tensor/graph.h"
#include "ht/value.h"

/* ---- autograd (autograd/) -----------------------------------------------------------------------
 * A backward function gives each gradient as a global tensor of any split; the engine fits it to
 * its operand: sums over the axes the operand was broadcast along, resplits, converts. A kernel
 * that computes this rank's *partial sum* for a replicated operand calls ht__sum_partial itself. */

ht_tensor *ht__grad_fit(ht_tensor *grad, const ht_body *operand);

/* partial: process-local sums of each rank of `of`'s communicator when `of` is split. Returns their
 * sum over the ranks as a tensor of that communicator, or partial itself if there is nothing to
 * sum. Parts are float32 or wider: of 16 bits they would lose digits. */
ht_tensor *ht__sum_partial(const char *what, ht_tensor *partial, const ht_body *of);

/* The dtype in which parts of a sum of products are kept. */
static inline ht_dtype ht__product_dtype(ht_dtype dtype)
{
    return ht_dtype_is_floating(dtype) && ht_dtype_size(dtype) < sizeof(float) ? HT_FLOAT32 : dtype;
}

/* For a node's backward that still has much to compute: the gradient of a leaf in grad_inputs is
 * delivered now, if all hooks of the leaf are early ones. It is NULL there afterwards. */
void ht__backward_early(ht_node *node, int index, ht_tensor *gin[]);

/* For a node's backward that makes a large gradient piece by piece: its first n elements are there.
 * Waiting code may take them if nothing else will be added and `grad` is the leaf's own.
 */
void ht__backward_filling(ht_node *node, int index, const ht_tensor *grad, int64_t n);

/* For a node's backward: retains an object until the pass ends, because later nodes need it. */
void ht__backward_keep(void *object);

/* Every leaf that requires a gradient and `root` depends on, maybe more than once. Walks of the
 * same number visit a node once in all; on one thread. */
typedef void ht_leaf_visit_fn(const ht_grad_meta *leaf, void *user);
uint64_t ht__graph_new_walk(void); /* larger than any before */
void ht__graph_walk(ht_tensor *root, uint64_t walk, ht_leaf_visit_fn *visit, void *user);

/* Every node that `root` depends on, by its number in the order of creation, until one is answered
 * with false. last_number: of all nodes so far. */
typedef bool ht_node_visit_fn(uint64_t number, void *user);
void ht__graph_walk_nodes(ht_tensor *root, ht_node_visit_fn *visit, void *user);

/* The graph of `root` in the language DOT. names: NULL, or a map from names to leaves. */
void ht__graph_write_dot(ht_tensor *root, const ht_value *names, FILE *file);

void ht__autograd_start(void);

/* An observer of the backward passes of this thread; observers are called in the order in which
 * they came: data parallelism, a profiler. The struct is the observer's, and stays where it is
 * until it leaves; any call may be NULL. */
typedef struct ht_backward_observer {
    /* Asked as a pass begins: what to multiply its seed by (weighted averaging). At 0 the pass does
     * nothing, so that no 0 x NaN can arise; negative: an error was recorded, and there is none. */
    double (*begins)(ht_tensor *root, void *user);
    void (*progress)(void *user); /* between the nodes, and where one has waited */
    /* A pass fails in the middle, or cannot begin. root: its loss; NULL: an error took it, or it
     * has no graph. The engine reports to the ranks that wait in the graph of a loss. */
    void (*failed)(bool begun, ht_tensor *root, void *user);
    void *user;
    struct ht_backward_observer *next; /* the list's */
} ht_backward_observer;
void ht__backward_observe(ht_backward_observer *observer); /* again: nothing changes */
void ht__backward_leave(ht_backward_observer *observer);   /* who is not there: nothing */

/* ht_backward; errors of the loss name the public function `what`. */
ht_status ht__backward(const char *what, ht_tensor *loss);

/* Calls from the engine to observers; begins: the product; failed: whether anyone heard it. */
double ht__backward_begins(ht_tensor *root);
void ht__backward_progress(void);
bool ht__backward_failed(bool begun, ht_tensor *root);

bool ht__backward_running(void); /* on this thread */

/* The backward of the node that runs comes to its exchange with other ranks (ht__node_waits). */
void ht__backward_meets(void);

/* Whether the graph of root has a node or a second run that waits for other ranks. */
bool ht__graph_may_wait(ht_tensor *root);

/* For a pass that cannot begin: reports to the ranks that wait in one through the graph of `root`.
 * Without a loss it does so through the nodes for which `among` is true, in graphs that this thread
 * recorded. NULL: any may be. The ranks of a communicator get the report once in a pass, even if
 * several calls name its nodes: once for one error that the program has not cleared since. */
void ht__abandon_graph(ht_tensor *root);
void ht__abandon_nodes(ht_node_visit_fn *among, void *user);

#endif

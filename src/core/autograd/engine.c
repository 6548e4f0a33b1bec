/* SPDX-License-Identifier: MIT
 *
 * The backward pass: nodes in reverse order of creation, from a queue of those that have a
 * gradient. A node's users were made after it, so all of its gradient has arrived when its turn
 * comes. */
#include "core/autograd/autograd.h"
#include "core/autograd/engine.h"
#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/manipulations.h"
#include "core/tensor/node.h"
#include "core/timeline/timeline.h"

static _Thread_local int running; /* passes inside each other */

/* The node whose backward runs. */
typedef struct present {
    ht_node_queue *queue;
    ht_node *node;
    bool early; /* it may deliver before its end */
} present;
static _Thread_local present now;

bool ht__backward_running(void)
{
    return running > 0;
}

static ht_status reach_node(ht_node_queue *queue, ht_node *node, ht_tensor *grad)
{
    ht_tensor *sum = grad;

    if (node->pending == NULL)
        ht__queue_push(queue, node);
    else
        sum = ht_add(node->pending, grad);
    if (sum == NULL)
        return ht_error_get(NULL);
    ht_retain(sum);
    ht_release(node->pending);
    node->pending = sum;
    return HT_SUCCESS;
}

/* One tensor given to several inputs (y = a + b) must not become the gradient of one of them. */
static bool is_shared(const ht_node *node, ht_tensor *const grads[], int index)
{
    for (int i = 0; i < node->input_count; i++) {
        if (i != index && grads[i] == grads[index])
            return true;
    }
    return false;
}

static ht_status deliver_one(ht_node_queue *queue, ht_node *node, int index, ht_tensor *grad,
                             bool shared)
{
    ht_edge *edge = &node->inputs[index];

    if (grad == NULL || !ht_node_needs(node, index))
        return HT_SUCCESS;
    grad = ht__grad_fit(grad, edge->shape);
    if (grad == NULL)
        return ht_error_get(NULL);
    return edge->leaf != NULL ? ht__leaf_reach(queue, edge->leaf, grad, shared)
                              : reach_node(queue, edge->node, grad);
}

static ht_status deliver(ht_node_queue *queue, ht_node *node, ht_tensor *grads[])
{
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < node->input_count && status == HT_SUCCESS; i++)
        status = deliver_one(queue, node, i, grads[i], is_shared(node, grads, i));
    return status;
}

/* Some code waits for this gradient, and no waiter changes the leaf. */
static bool is_awaited(const ht_grad_meta *leaf)
{
    if (leaf == NULL || leaf->hook_count == 0)
        return false;
    for (int i = 0; i < leaf->hook_count; i++) {
        if (!leaf->hooks[i].early)
            return false;
    }
    return true;
}

void ht__backward_early(ht_node *node, int index, ht_tensor *gin[])
{
    if (!now.early || now.node != node || index >= node->input_count || gin[index] == NULL ||
        !is_awaited(node->inputs[index].leaf))
        return;
    if (deliver_one(now.queue, node, index, gin[index], false) == HT_SUCCESS)
        ht__leaf_leave(node, index);
    gin[index] = NULL;
    ht__backward_progress();
}

void ht__backward_filling(ht_node *node, int index, const ht_tensor *grad, int64_t n)
{
    const ht_grad_meta *leaf = node->inputs[index].leaf;

    if (!now.early || now.node != node || !is_awaited(leaf) || leaf->leaf == NULL ||
        leaf->grad != grad || atomic_load_explicit(&leaf->uses, memory_order_relaxed) != 1)
        return;
    for (int i = 0; i < leaf->hook_count; i++) {
        if (leaf->hooks[i].filling != NULL)
            leaf->hooks[i].filling(leaf->leaf, n, leaf->hooks[i].user);
    }
    ht__backward_progress();
}

void ht__backward_keep(void *object)
{
    ht__queue_keep(now.queue, object);
}

void ht__backward_meets(void)
{
    if (now.node != NULL)
        now.queue->met = now.node->sequence;
}

/* The gradient that has arrived, or what hooks made of it; NULL after an error. */
static ht_tensor *take_gradient(ht_node *node)
{
    ht_tensor *grad = ht__hooks_run(node->watch, node->sequence, ht_scope_adopt(node->pending));

    node->pending = NULL;
    if (grad == NULL || !node->released)
        return grad;
    HT_FAIL(grad->body->comm, HT_ERR_STATE,
            "ht_backward: the graph of %s was released by an earlier backward pass "
            "(ht_backward_ext can keep it)",
            node->name);
    return NULL;
}

static void run_backward(ht_node_queue *queue, ht_node *node, ht_tensor *grad, ht_tensor *grads[],
                         bool early)
{
    const present outer = now;
    ht_told *const outer_told = ht__told_now;
    ht_comm *alone = ht__together(grad->body->comm);

    now = (present){.queue = queue, .node = node, .early = early};
    ht__told_now = &queue->told;
    ht__watch_at(node->name);
    node->backward(node, grad, grads);
    ht__told_now = outer_told;
    now = outer;
    ht__together_end(alone);
}

/* Makes the gradients of the inputs, and gives them to those. */
static ht_status differentiate(ht_node_queue *queue, ht_node *node, ht_tensor *grad, bool keep)
{
    ht_tensor *inline_grads[HT_NODE_INLINE] = {0}, **grads = inline_grads;
    ht_status status;

    if (node->input_count > HT_NODE_INLINE)
        grads = ht__alloc((size_t)node->input_count * sizeof *grads);
    run_backward(queue, node, grad, grads, !keep && !ht__anomaly_on);
    status = ht_error_get(NULL);
    if (status == HT_SUCCESS && ht__anomaly_on)
        status = ht__anomaly_check(node, grads);
    if (status == HT_SUCCESS)
        status = deliver(queue, node, grads);
    if (grads != inline_grads)
        ht__free(grads);
    return status;
}

static ht_status run_node(ht_node_queue *queue, ht_node *node, bool keep)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *grad = take_gradient(node);
    ht_status status = grad != NULL ? differentiate(queue, node, grad, keep) : ht_error_get(NULL);

    if (!keep && status == HT_SUCCESS) {
        ht__leaves_leave(node);
        status = ht_error_get(NULL); /* of a hook */
    }
    if (status != HT_SUCCESS)
        ht__abandon(queue, node);
    if (!keep)
        ht__node_empty(node);
    ht_scope_close(scope);
    return status;
}

/* Named after the layer whose forward made the node, if there is one. */
static int begin_span(const ht_node *node)
{
    if (node->layer == NULL)
        return ht__span_begin(HT_SPAN_BACKWARD, node->name, NULL);
    return ht__span_begin(HT_SPAN_BACKWARD, node->layer, node->name);
}

/* status: of the way to the first node. */
static ht_status run_all(ht_node_queue *queue, bool keep, ht_status status)
{
    while (queue->count > 0) {
        ht_node *node = ht__queue_pop(queue);

        int span = begin_span(node);

        if (status == HT_SUCCESS)
            status = run_node(queue, node, keep);
        else
            ht__abandon(queue, node);
        ht__span_end(span);
        ht_release(node->pending); /* after a failure: gradients that no code will use */
        node->pending = NULL;
        ht_release(node);
        ht__backward_progress();
        if (status == HT_SUCCESS)
            status = ht_error_get(NULL); /* of a hook in there */
    }
    ht__queue_free(queue);
    ht__leaves_finish(queue, status);
    return status != HT_SUCCESS ? status : ht_error_get(NULL);
}

static ht_tensor *seed(ht_tensor *x, ht_tensor *grad, double scale)
{
    if (grad == NULL)
        return ht_full_like(x, scale);
    grad = ht__grad_fit_given("ht_backward_ext", "grad", grad, x->body);
    return grad == NULL || scale == 1 ? grad : ht_mul_scalar(grad, scale);
}

/* A root whose seed is NULL after an error is not differentiated, but it is where the others begin.
 */
static ht_status reach_root(ht_node_queue *queue, ht_tensor *x, ht_tensor *grad)
{
    if (grad == NULL) {
        if (x->node != NULL)
            ht__queue_push(queue, x->node);
        return ht_error_get(NULL);
    }
    return x->node != NULL ? reach_node(queue, x->node, grad)
                           : ht__leaf_reach(queue, x->meta, grad, true);
}

static ht_status run_pass(ht_tensor *x, ht_tensor *grad, bool keep)
{
    ht_node_queue queue = {0};
    ht_scope *scope;
    ht_status status;
    double scale;
    bool was;

    scale = ht__backward_begins(x);
    if (scale < 0)
        ht__abandon_graph(x);
    if (scale <= 0)
        return scale < 0 ? ht_error_get(NULL) : HT_SUCCESS;

    int span = ht__span_begin(HT_SPAN_BACKWARD, "ht_backward", NULL);

    scope = ht_scope_open();
    was = ht_set_grad_enabled(false);
    running++;
    status = reach_root(&queue, x, seed(x, grad, scale));
    status = run_all(&queue, keep, status);
    running--;
    if (status != HT_SUCCESS)
        ht__backward_failed(true, x);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    ht__span_end(span);
    return status;
}

/* An invalid loss, perhaps on this rank alone: ranks that wait for its gradients get the error.
 * Without a graph, x does not show which ranks these are. */
static ht_status no_loss(ht_tensor *x)
{
    ht_tensor *root = x != NULL && x->node != NULL ? x : NULL;
    const bool heard = ht__backward_failed(false, root);

    if (root != NULL)
        ht__abandon_graph(root);
    else if (!heard && running == 0)
        ht__abandon_nodes(NULL, NULL);
    return ht_error_get(NULL);
}

static ht_status backward(const char *what, ht_tensor *x, ht_tensor *grad, bool keep)
{
    ht_error_kept earlier;
    ht_status status;

    if (!ht__is_current(x) && !ht__catch_up(what, "x", x))
        return no_loss(x);
    if (!ht__needs_grad(x)) {
        HT_FAIL(x->body->comm, HT_ERR_STATE,
                "%s: the loss does not depend on a tensor that requires a gradient", what);
        return no_loss(x);
    }
    ht__error_set_aside(&earlier);
    status = run_pass(x, grad, keep);
    ht__error_put_back(&earlier);
    return status;
}

ht_status ht_backward_ext(ht_tensor *x, ht_tensor *grad, bool keep)
{
    return HT_IS_NULL(x, "ht_backward_ext", "x") ? no_loss(NULL)
                                                 : backward("ht_backward_ext", x, grad, keep);
}

ht_status ht__backward(const char *what, ht_tensor *loss)
{
    if (HT_IS_NULL(loss, what, "loss"))
        return no_loss(NULL);
    if (ht_tensor_size(loss) != 1) {
        HT_FAIL(loss->body->comm, HT_ERR_SHAPE,
                "%s: the loss has shape %s, expected one element (ht_backward_ext takes a seed "
                "gradient)",
                what, ht__shape_str(loss->body->ndim, loss->body->shape));
        return no_loss(loss);
    }
    if (ht_dtype_is_complex(loss->body->dtype)) {
        HT_FAIL(loss->body->comm, HT_ERR_DTYPE,
                "%s: the loss is %s, expected a real dtype (ht_backward_ext takes a seed "
                "gradient)",
                what, ht_dtype_name(loss->body->dtype));
        return no_loss(loss);
    }
    return backward(what, loss, NULL, false);
}

ht_status ht_backward(ht_tensor *loss)
{
    return ht__backward("ht_backward", loss);
}

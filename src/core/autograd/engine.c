/* SPDX-License-Identifier: MIT
 *
 * The backward pass: nodes in reverse order of creation, from a heap of those that have a gradient.
 * A node's users were made after it, so all of its gradient has arrived when its turn comes. */
#include "core/collective/collective.h"
#include "core/autograd/autograd.h"
#include "core/ops/ops.h"
#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/manipulations.h"
#include "core/tensor/node.h"
#include "core/timeline/timeline.h"

typedef struct node_queue {
    ht_node **nodes; /* a heap: the latest on top; owned references */
    size_t count, capacity;
    ht_grad_meta **leaves; /* those that got a gradient; owned references */
    size_t leaf_count, leaf_capacity;
    bool told;          /* the other ranks know of the failure, as far as they wait for this one */
    uint64_t abandoned; /* the last node that was, by its sequence */
} node_queue;

static _Thread_local int running; /* passes inside each other */

/* The node whose backward runs; what it may deliver before its end. */
typedef struct present {
    node_queue *queue;
    ht_node *node;
} present;
static _Thread_local present now;

bool ht__backward_running(void)
{
    return running > 0;
}

static void push(node_queue *queue, ht_node *node)
{
    size_t i = queue->count++;

    if (queue->count > queue->capacity) {
        queue->capacity = queue->capacity > 0 ? 2 * queue->capacity : 64;
        queue->nodes = ht__realloc(queue->nodes, queue->capacity * sizeof *queue->nodes);
    }
    for (; i > 0 && queue->nodes[(i - 1) / 2]->sequence < node->sequence; i = (i - 1) / 2)
        queue->nodes[i] = queue->nodes[(i - 1) / 2];
    queue->nodes[i] = ht_retain(node);
}

static ht_node *pop(node_queue *queue)
{
    ht_node *top = queue->nodes[0], *last = queue->nodes[--queue->count];
    size_t i = 0, child;

    while ((child = 2 * i + 1) < queue->count) {
        if (child + 1 < queue->count &&
            queue->nodes[child + 1]->sequence > queue->nodes[child]->sequence)
            child++;
        if (queue->nodes[child]->sequence < last->sequence)
            break;
        queue->nodes[i] = queue->nodes[child];
        i = child;
    }
    queue->nodes[i] = last;
    return top;
}

ht_tensor *ht__grad_fit(ht_tensor *grad, const ht_body *operand)
{
    if (grad != NULL)
        grad = ht__sum_to("ht_backward", grad, operand->ndim, operand->shape);
    if (grad == NULL)
        return NULL;
    if (!ht__body_same_shape(grad->body, operand)) {
        HT_FAIL(operand->comm, HT_ERR_SHAPE, "ht_backward: gradient is %s, its tensor %s",
                ht__shape_str(grad->body->ndim, grad->body->shape),
                ht__shape_str(operand->ndim, operand->shape));
        return NULL;
    }
    if (grad->body->split != operand->split || grad->body->bounds != operand->bounds)
        grad = ht__match_slabs("ht_backward", grad, operand);
    return ht_astype(grad, operand->dtype);
}

ht_tensor *ht__sum_partial(const char *what, ht_tensor *partial, const ht_body *of)
{
    ht_tensor *sum;

    if (partial == NULL || of->split == HT_NONE || of->comm->size == 1)
        return partial;
    if (ht__comm_sum(of->comm, partial, HT_SUM_ALL, 1, what) != HT_SUCCESS)
        return NULL;
    ht_body *body = ht__body_view(partial->body);
    ht_release(body->comm);
    body->comm = ht_retain(of->comm);
    sum = ht__tensor_view(body);
    return sum;
}

/* What the program gives for a gradient: a global tensor of any split, as what backward functions
 * give, but nothing is summed and no imaginary part dropped on the way. NULL after an error. */
static ht_tensor *fit_given(const char *name, ht_tensor *given, const ht_body *like)
{
    const ht_body *body = given->body;
    bool numbers = ht_dtype_is_floating(body->dtype) ||
                   (ht_dtype_is_complex(body->dtype) && ht_dtype_is_complex(like->dtype));

    if (numbers && ht__body_same_shape(body, like) && ht__comm_compatible(body->comm, like->comm) &&
        body->storage->device == like->storage->device)
        return ht__grad_fit(given, like);
    HT_FAIL(like->comm, HT_ERR_SHAPE, "ht_backward: %s is %s, expected one for %s", name,
            ht__body_str(body), ht__body_str(like));
    return NULL;
}

static ht_tensor *run_hooks(const ht_grad_meta *meta, uint64_t of, ht_tensor *grad)
{
    uint64_t last = ht__last_hook(meta);
    ht_hook hook = {0};

    while (hook.id < last && grad != NULL && ht__next_hook(meta, of, hook.id, last, &hook)) {
        ht_tensor *replaced = hook.gradient != NULL ? hook.gradient(grad, hook.user) : NULL;

        if (replaced != NULL)
            grad = fit_given("the gradient that a hook returned", replaced, grad->body);
    }
    return grad;
}

/* Whether a gradient may become the leaf's own: nobody else holds its handle or its memory. */
static bool may_take(const ht_tensor *grad, bool shared)
{
    return !shared && !grad->view && ht__object_count(grad) == 1 &&
           ht__object_count(grad->body) == 1 && ht__object_count(grad->body->storage) == 1 &&
           ht__body_is_contiguous(grad->body);
}

static ht_status accumulate(ht_grad_meta *leaf, ht_tensor *grad, bool shared)
{
    ht_status status = HT_SUCCESS;

    if (leaf->grad == grad) { /* written in place through ht__grad_target */
        leaf->overwrite = false;
    } else if (leaf->grad == NULL) {
        leaf->grad = ht_retain(may_take(grad, shared) ? grad : ht_copy(grad));
        leaf->overwrite = false;
    } else if (leaf->overwrite) {
        status = ht_copy_(leaf->grad, grad);
        leaf->overwrite = false;
    } else {
        status = ht_add_(leaf->grad, grad, 1);
    }
    return status;
}

static void remember_leaf(node_queue *queue, ht_grad_meta *leaf)
{
    if (leaf->arrived)
        return;
    leaf->arrived = true;
    if (queue->leaf_count == queue->leaf_capacity) {
        queue->leaf_capacity = queue->leaf_capacity > 0 ? 2 * queue->leaf_capacity : 64;
        queue->leaves = ht__realloc(queue->leaves, queue->leaf_capacity * sizeof *queue->leaves);
    }
    queue->leaves[queue->leaf_count++] = ht_retain(leaf);
}

static void run_ready_hooks(ht_grad_meta *leaf)
{
    uint64_t last = ht__last_hook(leaf);
    ht_hook hook = {0};

    leaf->arrived = false;
    while (leaf->leaf != NULL && hook.id < last && ht__next_hook(leaf, 0, hook.id, last, &hook)) {
        if (hook.ready != NULL)
            hook.ready(leaf->leaf, hook.user);
    }
}

static ht_status refuse_gradient(const ht_body *grad, const ht_body *leaf)
{
    return HT_FAIL(leaf->comm, HT_ERR_STATE,
                   "ht_backward: a gradient is %s, its tensor %s: it was given another body since "
                   "the graph was recorded",
                   ht__body_str(grad), ht__body_str(leaf));
}

static ht_status reach_leaf(node_queue *queue, ht_grad_meta *leaf, ht_tensor *grad, bool shared)
{
    if (!leaf->requires_grad)
        return HT_SUCCESS;
    ht__grad_await(leaf); /* a deferred update may still need the gradient that is there */
    if (leaf->leaf != NULL && !ht__body_fits(grad->body, leaf->leaf->body))
        return refuse_gradient(grad->body, leaf->leaf->body);
    grad = run_hooks(leaf, 0, grad);
    if (grad == NULL || accumulate(leaf, grad, shared) != HT_SUCCESS)
        return ht_error_get(NULL);
    remember_leaf(queue, leaf);
    return HT_SUCCESS;
}

static void leave_leaf(ht_node *node, int index)
{
    ht_grad_meta *leaf = node->inputs[index].leaf;

    if (leaf == NULL)
        return;
    node->inputs[index].leaf = NULL;
    if (atomic_fetch_sub_explicit(&leaf->uses, 1, memory_order_relaxed) == 1 && leaf->arrived)
        run_ready_hooks(leaf);
    ht_release(leaf);
}

/* A node has been differentiated and is given up: leaves that no graph uses any more are ready. */
static void leave_leaves(ht_node *node)
{
    for (int i = 0; i < node->input_count; i++)
        leave_leaf(node, i);
}

/* At the end of a pass the others are ready too: what else uses them is not part of it. */
static void finish_leaves(node_queue *queue, ht_status status)
{
    for (size_t i = 0; i < queue->leaf_count; i++) {
        if (queue->leaves[i]->arrived && status == HT_SUCCESS)
            run_ready_hooks(queue->leaves[i]);
        queue->leaves[i]->arrived = false;
        ht_release(queue->leaves[i]);
    }
    ht__free(queue->leaves);
}

static ht_status reach_node(node_queue *queue, ht_node *node, ht_tensor *grad)
{
    ht_tensor *sum = grad;

    if (node->pending == NULL)
        push(queue, node);
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

static ht_status deliver_one(node_queue *queue, ht_node *node, int index, ht_tensor *grad,
                             bool shared)
{
    ht_edge *edge = &node->inputs[index];

    if (grad == NULL || !ht_node_needs(node, index))
        return HT_SUCCESS;
    grad = ht__grad_fit(grad, edge->shape);
    if (grad == NULL)
        return ht_error_get(NULL);
    return edge->leaf != NULL ? reach_leaf(queue, edge->leaf, grad, shared)
                              : reach_node(queue, edge->node, grad);
}

static ht_status deliver(node_queue *queue, ht_node *node, ht_tensor *grads[])
{
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < node->input_count && status == HT_SUCCESS; i++)
        status = deliver_one(queue, node, i, grads[i], is_shared(node, grads, i));
    return status;
}

/* Somebody waits for this gradient, and nobody changes the leaf on hearing of it. */
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

void ht__backward_early(ht_node *node, int index, ht_tensor *grad_inputs[])
{
    if (now.node != node || index >= node->input_count || grad_inputs[index] == NULL ||
        !is_awaited(node->inputs[index].leaf))
        return;
    if (deliver_one(now.queue, node, index, grad_inputs[index], false) == HT_SUCCESS)
        leave_leaf(node, index);
    grad_inputs[index] = NULL;
    ht__backward_progress();
}

void ht__backward_filling(ht_node *node, int index, const ht_tensor *grad, int64_t n)
{
    const ht_grad_meta *leaf = node->inputs[index].leaf;

    if (now.node != node || !is_awaited(leaf) || leaf->leaf == NULL || leaf->grad != grad ||
        atomic_load_explicit(&leaf->uses, memory_order_relaxed) != 1)
        return;
    for (int i = 0; i < leaf->hook_count; i++) {
        if (leaf->hooks[i].filling != NULL)
            leaf->hooks[i].filling(leaf->leaf, n, leaf->hooks[i].user);
    }
    ht__backward_progress();
}

void ht__backward_told(void)
{
    if (now.queue != NULL)
        now.queue->told = true;
}

/* After a failure: what this node would have reached is to be abandoned, too. */
static void abandon_inputs(node_queue *queue, ht_node *node)
{
    for (int i = 0; i < node->input_count && !queue->told; i++) {
        if (node->inputs[i].node != NULL)
            push(queue, node->inputs[i].node);
    }
}

static void abandon(node_queue *queue, ht_node *node)
{
    if (queue->told || node->sequence == queue->abandoned)
        return;
    queue->abandoned = node->sequence;
    if (node->collective == NULL) {
        abandon_inputs(queue, node);
        return;
    }
    queue->told = true;
    ht__node_abandon(node);
}

static ht_status run_node(node_queue *queue, ht_node *node, bool keep)
{
    ht_tensor *inline_grads[HT_NODE_INLINE] = {0}, **grads = inline_grads, *grad;
    ht_scope *scope = ht_scope_open();
    ht_status status = HT_SUCCESS;

    grad = run_hooks(node->watch, node->sequence, ht_scope_adopt(node->pending));
    node->pending = NULL;
    if (grad == NULL)
        status = ht_error_get(NULL);
    else if (node->released)
        status = HT_FAIL(grad->body->comm, HT_ERR_STATE,
                         "ht_backward: the graph of %s was released by an earlier backward pass "
                         "(ht_backward_ext keeps it when asked)",
                         node->name);
    if (status == HT_SUCCESS) {
        if (node->input_count > HT_NODE_INLINE)
            grads = ht__alloc((size_t)node->input_count * sizeof *grads);

        present outer = now;
        ht_comm *alone = ht__together(grad->body->comm);

        now = (present){.queue = queue, .node = keep ? NULL : node};
        ht__watch_at(node->name);
        node->backward(node, grad, grads);
        now = outer;
        ht__together_end(alone);
        status = ht_error_get(NULL);
    }
    if (status == HT_SUCCESS)
        status = deliver(queue, node, grads);
    if (grads != inline_grads)
        ht__free(grads);
    if (!keep && status == HT_SUCCESS) {
        leave_leaves(node);
        status = ht_error_get(NULL); /* of a hook */
    }
    if (status != HT_SUCCESS)
        abandon_inputs(queue, node);
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

static ht_status run_all(node_queue *queue, bool keep)
{
    ht_status status = HT_SUCCESS;

    while (queue->count > 0) {
        ht_node *node = pop(queue);

        int span = begin_span(node);

        if (status == HT_SUCCESS)
            status = run_node(queue, node, keep);
        else
            abandon(queue, node);
        ht__span_end(span);
        ht_release(node->pending); /* after a failure: what nobody will use */
        node->pending = NULL;
        ht_release(node);
        ht__backward_progress();
        if (status == HT_SUCCESS)
            status = ht_error_get(NULL); /* of a hook in there */
    }
    ht__free(queue->nodes);
    finish_leaves(queue, status);
    return status != HT_SUCCESS ? status : ht_error_get(NULL);
}

static ht_tensor *seed(ht_tensor *x, ht_tensor *grad, double scale)
{
    if (grad == NULL)
        return ht_full_like(x, scale);
    grad = fit_given("the seed", grad, x->body);
    return grad == NULL || scale == 1 ? grad : ht_mul_scalar(grad, scale);
}

static ht_status run_pass(ht_tensor *x, ht_tensor *grad, bool keep)
{
    node_queue queue = {0};
    ht_scope *scope;
    ht_status status;
    double scale;
    bool was;

    scale = ht__backward_begins(x);
    if (scale <= 0)
        return scale < 0 ? ht_error_get(NULL) : HT_SUCCESS;

    int span = ht__span_begin(HT_SPAN_BACKWARD, "ht_backward", NULL);

    scope = ht_scope_open();
    was = ht_set_grad_enabled(false);
    running++;
    grad = seed(x, grad, scale);
    if (grad == NULL)
        status = ht_error_get(NULL);
    else
        status = x->node != NULL ? reach_node(&queue, x->node, grad)
                                 : reach_leaf(&queue, x->meta, grad, true);
    if (status == HT_SUCCESS)
        status = run_all(&queue, keep);
    running--;
    if (status != HT_SUCCESS)
        ht__backward_failed(true);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    ht__span_end(span);
    return status;
}

/* A loss that is none, on this rank maybe alone: who waits for its gradients hears of the error. */
static ht_status no_loss(void)
{
    ht__backward_failed(false);
    return ht_error_get(NULL);
}

static ht_status backward(const char *what, ht_tensor *x, ht_tensor *grad, bool keep)
{
    ht_error_kept earlier;
    ht_status status;

    if (!ht__is_current(x) && !ht__catch_up(what, x))
        return no_loss();
    if (!ht__needs_grad(x)) {
        HT_FAIL(x->body->comm, HT_ERR_STATE,
                "%s: the loss depends on nothing that requires a gradient", what);
        return no_loss();
    }
    ht__error_set_aside(&earlier);
    status = run_pass(x, grad, keep);
    ht__error_put_back(&earlier);
    return status;
}

ht_status ht_backward_ext(ht_tensor *x, ht_tensor *grad, bool keep)
{
    return HT_IS_NULL(x, "ht_backward_ext", "x") ? no_loss()
                                                 : backward("ht_backward_ext", x, grad, keep);
}

ht_status ht_backward(ht_tensor *loss)
{
    if (HT_IS_NULL(loss, "ht_backward", "the loss"))
        return no_loss();
    if (ht_tensor_size(loss) != 1) {
        HT_FAIL(loss->body->comm, HT_ERR_SHAPE,
                "ht_backward: expected a loss of one element, got shape %s "
                "(ht_backward_ext takes a seed gradient)",
                ht__shape_str(loss->body->ndim, loss->body->shape));
        return no_loss();
    }
    if (ht_dtype_is_complex(loss->body->dtype)) {
        HT_FAIL(loss->body->comm, HT_ERR_DTYPE,
                "ht_backward: expected a real loss, got one of %s (ht_backward_ext takes a "
                "seed gradient)",
                ht_dtype_name(loss->body->dtype));
        return no_loss();
    }
    return backward("ht_backward", loss, NULL, false);
}

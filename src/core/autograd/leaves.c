/* SPDX-License-Identifier: MIT
 *
 * Leaves in a backward pass: their gradients arrive, are accumulated, and are ready. */
#include "core/autograd/engine.h"

#include "core/tensor/node.h"
#include "ht/arithmetics.h"
#include "ht/manipulations.h"

ht_tensor *ht__hooks_run(const ht_grad_meta *meta, uint64_t of, ht_tensor *grad)
{
    uint64_t last = ht__last_hook(meta);
    ht_hook hook = {0};

    while (hook.id < last && grad != NULL && ht__next_hook(meta, of, hook.id, last, &hook)) {
        ht_tensor *replaced = hook.gradient != NULL ? hook.gradient(grad, hook.user) : NULL;

        if (replaced != NULL)
            grad = ht__grad_fit_given("ht_backward", "the gradient that a hook returned", replaced,
                                      grad->body);
    }
    return grad;
}

/* Whether a gradient may become the leaf's own: there is no other reference to its handle or its
 * memory. */
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

static void remember_leaf(ht_node_queue *queue, ht_grad_meta *leaf)
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
                   "ht_backward: a gradient is %s, its tensor is %s: the tensor got another body "
                   "after the graph was recorded",
                   ht__body_str(grad), ht__body_str(leaf));
}

ht_status ht__leaf_reach(ht_node_queue *queue, ht_grad_meta *leaf, ht_tensor *grad, bool shared)
{
    ht_status status;

    if (!leaf->requires_grad)
        return HT_SUCCESS;
    status = ht__grad_await(leaf); /* a due update may still need the gradient there */
    if (status != HT_SUCCESS)
        return status;
    if (leaf->leaf != NULL && !ht__body_fits(grad->body, leaf->leaf->body))
        return refuse_gradient(grad->body, leaf->leaf->body);
    grad = ht__hooks_run(leaf, 0, grad);
    if (grad == NULL || accumulate(leaf, grad, shared) != HT_SUCCESS)
        return ht_error_get(NULL);
    remember_leaf(queue, leaf);
    return HT_SUCCESS;
}

void ht__leaf_leave(ht_node *node, int index)
{
    ht_grad_meta *leaf = node->inputs[index].leaf;

    if (leaf == NULL)
        return;
    node->inputs[index].leaf = NULL;
    if (atomic_fetch_sub_explicit(&leaf->uses, 1, memory_order_relaxed) == 1 && leaf->arrived)
        run_ready_hooks(leaf);
    ht_release(leaf);
}

void ht__leaves_leave(ht_node *node)
{
    for (int i = 0; i < node->input_count; i++)
        ht__leaf_leave(node, i);
}

void ht__leaves_finish(ht_node_queue *queue, ht_status status)
{
    for (size_t i = 0; i < queue->leaf_count; i++) {
        if (queue->leaves[i]->arrived && status == HT_SUCCESS)
            run_ready_hooks(queue->leaves[i]);
        queue->leaves[i]->arrived = false;
        ht_release(queue->leaves[i]);
    }
    ht__free(queue->leaves);
}

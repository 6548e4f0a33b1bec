/* SPDX-License-Identifier: MIT
 *
 * Nodes of the graph. They save bodies, never tensors that own nodes, so that cycles cannot arise.
 * Chains of nodes are released one after another, not recursively. */
#include "core/tensor/node.h"
#include "core/timeline/timeline.h"

#include <string.h>

static atomic_ullong next_sequence;
static _Thread_local ht_node *dying; /* linked through their sequence; see destroy */
static _Thread_local bool releasing;

static void drop_saved(ht_node *node)
{
    for (int i = 0; i < node->saved_count; i++)
        ht_release(node->saved[i].body);
    if (node->saved != node->inline_saved)
        ht__free(node->saved);
    node->saved = node->inline_saved;
    node->saved_count = 0;
}

static void drop_kept(ht_node *node)
{
    ht_release(node->kept);
    node->kept = NULL;
}

static void drop_inputs(ht_node *node)
{
    for (int i = 0; i < node->input_count; i++) {
        ht_release(node->inputs[i].node);
        if (node->inputs[i].leaf != NULL)
            atomic_fetch_sub_explicit(&node->inputs[i].leaf->uses, 1, memory_order_relaxed);
        ht_release(node->inputs[i].leaf);
        ht_release(node->inputs[i].shape);
    }
    if (node->inputs != node->inline_inputs)
        ht__free(node->inputs);
    node->inputs = node->inline_inputs;
    node->input_count = 0;
}

void ht__node_empty(ht_node *node)
{
    ht__node_leave(node);
    drop_saved(node);
    drop_kept(node);
    drop_inputs(node);
    node->released = true;
}

static void free_node(ht_node *node)
{
    ht__node_leave(node);
    if (node->segment != NULL) /* before it changes: another thread may look at it there */
        ht__segment_forget(node);
    drop_saved(node);
    drop_kept(node);
    drop_inputs(node);
    ht_release(node->pending);
    ht_release(node->watch);
    ht__origin_leave(node->origin);
    ht__block_free(node->context, node->context_bytes);
    ht__object_fini(node);
    ht__block_free(node, sizeof *node);
}

/* A node's last release releases its inputs' nodes: those queue up here instead of recursing. */
static void destroy(void *object)
{
    ht_node *node = object;

    if (releasing) {
        node->sequence = (uint64_t)(uintptr_t)dying;
        dying = node;
        return;
    }
    releasing = true;
    while (node != NULL) {
        free_node(node);
        node = dying;
        if (dying != NULL)
            dying = (ht_node *)(uintptr_t)dying->sequence;
    }
    releasing = false;
}

static ht_kind kind = {.name = "node", .destroy = destroy, .listed_uncounted = true};

static void set_edge(ht_edge *edge, ht_tensor *input)
{
    if (input == NULL)
        return;
    edge->shape = ht__body_metadata(input->body);
    if (input->node != NULL)
        edge->node = ht_retain(input->node);
    else if (input->meta != NULL && input->meta->requires_grad)
        edge->leaf = ht_retain(input->meta);
    if (edge->leaf != NULL)
        atomic_fetch_add_explicit(&edge->leaf->uses, 1, memory_order_relaxed);
}

uint64_t ht__node_last_number(void)
{
    return atomic_load_explicit(&next_sequence, memory_order_relaxed);
}

ht_node *ht__node_make(const char *name, ht_backward_fn *backward, int count,
                       ht_tensor *const inputs[], bool stale)
{
    ht_node *node = ht__block_alloc(sizeof *node);

    ht__object_init(node, &kind);
    node->sequence = atomic_fetch_add_explicit(&next_sequence, 1, memory_order_relaxed) + 1;
    node->name = name;
    node->layer = ht__timeline_is_on() ? ht__timeline_layer() : ht__layer;
    node->backward = backward;
    node->saved = node->inline_saved;
    node->inputs = node->inline_inputs;
    if (count > HT_NODE_INLINE)
        node->inputs = ht__alloc((size_t)count * sizeof *node->inputs);
    node->input_count = count;
    node->stale = stale;
    node->origin = ht_retain(ht__origin_now);
    for (int i = 0; i < count && !stale; i++)
        set_edge(&node->inputs[i], inputs[i]);
    if (ht__segment_now != NULL)
        ht__segment_take(node);
    return node;
}

void ht_node_save(ht_node *node, ht_tensor *x)
{
    ht_saved *saved;

    if (node == NULL)
        return;
    if (node->twin != NULL) {
        ht__segment_save(node->twin, x);
        return;
    }
    if (node->saved_count == HT_NODE_INLINE) {
        saved = ht__alloc(2 * HT_NODE_INLINE * sizeof *saved);
        node->saved = memcpy(saved, node->inline_saved, sizeof node->inline_saved);
    } else if (node->saved_count > HT_NODE_INLINE && node->saved_count % HT_NODE_INLINE == 0) {
        node->saved = ht__realloc(node->saved,
                                  (size_t)(node->saved_count + HT_NODE_INLINE) * sizeof *saved);
    }
    saved = &node->saved[node->saved_count++];
    *saved = (ht_saved){0};
    if (x == NULL)
        return;
    if (node->segment != NULL) {
        saved->body = ht__body_metadata(x->body);
        return;
    }
    saved->body = ht_retain(x->body);
    saved->version = ht__body_version(x->body);
}

void ht__node_keep(ht_node *node, void *object)
{
    if (node == NULL)
        return;
    drop_kept(node);
    node->kept = ht_retain(object);
}

void *ht_node_context(ht_node *node, size_t bytes)
{
    if (node == NULL)
        return NULL;
    if (node->context == NULL && bytes > 0) {
        node->context = ht__block_alloc(bytes);
        node->context_bytes = bytes;
    }
    return node->context;
}

/* Integers have none, so the history of what becomes one ends there. */
static bool has_gradients(ht_dtype dtype)
{
    return ht_dtype_is_floating(dtype) || ht_dtype_is_complex(dtype);
}

ht_tensor *ht_node_set_output(ht_node *node, ht_tensor *y)
{
    if (node == NULL)
        return y;
    if (y == NULL || node->stale) {
        ht_release(node);
        return NULL;
    }
    ht_release(y->node);
    y->node = NULL;
    if (!has_gradients(y->body->dtype)) {
        ht_release(node);
        return y;
    }
    y->node = node;
    y->history = y->body->storage->history;
    return y;
}

void ht__node_watch(ht_node *node, ht_grad_meta *meta)
{
    if (node->watch == meta)
        return;
    ht_release(node->watch);
    node->watch = ht_retain(meta);
}

ht_tensor *ht_node_saved(ht_node *node, int index)
{
    ht_saved *saved;

    if (node == NULL || index < 0 || index >= node->saved_count ||
        (node->segment != NULL && !ht__segment_restore(node->segment)))
        return NULL;
    saved = &node->saved[index];
    if (saved->body == NULL)
        return NULL;
    if (ht__body_version(saved->body) != saved->version) {
        HT_FAIL(saved->body->comm, HT_ERR_STATE,
                "ht_backward: a tensor of shape %s that %s saved has been changed in place since",
                ht__shape_str(saved->body->ndim, saved->body->shape), node->name);
        return NULL;
    }
    return ht__tensor_view(ht_retain(saved->body));
}

bool ht_node_needs(const ht_node *node, int index)
{
    return node != NULL && index >= 0 && index < node->input_count &&
           (node->inputs[index].node != NULL || node->inputs[index].leaf != NULL);
}

const ht_body *ht__node_input(const ht_node *node, int index)
{
    return node->inputs[index].shape;
}

ht_tensor *ht__grad_target(ht_node *node, int index)
{
    ht_grad_meta *leaf = node->inputs[index].leaf;
    const ht_body *shape = node->inputs[index].shape;

    if (leaf == NULL || !leaf->overwrite || leaf->grad == NULL || shape->split != HT_NONE)
        return NULL;
    if (ht__grad_await(leaf) != HT_SUCCESS) /* the base may be on its way to an update */
        return NULL;
    for (int i = 0; i < leaf->hook_count; i++) {
        if (leaf->hooks[i].gradient != NULL)
            return NULL;
    }
    if (!ht__body_fits(leaf->grad->body, shape) || !ht__body_is_contiguous(leaf->grad->body))
        return NULL;
    return leaf->grad;
}

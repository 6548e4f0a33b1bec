/* SPDX-License-Identifier: MIT
 *
 * Writes in place and the graph. They work like PyTorch's. Views share memory, so a write through
 * one changes its base and the other views. A storage counts the writes that change a history; a
 * handle with an older number is outdated.
 * - A view that was made while recording knows its base, the tensor that it is a view of in the
 *   end. After a write through it the base is the result of two operands: the old base, outside of
 *   the view, and the written values.
 * - An outdated view becomes a view of the current base when it is used next.
 * - Views that were cut off (ht_detach, or made with gradients off) do not have a base: tensors
 *   that need a gradient cannot be written through them. */
#include "core/tensor/node.h"

ht_view_backward ht__view_backward;

/* The tensor that x's memory belongs to in the graph: its base, unless that got another body. */
static ht_tensor *root_of(ht_tensor *x)
{
    bool shares = x->root != NULL && x->root->body->storage == x->body->storage;

    return shares ? x->root : x;
}

void ht__set_base(ht_tensor *y, ht_tensor *x)
{
    if (y == NULL || y == x || y->root != NULL)
        return;
    y->view = y->body->storage == x->body->storage; /* or it became a copy */
    if (y->view && ht_is_grad_enabled())
        y->root = ht_retain(root_of(x));
}

ht_tensor *ht__without_base(ht_tensor *y)
{
    if (y == NULL)
        return NULL;
    y->view = false;
    ht_release(y->root);
    y->root = NULL;
    return y;
}

/* Integers have none. */
static bool may_have_history(const ht_tensor *x)
{
    return ht_dtype_is_floating(x->body->dtype) || ht_dtype_is_complex(x->body->dtype);
}

static void give_history(ht_tensor *x, ht_node *node)
{
    ht_release(x->node);
    x->node = may_have_history(x) ? node : NULL;
    if (x->node != node)
        ht_release(node);
}

static bool is_tracked(const ht_tensor *x)
{
    return x->node != NULL || (x->meta != NULL && x->meta->requires_grad);
}

/* The node of a view and its base, which are current: as ht_node_new makes it. */
static ht_node *view_node(const char *name, ht_backward_fn *backward, ht_tensor *base, ht_tensor *x)
{
    if (!ht_is_grad_enabled() || (!is_tracked(base) && !is_tracked(x)))
        return NULL;
    return ht__node_make(name, backward, HT_LIST(ht_tensor *, base, x), false);
}

/* In no segment: in its second run the view is up to date already, and makes no node. */
static ht_node *node_of_now(ht_tensor *base, ht_tensor *x)
{
    ht_segment_run *run = ht__segment_now;
    ht_node *node;

    ht__segment_now = NULL;
    node = view_node("view", ht__view_backward.view, base, x);
    ht__segment_now = run;
    return node;
}

/* Cut off from the graph: values without a history. */
static bool is_cut_off(const ht_tensor *x)
{
    return x->view && x->node == NULL && root_of((ht_tensor *)x) == x;
}

bool ht__catch_up(const char *what, const char *name, ht_tensor *x)
{
    ht_tensor *base = root_of(x);
    unsigned now = x->body->storage->history;

    if (is_cut_off(base))
        base->history = now;
    if (base == x && base->history == now)
        return true;
    if (base == x || base->history != now) {
        HT_FAIL(x->body->comm, HT_ERR_STATE,
                "%s: %s%s%s was written to through another tensor that shares its memory; make it "
                "again",
                what, name, x->node != NULL ? ", made by " : "",
                x->node != NULL ? x->node->name : "");
        return false;
    }
    x->history = now;
    give_history(x, NULL);
    give_history(x, node_of_now(base, x));
    return true;
}

bool ht__needs_grad(const ht_tensor *x)
{
    if (!ht__is_current(x) && ht_is_grad_enabled())
        ht__catch_up("ht_tensor_requires_grad", "x",
                     (ht_tensor *)x); /* or what uses x says so again */
    return is_tracked(x);
}

static ht_status refuse(const char *what, const char *name, const ht_tensor *x, const char *why)
{
    return HT_FAIL(x->body->comm, HT_ERR_STATE, "%s: %s is %s", what, name, why);
}

bool ht__may_overwrite(const ht_tensor *grad)
{
    /* The engine's scope has one reference to the handle, the handle the only one to the rest. */
    return !grad->view && grad->meta == NULL && ht__object_count(grad) == 1 &&
           ht__object_count(grad->body) == 1 && ht__object_count(grad->body->storage) == 1 &&
           !grad->body->read_only;
}

ht_status ht__check_in_place(const char *what, const char *name, ht_tensor *x,
                             const ht_tensor *values)
{
    ht_tensor *root = root_of(x);
    bool tracked;

    if (x->body->read_only)
        return HT_FAIL(x->body->comm, HT_ERR_STATE,
                       "%s: %s is %s, expected a tensor that can be written", what, name,
                       ht__read_only_name(x->body));
    if (ht__compare_on)
        ht__compare_tensor(x->body, true);
    if (!ht_is_grad_enabled())
        return HT_SUCCESS;
    if (!ht__is_current(x) && !ht__catch_up(what, name, x))
        return HT_ERR_STATE;
    if (root->node == NULL && ht__needs_grad(root))
        return refuse(what, name, x,
                      root == x ? "a leaf that requires gradients: write to it with gradients off "
                                  "(ht_set_grad_enabled)"
                                : "a view of a leaf that requires gradients: write to it with "
                                  "gradients off (ht_set_grad_enabled)");
    tracked = root->node != NULL ||
              (values != NULL && ht__needs_grad(values) && may_have_history(x));
    if (root->view && tracked)
        return refuse(what, name, x,
                      "a view without history (ht_detach, or made with gradients off): its "
                      "tensor would miss the gradient of the written values");
    return HT_SUCCESS;
}

bool ht__has_history(const ht_tensor *x)
{
    const ht_node *node = root_of((ht_tensor *)x)->node;

    return node != NULL && !node->released;
}

void ht__written(const char *what, ht_tensor *x, ht_node *node)
{
    ht_tensor *root = root_of(x);

    if (!may_have_history(x)) {
        ht_release(node);
        return;
    }
    if (!ht_is_grad_enabled() || (node == NULL && x->node == NULL && root->node == NULL)) {
        ht_release(node);
        return;
    }
    x->history = root->history = ++x->body->storage->history;
    give_history(x, node);
    if (root != x)
        give_history(root, view_node(what, ht__view_backward.write, root, x));
}

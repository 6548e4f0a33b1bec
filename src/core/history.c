/* SPDX-License-Identifier: MIT
 *
 * Writes in place and the graph, as in PyTorch. Views share memory, so a write through one changes
 * what its base and the other views are. A storage counts the writes that change somebody's
 * history; a handle whose own number is older than that is behind.
 * - A view that was made while recording knows its base, the tensor that it is a view of in the
 * end. A write through it makes the base the result of two things: of what the base was, outside of
 * the view, and of what was written.
 * - A view that is behind becomes a view of what its base is now, when it is next used.
 * - Views that were cut off (ht_detach, or made with gradients off) have no base: what needs a
 *   gradient cannot be written through them. */
#include "ht/arithmetics.h"
#include "ht/manipulations.h"
#include "node.h"

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

/* Memory laid out as that of `whole`, for a gradient. */
static ht_tensor *new_in_layout(const ht_body *whole, const ht_tensor *like)
{
    ht_body *body = ht__body_metadata(whole);
    int64_t count = whole->lsize > 0;

    for (int i = 0; i < whole->ndim && whole->lsize > 0; i++)
        count += whole->stride[i] * (whole->lshape[i] - 1);
    body->dtype = like->body->dtype;
    body->offset = 0;
    body->read_only = body->inside = false;
    body->storage = ht__storage_new(like->body->storage->device,
                                    (size_t)count * ht_dtype_size(body->dtype));
    if (body->storage != NULL)
        return ht__tensor_new(body);
    HT_FAIL_HERE(whole->comm, HT_ERR_MEMORY,
                 "ht_backward: out of memory for a gradient of shape %s",
                 ht__shape_str(whole->ndim, whole->lshape));
    ht_release(body);
    return NULL;
}

/* The place in a gradient of `whole` that the view `part` has in it. */
static ht_tensor *place_of(const ht_tensor *grad, const ht_body *whole, const ht_body *part)
{
    ht_body *body = ht__body_metadata(part);

    body->dtype = grad->body->dtype;
    body->offset = part->offset - whole->offset;
    body->inside = false;
    body->storage = ht_retain(grad->body->storage);
    return ht__tensor_view(body);
}

/* Inputs: what the base was, and what was written to its part. */
static void write_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const ht_body *whole = ht__node_input(node, 0), *part = ht__node_input(node, 1);
    ht_tensor *grad = new_in_layout(whole, g), *place;

    g = ht__match_slabs("ht_backward", g, whole);
    if (grad == NULL || g == NULL ||
        ht__copy_local("ht_backward", grad->body, g->body) != HT_SUCCESS)
        return;
    place = place_of(grad, whole, part);
    if (ht_node_needs(node, 1))
        gin[1] = ht_copy(place);
    if (ht_node_needs(node, 0) &&
        ht__fill_local("ht_backward", place->body, ht__real(0)) == HT_SUCCESS)
        gin[0] = grad;
}

/* A broadcast view has an element in several places: its gradient is the sum of theirs. `part` is
 * shrunk to one of them. */
static ht_tensor *sum_repeated(ht_tensor *g, ht_body *part)
{
    for (int i = 0; g != NULL && part->read_only && i < part->ndim; i++) {
        if (part->stride[i] != 0 || part->shape[i] <= 1 || i == part->split)
            continue;
        g = ht_sum_keepdim(g, i);
        part->shape[i] = 1;
    }
    ht__body_settle(part);
    return g;
}

/* Inputs: the base, and the view itself for where it lies. */
static void view_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const ht_body *whole = ht__node_input(node, 0);
    ht_body *part = ht__body_metadata(ht__node_input(node, 1));
    ht_tensor *grad = new_in_layout(whole, g);

    g = ht__match_slabs("ht_backward", g, part);
    g = sum_repeated(g, part);
    if (grad != NULL && g != NULL &&
        ht__fill_local("ht_backward", grad->body, ht__real(0)) == HT_SUCCESS &&
        ht__copy_local("ht_backward", place_of(grad, whole, part)->body, g->body) == HT_SUCCESS)
        gin[0] = grad;
    ht_release(part);
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

/* Cut off from the graph: values without a history. */
static bool is_cut_off(const ht_tensor *x)
{
    return x->view && x->node == NULL && root_of((ht_tensor *)x) == x;
}

bool ht__catch_up(const char *what, ht_tensor *x)
{
    ht_tensor *base = root_of(x);
    unsigned now = x->body->storage->history;

    if (is_cut_off(base))
        base->history = now;
    if (base == x && base->history == now)
        return true;
    if (base == x || base->history != now) {
        HT_FAIL(x->body->comm, HT_ERR_STATE,
                "%s: x %s%s was written to through another tensor that shares its memory: make it "
                "anew",
                what, x->node != NULL ? "of " : "", x->node != NULL ? x->node->name : "");
        return false;
    }
    x->history = now;
    give_history(x, NULL);
    give_history(x, ht_node_new("view", view_backward, 2, (ht_tensor *[]){base, x}));
    return true;
}

static ht_status refuse(const char *what, const ht_tensor *x, const char *why)
{
    return HT_FAIL(x->body->comm, HT_ERR_STATE, "%s: x is %s", what, why);
}

ht_status ht__check_in_place(const char *what, ht_tensor *x, const ht_tensor *values)
{
    ht_tensor *root = root_of(x);
    bool tracked;

    if (x->body->read_only)
        return refuse(what, x, "a read-only view (ht_broadcast_to)");
    if (ht__compare_on)
        ht__compare_tensor(x->body, true);
    if (!ht_is_grad_enabled())
        return HT_SUCCESS;
    if (!ht__is_current(x) && !ht__catch_up(what, x))
        return HT_ERR_STATE;
    if (root->node == NULL && ht__needs_grad(root))
        return refuse(what, x,
                      root == x ? "a leaf that requires gradients: write to it with gradients off "
                                  "(ht_set_grad_enabled)"
                                : "a view of a leaf that requires gradients: write to it with "
                                  "gradients off (ht_set_grad_enabled)");
    tracked = root->node != NULL ||
              (values != NULL && ht__needs_grad(values) && may_have_history(x));
    if (root->view && tracked)
        return refuse(what, x,
                      "a view that was cut off (ht_detach, or made with gradients off): its tensor "
                      "would not know the gradient of what is written");
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
        give_history(root, ht_node_new(what, write_backward, 2, (ht_tensor *[]){root, x}));
}

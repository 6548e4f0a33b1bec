/* SPDX-License-Identifier: MIT
 *
 * Reverses axes. The result is a view if the axis is not split. Along the split axis each rank
 * sends its slab, mirrored, to the owners of its places in the result, which is balanced: one
 * Alltoall. */
#include "core/collective/collective.h"
#include "core/ops/indexing/key.h"
#include "ht/manipulations.h"

static void flip_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht__flip_axis("ht_flip", g, *(int *)ht_node_context(node, 0));
}

/* The local part turned around. */
static ht_body *mirrored_view(const ht_body *x, int axis)
{
    ht_body *body = ht__body_view(x);

    body->offset += x->lsize > 0 ? (x->lshape[axis] - 1) * x->stride[axis] : 0;
    body->stride[axis] = -x->stride[axis];
    body->gstride[axis] = -x->gstride[axis];
    return body;
}

static int64_t clip(int64_t edge, int64_t length)
{
    return edge < 0 ? 0 : edge > length ? length : edge;
}

/* y <- the parts of x, each turned around already. Rank r's begins at n - (its end) of y. */
static ht_status exchange(const char *what, ht_tensor *x, ht_tensor *y)
{
    const ht_body *from = x->body, *to = y->body;
    const int axis = from->split, size = from->comm->size;
    const int64_t n = from->shape[axis];
    const int64_t begin = n - from->split_start - from->lshape[axis];
    int64_t *send = ht__alloc(2 * ((size_t)size + 1) * sizeof *send), *recv = send + size + 1;
    ht_request *request;

    for (int rank = 0; rank <= size; rank++) {
        send[rank] = clip(ht__body_start(to, rank) - begin, from->lshape[axis]);
        recv[rank] = clip(n - ht__body_start(from, rank) - to->split_start, to->lshape[axis]);
    }
    request = ht__comm_alltoall_axis(from->comm, x, axis, send, y, axis, recv, what);
    ht__free(send);
    return ht_wait(&request);
}

static ht_tensor *flip_split(const char *what, ht_tensor *x)
{
    const ht_body *body = x->body;
    const bool was = ht_set_grad_enabled(false);
    ht_comm *outer = ht__together(body->comm);
    ht_tensor *parts = ht__tensor_view(mirrored_view(body, body->split));
    ht_tensor *y = ht__tensor_new(ht__body_new(what, body->comm, body->storage->device, body->dtype,
                                               body->ndim, body->shape, body->split, NULL));
    ht_status status = HT_ERR_MEMORY;

    if (y != NULL)
        status = body->comm->size > 1 ? exchange(what, parts, y)
                                      : ht__copy_local(what, y->body, parts->body);
    ht__together_end(outer);
    ht_set_grad_enabled(was);
    return status == HT_SUCCESS ? y : NULL;
}

ht_tensor *ht__flip_axis(const char *what, ht_tensor *x, int axis)
{
    ht_tensor *y;
    ht_node *node;

    if (x == NULL || (x->body->shape[axis] <= 1 && axis != x->body->split))
        return x;
    if (axis != x->body->split)
        return ht__record_view(what, flip_backward, x, mirrored_view(x->body, axis), &axis,
                               sizeof axis);
    y = flip_split(what, x);
    node = y != NULL ? ht_node_new(what, flip_backward, 1, &x) : NULL;
    if (node == NULL)
        return y;
    *(int *)ht_node_context(node, sizeof axis) = axis;
    return ht_node_set_output(node, y);
}

ht_tensor *ht_flip(ht_tensor *x, int count, const int axes[])
{
    unsigned seen = 0;
    int axis, last;

    if (HT_IS_NULL(x, "ht_flip", "x") ||
        !ht__check_list("ht_flip", x->body->comm, "count", count, "axes", axes))
        return NULL;
    for (int i = 0; i < (axes != NULL ? count : x->body->ndim); i++) {
        axis = axes != NULL ? axes[i] : i;
        if (!ht__check_axis("ht_flip", x, &axis))
            return NULL;
        if ((seen >> axis & 1) != 0) {
            HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "ht_flip: axis %d is given twice", axis);
            return NULL;
        }
        seen |= 1u << axis;
    }
    last = x->body->split; /* what it makes is a copy, and no view */
    for (axis = 0; x != NULL && axis < x->body->ndim; axis++) {
        if ((seen >> axis & 1) != 0 && axis != last)
            x = ht__flip_axis("ht_flip", x, axis);
    }
    return last != HT_NONE && (seen >> last & 1) != 0 ? ht__flip_axis("ht_flip", x, last) : x;
}

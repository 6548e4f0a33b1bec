/* SPDX-License-Identifier: MIT
 *
 * Redistribution. From replicated to split nothing travels: the slab is a view, and callers that
 * may write to it get a copy. From split to split, rank r sends rank q the intersection of r's old
 * slab and q's new slab, by one Alltoall. To replicated, every rank sends its slab to all, by one
 * Allgather in the form of the same exchange. */
#include <string.h>

#include "core/collective/collective.h"
#include "core/ops/ops.h"
#include "ht/manipulations.h"

static void resplit_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    (void)node;
    gin[0] = g; /* the engine moves it back into the operand's slabs */
}

/* This rank's slab of a replicated tensor. Strides outside of the split axis are those of the
 * complete tensor, so that the parts are not dense: as if each rank's memory had a gap behind the
 * axis. */
static ht_body *slab_view(const ht_body *x, int split, ht_bounds *bounds)
{
    ht_body *body = ht__body_view(x);

    body->split = split;
    body->bounds = ht_retain(bounds);
    ht__body_settle(body);
    if (body->lsize > 0)
        body->offset += body->split_start * body->stride[split];
    for (int i = 0; i < body->ndim && body->comm->size > 1; i++) {
        if (body->gstride[i] > body->gstride[split])
            body->gstride[i] *= 2;
    }
    return body;
}

static int64_t *starts_of(const ht_body *body)
{
    int64_t *starts = ht__alloc(((size_t)body->comm->size + 1) * sizeof *starts);

    for (int rank = 0; rank <= body->comm->size; rank++)
        starts[rank] = ht__body_start(body, rank);
    return starts;
}

/* Blocks of another slab division as they fall into this rank's slab. */
static int64_t *clip(const ht_body *mine, const ht_body *theirs)
{
    int64_t *starts = starts_of(theirs);

    for (int rank = 0; rank <= theirs->comm->size; rank++) {
        int64_t edge = starts[rank] - mine->split_start, end = mine->lshape[mine->split];

        starts[rank] = edge < 0 ? 0 : edge > end ? end : edge;
    }
    return starts;
}

/* Slabs are concatenated along the first axis, so the split axis comes first for the exchange. */
static ht_status gather(ht_tensor *x, ht_tensor *y)
{
    return ht_allgather(x->body->comm, ht_transpose(ht_tensor_local(x), 0, x->body->split),
                        ht_transpose(ht_tensor_local(y), 0, x->body->split));
}

ht_request *ht__post_slabs(const char *what, ht_tensor *x, ht_tensor *y)
{
    bool same_axis = x->body->split == y->body->split;
    int64_t *send = same_axis ? clip(x->body, y->body) : starts_of(y->body);
    int64_t *recv = same_axis ? clip(y->body, x->body) : starts_of(x->body);
    ht_request *request = ht__comm_alltoall_axis(x->body->comm, x, y->body->split, send, y,
                                                 x->body->split, recv, what);

    ht__free(send);
    ht__free(recv);
    return request;
}

static ht_status exchange(const char *what, ht_tensor *x, ht_tensor *y)
{
    ht_request *request = ht__post_slabs(what, x, y);

    return ht_wait(&request);
}

/* own: not a view of x. The slabs of a replicated tensor overlap with nothing that other ranks know
 * of, so a write through one would leave the replicas different. */
static ht_tensor *redistribute(const char *what, ht_tensor *x, int split, ht_bounds *bounds,
                               bool own)
{
    const ht_body *from = x->body;
    ht_tensor *y;
    ht_status status;

    if (from->split == HT_NONE) {
        x = ht__tensor_view(slab_view(from, split, bounds));
        if (!own)
            return x;
    }
    y = ht__tensor_new(ht__body_new(what, from->comm, from->storage->device, from->dtype,
                                    from->ndim, from->shape, split, bounds));
    if (y == NULL)
        return NULL;
    if (from->comm->size == 1 || from->split == HT_NONE)
        status = ht__copy_local(what, y->body, x->body);
    else
        status = split == HT_NONE ? gather(x, y) : exchange(what, x, y);
    return status == HT_SUCCESS ? y : NULL;
}

static ht_tensor *move_to(const char *what, ht_tensor *x, int split, ht_bounds *bounds, bool own)
{
    HT_NAMED(what);
    ht_tensor *y;
    ht_comm *outer;
    ht_node *node;
    bool was;

    was = ht_set_grad_enabled(false);
    outer = ht__together(x->body->comm);
    y = redistribute(what, x, split, bounds, own);
    ht__together_end(outer);
    ht_set_grad_enabled(was);
    node = y != NULL ? ht_node_new(what, resplit_backward, 1, &x) : NULL;
    return node != NULL ? ht_node_set_output(node, y) : y;
}

ht_tensor *ht__match_slabs(const char *what, ht_tensor *x, const ht_body *like)
{
    if (x == NULL || ht__body_same_slabs(x->body, like))
        return x;
    return move_to(what, x, like->split, like->bounds, false);
}

ht_tensor *ht__move_slabs(const char *what, ht_tensor *x, const ht_body *like)
{
    return move_to(what, x, like->split, like->bounds, true);
}

ht_tensor *ht_resplit(ht_tensor *x, int split)
{
    static const char what[] = "ht_resplit";

    if (HT_IS_NULL(x, what, "x") ||
        !ht__check_shape(what, x->body->comm, x->body->ndim, x->body->shape, &split))
        return NULL;
    return split == x->body->split ? x : move_to(what, x, split, NULL, true);
}

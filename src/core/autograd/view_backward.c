/* SPDX-License-Identifier: MIT
 *
 * Gradients of writes through views, and of views that such a write left behind (history.c). */
#include "core/autograd/autograd.h"
#include "core/ops/ops.h"
#include "ht/manipulations.h"
#include "core/tensor/node.h"

/* Memory in the layout of `whole`, for a gradient. Negative strides begin behind its start. */
static ht_tensor *new_in_layout(const ht_body *whole, const ht_tensor *like)
{
    ht_body *body = ht__body_metadata(whole);
    int64_t begin, end;

    body->dtype = like->body->dtype;
    body->offset = 0;
    ht__body_extent(body, &begin, &end);
    body->offset = -begin / (int64_t)ht_dtype_size(body->dtype);
    body->read_only = HT_WRITABLE;
    body->inside = false;
    body->storage = ht__storage_new(like->body->storage->device,
                                    whole->lsize > 0 ? (size_t)(end - begin) : 0);
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
    body->offset = grad->body->offset + part->offset - whole->offset;
    body->inside = false;
    body->storage = ht_retain(grad->body->storage);
    return ht__tensor_view(body);
}

/* Inputs: the earlier base, and the tensor that was written to its part. */
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
        ht__fill_local("ht_backward", place->body, ht_number_real(0)) == HT_SUCCESS)
        gin[0] = grad;
}

/* A broadcast view has an element in several places: its gradient is the sum of theirs. `part` is
 * shrunk to one of them. */
static ht_tensor *sum_repeated(ht_tensor *g, ht_body *part)
{
    for (int i = 0; part->read_only && i < part->ndim; i++) {
        if (part->stride[i] != 0 || part->shape[i] <= 1 || i == part->split)
            continue;
        part->shape[i] = 1;
    }
    if (g != NULL)
        g = ht__sum_to("ht_backward", g, part->ndim, part->shape);
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
        ht__fill_local("ht_backward", grad->body, ht_number_real(0)) == HT_SUCCESS &&
        ht__copy_local("ht_backward", place_of(grad, whole, part)->body, g->body) == HT_SUCCESS)
        gin[0] = grad;
    ht_release(part);
}

void ht__autograd_start(void)
{
    ht__view_backward = (ht_view_backward){.write = write_backward, .view = view_backward};
}

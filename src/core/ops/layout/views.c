/* SPDX-License-Identifier: MIT
 *
 * Views: another shape over the same memory. They do not communicate. */
#include "core/ops/ops.h"
#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/manipulations.h"

static void expand_dims_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_squeeze(g, *(int *)ht_node_context(node, 0));
}

static void squeeze_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_expand_dims(g, *(int *)ht_node_context(node, 0));
}

ht_tensor *ht_expand_dims(ht_tensor *x, int axis)
{
    int given = axis;
    ht_body *body;

    if (HT_IS_NULL(x, "ht_expand_dims", "x"))
        return NULL;
    axis += axis < 0 ? x->body->ndim + 1 : 0;
    if (axis < 0 || axis > x->body->ndim || x->body->ndim == HT_MAX_NDIM) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                "ht_expand_dims: axis is %d, expected a place for a new axis in x of shape %s",
                given, ht__shape_str(x->body->ndim, x->body->shape));
        return NULL;
    }
    body = ht__body_view(x->body);
    for (int i = body->ndim; i > axis; i--) {
        body->shape[i] = body->shape[i - 1];
        body->stride[i] = body->stride[i - 1];
        body->gstride[i] = body->gstride[i - 1];
    }
    body->shape[axis] = 1;
    body->stride[axis] = axis < body->ndim ? x->body->stride[axis] * x->body->lshape[axis] : 1;
    body->gstride[axis] = axis < body->ndim ? x->body->gstride[axis] * x->body->shape[axis] : 1;
    body->ndim++;
    if (body->split != HT_NONE && body->split >= axis)
        body->split++;
    ht__body_settle(body);
    return ht__record_view("ht_expand_dims", expand_dims_backward, x, body, &axis, sizeof axis);
}

ht_tensor *ht_squeeze(ht_tensor *x, int axis)
{
    ht_tensor *y, *whole = x;
    ht_body *body;

    if (HT_IS_NULL(x, "ht_squeeze", "x") || !ht__check_axis("ht_squeeze", x, &axis))
        return NULL;
    if (x->body->shape[axis] != 1) {
        HT_FAIL(x->body->comm, HT_ERR_SHAPE,
                "ht_squeeze: axis %d of x of shape %s does not have length 1", axis,
                ht__shape_str(x->body->ndim, x->body->shape));
        return NULL;
    }
    if (x->body->split == axis) {
        HT_NAMED("ht_squeeze");
        whole = ht_resplit(x, HT_NONE);
    }
    if (whole == NULL)
        return NULL;
    body = ht__body_view(whole->body);
    for (int i = axis; i + 1 < body->ndim; i++) {
        body->shape[i] = body->shape[i + 1];
        body->stride[i] = body->stride[i + 1];
        body->gstride[i] = body->gstride[i + 1];
    }
    body->ndim--;
    if (body->split != HT_NONE && body->split > axis)
        body->split--;
    ht__body_settle(body);
    y = ht__record_view("ht_squeeze", squeeze_backward, whole, body, &axis, sizeof axis);
    return whole == x ? y : ht__without_base(y);
}

static void broadcast_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    (void)node;
    gin[0] = g; /* the engine sums over the new axes */
}

ht_tensor *ht_broadcast_to(ht_tensor *x, int ndim, const int64_t shape[])
{
    return ht__broadcast_to("ht_broadcast_to", "x", x, ndim, shape);
}

ht_tensor *ht__broadcast_to(const char *what, const char *name, ht_tensor *x, int ndim,
                            const int64_t shape[])
{
    int split = HT_NONE, shift;
    ht_body *body;

    if (HT_IS_NULL(x, what, name) || !ht__check_shape(what, x->body->comm, ndim, shape, &split))
        return NULL;
    shift = ndim - x->body->ndim;
    for (int i = 0; i < x->body->ndim; i++) {
        if (shift < 0 || (x->body->shape[i] != shape[i + shift] && x->body->shape[i] != 1)) {
            HT_FAIL(x->body->comm, HT_ERR_SHAPE, "%s: %s of shape %s does not broadcast to %s",
                    what, name, ht__shape_str(x->body->ndim, x->body->shape),
                    ht__shape_str(ndim, shape));
            return NULL;
        }
    }
    if (ht__same_shape(x->body->ndim, x->body->shape, ndim, shape))
        return x;
    split = x->body->split;
    if (split != HT_NONE && x->body->shape[split] != shape[split + shift]) {
        HT_NAMED(what);
        x = ht_resplit(x, HT_NONE);
    }
    if (x == NULL)
        return NULL;
    body = ht__body_view(x->body);
    body->ndim = ndim;
    body->read_only = HT_BROADCAST_VIEW;
    body->split = x->body->split == HT_NONE ? HT_NONE : x->body->split + shift;
    for (int i = 0; i < ndim; i++) {
        bool stretched = i < shift || x->body->shape[i - shift] != shape[i];

        body->shape[i] = shape[i];
        body->stride[i] = stretched ? 0 : x->body->stride[i - shift];
        body->gstride[i] = stretched ? 0 : x->body->gstride[i - shift];
    }
    ht__body_settle(body);
    return ht__record_view(what, broadcast_backward, x, body, NULL, 0);
}

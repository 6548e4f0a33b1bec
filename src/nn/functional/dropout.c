/* SPDX-License-Identifier: MIT
 *
 * Dropout: with probability p zero, else x / (1 - p). One byte an element is kept for backward. The
 * mask follows memory order, so a tensor of any dense layout is taken as it lies. */
#include "ht/arithmetics.h"

#include "nn/functional/functional.h"

/* Whether elements may be taken in the order of memory. Parts of a split tensor may look like
 * images stored channels-last on some ranks alone. */
static bool in_order(const ht_body *body)
{
    return ht__body_is_contiguous(body) ||
           (body->split == HT_NONE && ht__body_is_channels_last(body));
}

static bool check(const char *what, ht_tensor *x, double p)
{
    if (!ht_dtype_is_floating(x->body->dtype)) {
        HT_FAIL(x->body->comm, HT_ERR_DTYPE, "%s: x is %s, a floating dtype is needed", what,
                ht_dtype_name(x->body->dtype));
        return false;
    }
    if (!(p >= 0.0 && p <= 1.0)) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: p is %g, not a probability", what, p);
        return false;
    }
    return true;
}

static bool same_layout(const ht_body *a, const ht_body *b)
{
    for (int i = 0; i < a->ndim; i++) {
        if (a->stride[i] != b->stride[i])
            return false;
    }
    return true;
}

/* `x` laid out as `like`, which is dense. */
static ht_tensor *laid_out_as(ht_tensor *x, const ht_body *like)
{
    ht_tensor *y;

    if (same_layout(x->body, like))
        return x;
    y = ht__empty("ht_dropout", like, x->body->dtype);
    if (y == NULL || ht__copy_local("ht_dropout", y->body, x->body) != HT_SUCCESS)
        return NULL;
    return y;
}

static void dropout_backward(ht_node *node, ht_tensor *grad, ht_tensor *grad_inputs[])
{
    double p = *(double *)ht_node_context(node, sizeof p);
    ht_tensor *mask = ht_node_saved(node, 0), *dy, *dx;

    if (mask == NULL)
        return;
    dy = laid_out_as(grad, mask->body);
    if (dy == NULL)
        return;
    dx = ht__may_overwrite(dy) ? dy : ht__empty("ht_dropout", mask->body, dy->body->dtype);
    if (dx == NULL)
        return;
    if (ht__backend_of(dy)->kernels.dropout_backward(
            ht__stream_of(dy), dx->body->dtype, dx->body->lsize, p, ht__body_data(dy->body),
            ht__body_data(mask->body), ht__body_data(dx->body)) != 0) {
        ht__kernel_failed(dy->body->comm, "ht_dropout");
        return;
    }
    grad_inputs[0] = dx;
}

static ht_status draw_mask(ht_tensor *x, ht_random job, ht_tensor *y, ht_tensor *mask)
{
    if (x->body->lsize == 0)
        return HT_SUCCESS;
    job.dtype = x->body->dtype;
    ht__random_place(x->body, &job);
    if (ht__backend_of(x)->kernels.dropout_forward(ht__stream_of(x), &job, ht__body_data(x->body),
                                                   ht__body_data(y->body),
                                                   ht__body_data(mask->body)) != 0)
        return ht__kernel_failed(x->body->comm, "ht_dropout");
    return HT_SUCCESS;
}

ht_tensor *ht_dropout(ht_tensor *x, double p, uint64_t seed, uint64_t draw)
{
    ht_tensor *y, *mask;
    ht_node *node;

    if (HT_IS_NULL(x, "ht_dropout", "x") || !check("ht_dropout", x, p))
        return NULL;
    if (p == 0.0)
        return x;
    const ht_kernels *kernels = &ht__backend_of(x)->kernels;
    if (kernels->dropout_forward == NULL || kernels->dropout_backward == NULL) {
        ht__kernel_missing("ht_dropout", x);
        return NULL;
    }
    if (!in_order(x->body))
        x = ht_contiguous(x);
    if (x == NULL)
        return NULL;
    y = ht__empty("ht_dropout", x->body, x->body->dtype);
    mask = ht__empty("ht_dropout", x->body, HT_UINT8);
    if (y == NULL || mask == NULL)
        return NULL;

    if (draw_mask(x, (ht_random){.seed = seed, .draw = draw, .a = p}, y, mask) != HT_SUCCESS)
        return NULL;
    node = ht_node_new("ht_dropout", dropout_backward, 1, (ht_tensor *[]){x});
    if (node == NULL)
        return y;
    *(double *)ht_node_context(node, sizeof p) = p;
    ht_node_save(node, mask);
    return ht_node_set_output(node, y);
}

/* Whole channels: x times a dropped-out (N, C, 1, ...) of ones. */
ht_tensor *ht_dropout2d(ht_tensor *x, double p, uint64_t seed, uint64_t draw)
{
    int64_t shape[HT_MAX_NDIM] = {0};
    ht_tensor *scale;
    bool was;

    if (HT_IS_NULL(x, "ht_dropout2d", "x") || !check("ht_dropout2d", x, p))
        return NULL;
    if (x->body->ndim < 2) {
        HT_FAIL(x->body->comm, HT_ERR_SHAPE, "ht_dropout2d: x is %s, (N, C, ...) is needed",
                ht__shape_str(x->body->ndim, x->body->shape));
        return NULL;
    }
    if (p == 0.0)
        return x;
    if (!ht__check_batch("ht_dropout2d", "x", x, x->body->ndim))
        return NULL;
    for (int i = 0; i < x->body->ndim; i++)
        shape[i] = i < 2 ? x->body->shape[i] : 1;
    was = ht_set_grad_enabled(false);
    scale = ht__batch_result("ht_dropout2d", x, x->body->dtype, x->body->ndim, shape);
    if (scale != NULL && ht_fill_(scale, 1.0) == HT_SUCCESS)
        scale = ht_dropout(scale, p, seed, draw);
    ht_set_grad_enabled(was);
    return ht_mul(x, scale);
}

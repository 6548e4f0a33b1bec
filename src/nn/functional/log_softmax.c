/* SPDX-License-Identifier: MIT
 *
 * y = x - log(sum exp x) along one axis; dx = dy - exp(y) sum dy. The output is all that is kept.
 * Kernels work on rows: another axis than the last is brought to the end first. */
#include "ht/manipulations.h"

#include "nn/functional/functional.h"

static ht_rows rows_of(const ht_body *body)
{
    int64_t columns = body->lshape[body->ndim - 1];

    return (ht_rows){
        .dtype = body->dtype, .rows = columns > 0 ? body->lsize / columns : 0, .columns = columns};
}

static void log_softmax_backward(ht_node *node, ht_tensor *grad, ht_tensor *grad_inputs[])
{
    ht_tensor *y = ht_node_saved(node, 0), *dy = ht_contiguous(grad), *dx;

    if (y == NULL || dy == NULL)
        return;
    dx = ht__empty("ht_log_softmax", y->body, y->body->dtype);
    if (dx == NULL)
        return;

    ht_rows rows = rows_of(y->body);
    if (rows.rows > 0 && ht__backend_of(y)->kernels.log_softmax_backward(
                             ht__stream_of(y), &rows, ht__body_data(dy->body),
                             ht__body_data(y->body), ht__body_data(dx->body)) != 0) {
        ht__kernel_failed(y->body->comm, "ht_log_softmax");
        return;
    }
    grad_inputs[0] = dx;
}

static ht_tensor *along_last(ht_tensor *x)
{
    ht_tensor *y;
    ht_node *node;

    x = ht_contiguous(x);
    if (x == NULL)
        return NULL;
    const ht_kernels *kernels = &ht__backend_of(x)->kernels;
    if (kernels->log_softmax_forward == NULL || kernels->log_softmax_backward == NULL) {
        ht__kernel_missing("ht_log_softmax", x);
        return NULL;
    }
    y = ht__empty("ht_log_softmax", x->body, x->body->dtype);
    if (y == NULL)
        return NULL;

    ht_rows rows = rows_of(x->body);
    if (rows.rows > 0 &&
        kernels->log_softmax_forward(ht__stream_of(x), &rows, ht__body_data(x->body),
                                     ht__body_data(y->body)) != 0) {
        ht__kernel_failed(x->body->comm, "ht_log_softmax");
        return NULL;
    }
    node = ht_node_new("ht_log_softmax", log_softmax_backward, 1, (ht_tensor *[]){x});
    ht_node_save(node, y);
    return ht_node_set_output(node, y);
}

ht_tensor *ht_log_softmax(ht_tensor *x, int axis)
{
    if (HT_IS_NULL(x, "ht_log_softmax", "x") || !ht__check_axis("ht_log_softmax", x, &axis))
        return NULL;
    if (!ht_dtype_is_floating(x->body->dtype)) {
        HT_FAIL(x->body->comm, HT_ERR_DTYPE, "ht_log_softmax: x is %s, a floating dtype is needed",
                ht_dtype_name(x->body->dtype));
        return NULL;
    }
    if (axis == x->body->split) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                "ht_log_softmax: x is split along axis %d, the one to normalise", axis);
        return NULL;
    }
    if (axis == x->body->ndim - 1)
        return along_last(x);
    return ht_transpose(along_last(ht_transpose(x, axis, -1)), axis, -1);
}

/* SPDX-License-Identifier: MIT
 *
 * y = x - log(sum exp x) along one axis; dx = dy - exp(y) sum dy. The output is all that is kept.
 * Kernels work on rows: another axis than the last is brought to the end first. Along the split
 * axis it is composed (softmax.c). */
#include "ht/kernels/nn.h"
#include "ht/manipulations.h"

#include "nn/functional/functional.h"
#include "nn/functional/softmax.h"

static const ht_operand_rule rules[] = {
    {"x", NULL, HT_DTYPE_FLOATING, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_REQUIRED},
};

static ht_rows_call rows_of(const ht_body *body)
{
    int64_t columns = body->lshape[body->ndim - 1];

    return (ht_rows_call){
        .call.operands = 4, .rows = columns > 0 ? body->lsize / columns : 0, .columns = columns};
}

static void log_softmax_backward(ht_node *node, ht_tensor *grad, ht_tensor *grad_inputs[])
{
    ht_tensor *y = ht_node_saved(node, 0), *dy = ht_contiguous(grad), *dx;

    if (y == NULL || dy == NULL)
        return;
    dx = ht__empty("ht_log_softmax", y->body, y->body->dtype);
    if (dx == NULL)
        return;

    ht_rows_call rows = rows_of(y->body);
    rows.dy = ht__operand_of(dy->body, HT_READ);
    rows.y = ht__operand_of(y->body, HT_READ);
    rows.x = ht__operand_of(dx->body, HT_WRITE);
    if (rows.rows > 0 &&
        HT_RUN(y, HT_KERNEL_LOG_SOFTMAX_BACKWARD, &rows, "ht_log_softmax") != HT_SUCCESS)
        return;
    grad_inputs[0] = dx;
}

static ht_tensor *along_last(ht_tensor *x)
{
    ht_tensor *y;
    ht_node *node;

    x = ht_contiguous(x);
    if (x == NULL)
        return NULL;
    if (!ht__has_kernel("ht_log_softmax", x, HT_KERNEL_LOG_SOFTMAX_FORWARD))
        return NULL;
    y = ht__empty("ht_log_softmax", x->body, x->body->dtype);
    if (y == NULL)
        return NULL;

    ht_rows_call rows = rows_of(x->body);
    rows.x = ht__operand_of(x->body, HT_READ);
    rows.y = ht__operand_of(y->body, HT_WRITE);
    if (rows.rows > 0 &&
        HT_RUN(x, HT_KERNEL_LOG_SOFTMAX_FORWARD, &rows, "ht_log_softmax") != HT_SUCCESS)
        return NULL;
    node = ht_node_new("ht_log_softmax", log_softmax_backward, HT_LIST(ht_tensor *, x));
    ht_node_save(node, y);
    return ht_node_set_output(node, y);
}

ht_tensor *ht_log_softmax(ht_tensor *x, int axis)
{
    if (!HT_PREPARE("ht_log_softmax", rules, &x))
        return NULL;
    if (x->body->ndim == 0)
        return ht_squeeze(ht_log_softmax(ht_expand_dims(x, 0), axis), 0);
    if (!ht__check_axis("ht_log_softmax", x, &axis))
        return NULL;
    if (axis == x->body->split)
        return ht__log_softmax_composed(x, axis);
    if (axis == x->body->ndim - 1)
        return along_last(x);
    return ht_transpose(along_last(ht_transpose(x, axis, -1)), axis, -1);
}

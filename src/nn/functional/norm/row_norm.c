/* SPDX-License-Identifier: MIT
 *
 * Rows less their mean, over their standard deviation, by the kernels of batch normalisation: a row
 * is a channel there. Kept for backward: x, and 4 numbers of float64 for each row. */
#include "nn/functional/norm/row_norm.h"

#include "core/autograd/autograd.h"
#include "nn/functional/norm/norm_call.h"

struct kept {
    const char *what;
    int leading;
};

static ht_norm_call call_of(const ht_body *x, int leading)
{
    ht_norm_call norm = ht__norm_call(x, 0, leading);

    norm.count = (double)norm.inner;
    return norm;
}

static void row_norm_backward(ht_node *node, ht_tensor *grad, ht_tensor *grad_inputs[])
{
    const struct kept *kept = ht_node_context(node, sizeof *kept);
    ht_tensor *x = ht_node_saved(node, 0), *channel = ht_node_saved(node, 1);
    ht_tensor *dy = x != NULL && channel != NULL ? ht_contiguous(grad) : NULL;
    ht_tensor *dx = dy != NULL ? ht__input_grad(kept->what, node, 0, dy) : NULL, *sums;
    ht_norm_call norm;

    if (dx == NULL)
        return;
    norm = call_of(x->body, kept->leading);
    sums = ht__norm_numbers(x, 2, norm.channels);
    if (sums == NULL)
        return;
    norm.y = ht__operand_of(dy->body, HT_READ);
    norm.channel = ht__operand_of(channel->body, HT_READ);
    norm.sums = ht__operand_of(sums->body, HT_WRITE);
    if (dx->body->lsize > 0 && HT_RUN(x, HT_KERNEL_NORM_SUMS, &norm, kept->what) != HT_SUCCESS)
        return;
    norm.dx = ht__operand_of(dx->body, HT_WRITE);
    norm.sums.written = false;
    if (dx->body->lsize > 0 && HT_RUN(x, HT_KERNEL_NORM_BACKWARD, &norm, kept->what) != HT_SUCCESS)
        return;
    grad_inputs[0] = dx;
}

/* y and `channel` from x. */
static ht_status run(const char *what, ht_norm_call *norm, ht_tensor *x, ht_tensor *channel,
                     ht_tensor *y, double eps)
{
    ht_tensor *moments = ht__norm_numbers(x, 2, norm->channels);
    ht_norm_channels_call prepare = {.call.operands = 6,
                                     .channels = norm->channels,
                                     .count = norm->count,
                                     .eps = eps,
                                     .moments = ht__operand_if_any(moments, HT_READ),
                                     .channel = ht__operand_of(channel->body, HT_WRITE)};
    ht_status status;

    if (moments == NULL)
        return ht_error_get(NULL);
    norm->moments = ht__operand_of(moments->body, HT_WRITE);
    status = HT_RUN(x, HT_KERNEL_NORM_MOMENTS, norm, what);
    if (status == HT_SUCCESS)
        status = HT_RUN(x, HT_KERNEL_NORM_PREPARE, &prepare, what);
    norm->moments = (ht_kernel_operand){.data = NULL};
    norm->channel = ht__operand_of(channel->body, HT_READ);
    norm->y = ht__operand_of(y->body, HT_WRITE);
    return status == HT_SUCCESS ? HT_RUN(x, HT_KERNEL_NORM_FORWARD, norm, what) : status;
}

ht_tensor *ht__row_norm(const char *what, ht_tensor *x, int leading, double eps)
{
    ht_norm_call norm;
    ht_tensor *y, *channel;
    ht_node *node;
    struct kept *kept;

    if (x == NULL || !ht__has_kernel(what, x, HT_KERNEL_NORM_FORWARD))
        return NULL;
    norm = call_of(x->body, leading);
    y = ht__batch_result(what, x, x->body->dtype, x->body->ndim, x->body->shape);
    channel = ht__norm_numbers(x, 4, norm.channels);
    if (y == NULL || channel == NULL ||
        (y->body->lsize > 0 && run(what, &norm, x, channel, y, eps) != HT_SUCCESS))
        return NULL;
    node = ht_node_new(what, row_norm_backward, HT_LIST(ht_tensor *, x));
    if (node == NULL)
        return y;
    kept = ht_node_context(node, sizeof *kept);
    *kept = (struct kept){what, leading};
    ht_node_save(node, x);
    ht_node_save(node, channel);
    return ht_node_set_output(node, y);
}

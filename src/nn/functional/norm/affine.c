/* SPDX-License-Identifier: MIT
 *
 * Weights and biases of normalisations, over the last axes of x or by channel: by the kernels of
 * batch normalisation with a mean of 0 and a deviation of 1. Kept for backward: y, and 4 numbers of
 * float64 for each channel. */
#include "core/autograd/autograd.h"
#include "ht/arithmetics.h"
#include "ht/manipulations.h"
#include "nn/functional/norm/norm_call.h"
#include "nn/functional/norm/row_norm.h"

struct kept {
    const char *what;
    int axis, ndim; /* of the parameters: where they begin in y, and how many */
};

static ht_tensor *new_zeros(const ht_tensor *y, int64_t channels)
{
    ht_tensor *x = ht__norm_numbers(y, 2, channels);

    return x != NULL && ht_fill_(x, 0.0) == HT_SUCCESS ? x : NULL;
}

static void affine_backward(ht_node *node, ht_tensor *grad, ht_tensor *grad_inputs[])
{
    const struct kept *kept = ht_node_context(node, sizeof *kept);
    ht_tensor *y = ht_node_saved(node, 0), *channel = ht_node_saved(node, 1), *sums, *dx;
    ht_tensor *dy = y != NULL && channel != NULL ? ht_contiguous(grad) : NULL;
    ht_norm_call norm;

    if (dy == NULL)
        return;
    norm = ht__norm_call(y->body, kept->axis, kept->ndim);
    sums = new_zeros(y, norm.channels);
    dx = ht_node_needs(node, 0) ? ht__input_grad(kept->what, node, 0, dy) : NULL;
    if (sums == NULL || (dx == NULL && ht_node_needs(node, 0)))
        return;
    norm.y = ht__operand_of(dy->body, HT_READ);
    norm.channel = ht__operand_of(channel->body, HT_READ);
    norm.sums = ht__operand_of(sums->body, HT_WRITE);
    if (y->body->lsize > 0 && HT_RUN(y, HT_KERNEL_NORM_SUMS, &norm, kept->what) != HT_SUCCESS)
        return;
    for (int i = 1; i <= 2; i++) { /* weight: sum dy y; bias: sum dy */
        if (ht_node_needs(node, i))
            grad_inputs[i] = ht__norm_parameter_grad(kept->what, node, i, y,
                                                     ht_narrow(sums, 0, 2 - i, 3 - i));
    }
    if (dx == NULL)
        return;
    norm.dx = ht__operand_of(dx->body, HT_WRITE);
    norm.sums.written = false;
    if (y->body->lsize == 0 || HT_RUN(y, HT_KERNEL_NORM_BACKWARD, &norm, kept->what) == HT_SUCCESS)
        grad_inputs[0] = dx;
}

/* channel (4, channels): 0, 1, weight, bias. */
static ht_status prepare(const char *what, const ht_tensor *y, const ht_tensor *weight,
                         const ht_tensor *bias, const ht_tensor *channel)
{
    const ht_tensor *moments = new_zeros(y, channel->body->shape[1]);
    ht_norm_channels_call call = {.call.operands = 6,
                                  .channels = channel->body->shape[1],
                                  .moments = ht__operand_if_any(moments, HT_READ),
                                  .weight = ht__operand_if_any(weight, HT_READ),
                                  .bias = ht__operand_if_any(bias, HT_READ),
                                  .channel = ht__operand_of(channel->body, HT_WRITE)};

    return moments != NULL ? HT_RUN(y, HT_KERNEL_NORM_PREPARE, &call, what) : ht_error_get(NULL);
}

ht_tensor *ht__affine(const char *what, ht_tensor *y, int axis, ht_tensor *weight, ht_tensor *bias)
{
    const ht_tensor *parameter = weight != NULL ? weight : bias;
    ht_tensor *in[] = {y, weight, bias}, *z, *channel;
    ht_norm_call norm;
    ht_node *node;

    if (y == NULL || parameter == NULL)
        return y;
    for (int i = 0; i < 3; i++) {
        if (in[i] != NULL && (in[i] = ht_contiguous(in[i])) == NULL)
            return NULL;
    }
    y = in[0];
    norm = ht__norm_call(y->body, axis, parameter->body->ndim);
    channel = ht__norm_numbers(y, 4, norm.channels);
    z = ht__batch_result(what, y, y->body->dtype, y->body->ndim, y->body->shape);
    if (channel == NULL || z == NULL)
        return NULL;
    norm.channel = ht__operand_of(channel->body, HT_READ);
    norm.y = ht__operand_of(z->body, HT_WRITE);
    if (z->body->lsize > 0 && (prepare(what, y, in[1], in[2], channel) != HT_SUCCESS ||
                               HT_RUN(y, HT_KERNEL_NORM_FORWARD, &norm, what) != HT_SUCCESS))
        return NULL;
    node = ht_node_new(what, affine_backward, 3, in);
    if (node == NULL)
        return z;
    *(struct kept *)ht_node_context(node, sizeof(struct kept)) = (struct kept){
        what, axis, parameter->body->ndim};
    ht_node_save(node, y);
    ht_node_save(node, channel);
    return ht_node_set_output(node, z);
}

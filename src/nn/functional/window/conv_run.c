/* SPDX-License-Identifier: MIT
 *
 * The kernels of convolution, on tensors. */
#include "nn/functional/window/conv_run.h"

#include "core/autograd/autograd.h"
#include "core/ops/ops.h"
#include "ht/manipulations.h"

ht_tensor *ht__conv_result(const char *what, const ht_tensor *x, int64_t channels,
                           const int64_t length[2])
{
    const int64_t shape[4] = {x->body->shape[0], channels, length[0], length[1]};

    return ht__backend_of(x)->prefer_channels_last
               ? ht__batch_result_channels_last(what, x, x->body->dtype, shape)
               : ht__batch_result(what, x, x->body->dtype, 4, shape);
}

ht_status ht__conv_run(const char *what, ht_kernel kernel, ht_conv_call *job,
                       ht_conv_operands operands)
{
    const bool data = kernel == HT_KERNEL_CONV_BACKWARD_DATA;
    const ht_access weight = kernel == HT_KERNEL_CONV_BACKWARD_WEIGHT ? HT_WRITE : HT_READ;
    const ht_access y = kernel == HT_KERNEL_CONV_FORWARD ? HT_WRITE : HT_READ;
    const ht_tensor *on = operands.y;

    if (on == NULL || (operands.x == NULL && operands.weight != NULL))
        return ht_error_get(NULL);
    if ((data ? operands.x : on)->body->lsize == 0)
        return HT_SUCCESS;
    if (operands.x != NULL)
        ht__image_strides(operands.x->body, job->x_stride);
    ht__image_strides(operands.y->body, job->y_stride);
    job->x = ht__operand_if_any(operands.x, data ? HT_WRITE : HT_READ);
    job->weight = ht__operand_if_any(operands.weight, weight);
    job->bias = ht__operand_if_any(operands.bias, weight);
    job->y = ht__operand_of(operands.y->body, y);
    return HT_RUN(on, kernel, job, what);
}

/* The bias gradient of a split dy, whose parts would lose digits: (N, O, H, W) to (O). */
static ht_tensor *grad_bias_of_split(const char *what, ht_tensor *dy)
{
    const int64_t channels = dy->body->shape[1];

    return ht_reshape(ht__sum_to(what, dy, HT_SHAPE(channels, 1, 1)), 1, &channels);
}

/* Gradients of weight and bias come from one kernel; the one that is not needed stays NULL. */
void ht__conv_parameter_grads(const char *what, ht_node *node, ht_conv_call job, ht_tensor *x,
                              ht_tensor *dy, ht_tensor *grads[])
{
    const bool split = dy->body->split != HT_NONE;
    const ht_dtype dtype = split ? ht__product_dtype(dy->body->dtype) : dy->body->dtype;
    ht_tensor *dw = NULL, *db = NULL;

    if (split && ht_node_needs(node, 2) && (grads[2] = grad_bias_of_split(what, dy)) == NULL)
        return;
    if (ht_node_needs(node, 1) && (dw = ht__parameter_grad(what, node, 1, dy, dtype)) == NULL)
        return;
    if (!split && ht_node_needs(node, 2) &&
        (db = ht__parameter_grad(what, node, 2, dy, dtype)) == NULL)
        return;
    dy = ht_astype(dy, dtype);
    x = x != NULL ? ht_astype(x, dtype) : NULL;
    if (dy == NULL || (x == NULL && dw != NULL))
        return;

    if (dy->body->lsize == 0) {
        if ((dw != NULL && ht_fill_(dw, 0.0) != HT_SUCCESS) ||
            (db != NULL && ht_fill_(db, 0.0) != HT_SUCCESS))
            return;
    } else if (dw != NULL || db != NULL) {
        if (ht__conv_run(what, HT_KERNEL_CONV_BACKWARD_WEIGHT, &job,
                         (ht_conv_operands){x, dw, db, dy}) != HT_SUCCESS)
            return;
    }
    grads[1] = ht__parameter_grad_done(what, dw, dy);
    if (!split)
        grads[2] = db;
}

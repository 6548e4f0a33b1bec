/* SPDX-License-Identifier: MIT
 *
 * Results and gradients that the functions of this folder share. */
#include "core/autograd/autograd.h"
#include "nn/functional/functional.h"

bool ht__check_parameter(const char *what, const ht_tensor *x, bool valid, const char *name,
                         double value, const char *expected)
{
    if (!valid)
        HT_FAIL(x != NULL ? x->body->comm : NULL, HT_ERR_ARGUMENT, "%s: %s is %g, expected %s",
                what, name, value, expected);
    return valid;
}

ht_tensor *ht__batch_result(const char *what, const ht_tensor *x, ht_dtype dtype, int ndim,
                            const int64_t shape[])
{
    const ht_body *body = x->body;

    return ht__tensor_new(ht__body_new(what, body->comm, body->storage->device, dtype, ndim, shape,
                                       body->split, body->bounds));
}

ht_tensor *ht__batch_result_channels_last(const char *what, const ht_tensor *x, ht_dtype dtype,
                                          const int64_t shape[4])
{
    ht_tensor *y = ht__batch_result(what, x, dtype, 4, shape);

    if (y != NULL)
        ht__body_lay_channels_last(y->body);
    return y;
}

void ht__image_strides(const ht_body *x, int64_t stride[4])
{
    const int64_t c = x->lshape[1], h = x->lshape[2], w = x->lshape[3];

    ht__strides_row_major(4, x->lshape, stride);
    if (ht__body_is_contiguous(x))
        return;
    stride[1] = 1;
    stride[3] = c;
    stride[2] = c * w;
    stride[0] = c * w * h;
}

ht_tensor *ht__input_grad(const char *what, const ht_node *node, int index, const ht_tensor *dy)
{
    ht_body like = *ht__node_input(node, index);

    like.storage = dy->body->storage; /* nodes keep metadata only: it says nothing of the device */
    return ht__empty(what, &like, like.dtype);
}

ht_tensor *ht__parameter_grad(const char *what, ht_node *node, int index, const ht_tensor *x,
                              ht_dtype partial)
{
    const ht_body *like = ht__node_input(node, index);
    bool summed = x->body->split != HT_NONE;
    ht_tensor *grad = summed ? NULL : ht__grad_target(node, index);

    if (grad != NULL)
        return grad;
    return ht__tensor_new(ht__body_new(what, summed ? HT_COMM_SELF : like->comm,
                                       x->body->storage->device, summed ? partial : like->dtype,
                                       like->ndim, like->shape, HT_NONE, NULL));
}

ht_tensor *ht__parameter_grad_done(const char *what, ht_tensor *grad, const ht_tensor *x)
{
    return grad != NULL ? ht__sum_partial(what, grad, x->body) : NULL;
}

/* SPDX-License-Identifier: MIT
 *
 * Calls of the kernels of normalisation. */
#include "nn/functional/norm/norm_call.h"

#include "core/autograd/autograd.h"
#include "ht/factories.h"
#include "ht/manipulations.h"

ht_norm_call ht__norm_call(const ht_body *x, int axis, int ndim)
{
    ht_norm_call norm = {.call.operands = 6, .outer = 1, .channels = 1, .inner = 1};

    for (int i = 0; i < x->ndim; i++)
        *(i < axis ? &norm.outer : i < axis + ndim ? &norm.channels : &norm.inner) *= x->lshape[i];
    norm.x = ht__operand_of(x, HT_READ);
    return norm;
}

ht_tensor *ht__norm_numbers(const ht_tensor *x, int64_t rows, int64_t channels)
{
    const int64_t shape[2] = {rows, channels};

    return ht_empty_ext(2, shape, HT_FLOAT64, HT_NONE, x->body->storage->device, HT_COMM_SELF);
}

ht_tensor *ht__norm_parameter_grad(const char *what, ht_node *node, int index, const ht_tensor *x,
                                   ht_tensor *values)
{
    ht_tensor *grad = ht__parameter_grad(what, node, index, x, HT_FLOAT64);

    if (grad == NULL)
        return NULL;
    values = ht_reshape(values, grad->body->ndim, grad->body->shape);
    if (values == NULL || ht__copy_local(what, grad->body, values->body) != HT_SUCCESS)
        return NULL;
    return ht__parameter_grad_done(what, grad, x);
}

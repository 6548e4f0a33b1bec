/* SPDX-License-Identifier: MIT
 *
 * Converts gradients to the shape, split and dtype of their tensor. */
#include "core/autograd/engine.h"

#include "core/autograd/autograd.h"
#include "core/collective/collective.h"
#include "core/ops/ops.h"
#include "ht/manipulations.h"

ht_tensor *ht__grad_fit(ht_tensor *grad, const ht_body *operand)
{
    if (grad != NULL)
        grad = ht__sum_to("ht_backward", grad, operand->ndim, operand->shape);
    if (grad == NULL)
        return NULL;
    if (!ht__body_same_shape(grad->body, operand)) {
        HT_FAIL(operand->comm, HT_ERR_SHAPE,
                "ht_backward: gradient is %s, expected the shape of its tensor, %s",
                ht__shape_str(grad->body->ndim, grad->body->shape),
                ht__shape_str(operand->ndim, operand->shape));
        return NULL;
    }
    if (grad->body->split != operand->split || grad->body->bounds != operand->bounds)
        grad = ht__match_slabs("ht_backward", grad, operand);
    return ht_astype(grad, operand->dtype);
}

ht_tensor *ht__sum_partial(const char *what, ht_tensor *partial, const ht_body *of)
{
    ht_tensor *sum;

    if (partial == NULL || of->split == HT_NONE || of->comm->size == 1)
        return partial;
    if (ht__comm_sum(of->comm, partial, HT_SUM_ALL, 1, what) != HT_SUCCESS)
        return NULL;
    ht_body *body = ht__body_view(partial->body);
    ht_release(body->comm);
    body->comm = ht_retain(of->comm);
    sum = ht__tensor_view(body);
    return sum;
}

ht_tensor *ht__grad_fit_given(const char *what, const char *name, ht_tensor *given,
                              const ht_body *like)
{
    const ht_body *body = given->body;
    bool numbers = ht_dtype_is_floating(body->dtype) ||
                   (ht_dtype_is_complex(body->dtype) && ht_dtype_is_complex(like->dtype));

    if (numbers && ht__body_same_shape(body, like) && ht__comm_compatible(body->comm, like->comm) &&
        body->storage->device == like->storage->device)
        return ht__grad_fit(given, like);
    HT_FAIL(like->comm, HT_ERR_SHAPE, "%s: %s is %s, expected one that fits %s", what, name,
            ht__body_str(body), ht__body_str(like));
    return NULL;
}

/* SPDX-License-Identifier: MIT
 *
 * A tensor, and so its gradient, moved elsewhere under the handle that it has. */
#include "core/ops/ops.h"
#include "ht/autograd.h"
#include "ht/manipulations.h"

/* The gradient goes along, unless it is memory only that the next one is to be written to. Where x
 * is in its place already, nothing is to be done. */
static ht_status move_with_gradient(const char *what, ht_tensor *x, const ht_body *to)
{
    ht_tensor *moved, *grad;
    ht_status status;

    if (ht__body_same_slabs(x->body, to))
        return HT_SUCCESS;
    status = ht__check_settable(what, x); /* before anything is sent */
    if (status != HT_SUCCESS)
        return status;
    moved = ht__move_slabs(what, x, to);
    status = moved != NULL ? ht__grad_get(x, &grad) : ht_error_get(NULL);
    if (status != HT_SUCCESS)
        return status;
    if (grad != NULL && (grad = ht__move_slabs(what, grad, to)) == NULL)
        return ht_error_get(NULL);
    status = ht__tensor_set(what, x, moved);
    return status == HT_SUCCESS && grad != NULL ? ht_tensor_set_grad(x, grad) : status;
}

ht_status ht__move_in_place(const char *what, ht_tensor *x, ht_slabs_fn *slabs, const void *to)
{
    ht_scope *scope;
    ht_status status;
    ht_body *body;
    bool was;

    if (HT_IS_NULL(x, what, "x"))
        return ht_error_get(NULL);
    body = slabs(what, x->body, to);
    if (body == NULL)
        return ht_error_get(NULL);
    scope = ht_scope_open();
    was = ht_set_grad_enabled(false);
    status = move_with_gradient(what, x, body);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    ht_release(body);
    return status;
}

static ht_body *of_split(const char *what, const ht_body *x, const void *to)
{
    int split = *(const int *)to;
    ht_body *body;

    if (!ht__check_shape(what, x->comm, x->ndim, x->shape, &split))
        return NULL;
    body = ht__body_metadata(x);
    if (split == body->split)
        return body;
    body->split = split;
    ht_release(body->bounds);
    body->bounds = NULL;
    return body;
}

ht_status ht_resplit_(ht_tensor *x, int split)
{
    return ht__move_in_place("ht_resplit_", x, of_split, &split);
}

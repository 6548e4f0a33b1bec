/* SPDX-License-Identifier: MIT
 *
 * A tensor, and so its gradient, moved elsewhere under the handle that it has. */
#include "core/ops/ops.h"
#include "ht/autograd.h"
#include "ht/manipulations.h"

/* The gradient goes along, unless it is memory only that the next one is to be written to. Where x
 * is in its place already, nothing is to be done. */
static ht_status move_with_gradient(const char *what, ht_tensor *x, ht_mover *move, const void *to)
{
    ht_tensor *moved = move(what, x, to), *grad = ht_tensor_grad(x);
    ht_status status;

    if (moved == x)
        return HT_SUCCESS;
    if (moved != NULL && grad != NULL)
        grad = move(what, grad, to);
    if (moved == NULL || (grad == NULL && ht_tensor_grad(x) != NULL))
        return ht_error_get(NULL);
    status = ht__tensor_set(what, x, moved);
    return status == HT_SUCCESS && grad != NULL ? ht_tensor_set_grad(x, grad) : status;
}

ht_status ht__move_in_place(const char *what, ht_tensor *x, ht_mover *move, const void *to)
{
    ht_scope *scope;
    ht_status status;
    bool was;

    if (HT_IS_NULL(x, what, "x"))
        return ht_error_get(NULL);
    scope = ht_scope_open();
    was = ht_set_grad_enabled(false);
    status = move_with_gradient(what, x, move, to);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status;
}

static ht_tensor *to_split(const char *what, ht_tensor *x, const void *split)
{
    return ht__resplit(what, x, *(const int *)split);
}

ht_status ht_resplit_(ht_tensor *x, int split)
{
    return ht__move_in_place("ht_resplit_", x, to_split, &split);
}

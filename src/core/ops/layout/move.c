/* SPDX-License-Identifier: MIT
 *
 * Copies, conversions and writes in place. */

#include "core/ops/ops.h"
#include "ht/factories.h"
#include "ht/manipulations.h"

/* Copies and conversions pass the gradient on; the engine converts it to the operand's dtype. */
static void pass_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    (void)node;
    gin[0] = g;
}

static ht_tensor *record(const char *what, ht_tensor *x, ht_tensor *y)
{
    ht_node *node = y != NULL ? ht_node_new(what, pass_backward, 1, &x) : NULL;

    return node != NULL ? ht_node_set_output(node, y) : y;
}

/* x's values in a new body of the same shape. */
static ht_tensor *fill_from(const char *what, ht_body *body, ht_tensor *x)
{
    ht_tensor *y = ht__tensor_new(body);

    if (y == NULL)
        return NULL;
    if (ht__copy_local(what, y->body, x->body) != HT_SUCCESS)
        return NULL;
    return record(what, x, y);
}

static ht_body *row_major_like(const char *what, const ht_body *x)
{
    return ht__body_new(what, x->comm, x->storage->device, x->dtype, x->ndim, x->shape, x->split,
                        x->bounds);
}

ht_tensor *ht_astype(ht_tensor *x, ht_dtype dtype)
{
    if (HT_IS_NULL(x, "ht_astype", "x") || x->body->dtype == dtype)
        return x;
    if ((unsigned)dtype >= HT_DTYPE_COUNT) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "ht_astype: dtype is %d, expected an ht_dtype",
                (int)dtype);
        return NULL;
    }
    return fill_from("ht_astype", ht__body_new_as("ht_astype", x->body, dtype), x);
}

ht_tensor *ht_copy(ht_tensor *x)
{
    if (HT_IS_NULL(x, "ht_copy", "x"))
        return NULL;
    return fill_from("ht_copy", row_major_like("ht_copy", x->body), x);
}

ht_tensor *ht_contiguous(ht_tensor *x)
{
    if (HT_IS_NULL(x, "ht_contiguous", "x") || ht__body_is_contiguous(x->body))
        return x;
    return ht_copy(x);
}

ht_tensor *ht_channels_last(ht_tensor *x)
{
    ht_body *body;

    if (HT_IS_NULL(x, "ht_channels_last", "x") || ht__body_is_channels_last(x->body))
        return x;
    if (x->body->ndim != 4) {
        HT_FAIL(x->body->comm, HT_ERR_SHAPE, "ht_channels_last: x is %s, expected (N, C, H, W)",
                ht__shape_str(x->body->ndim, x->body->shape));
        return NULL;
    }
    body = row_major_like("ht_channels_last", x->body);
    if (body != NULL)
        ht__body_lay_channels_last(body);
    return fill_from("ht_channels_last", body, x);
}

/* Whether memory goes from one to the other without the host. */
static bool are_joined(const ht_device *a, const ht_device *b)
{
    return a->backend == b->backend && a->backend->copy_between != NULL;
}

/* Bytes of a dense body from one device to another, through the host where neither can do it alone.
 * ahead: NULL, or the copy to `to` is one that is joined later. */
static ht_status move_bytes(const char *what, ht_body *to, const ht_body *from, ht_side_copy *ahead)
{
    ht_device *source = from->storage->device, *target = to->storage->device;
    size_t bytes = (size_t)from->lsize * ht_dtype_size(from->dtype);
    int failed;

    if (bytes == 0)
        return HT_SUCCESS;
    if (are_joined(source, target))
        failed = target->backend->copy_between(target->stream, ht__body_data(to), source->stream,
                                               ht__body_data(from), bytes);
    else if (source->backend->host_memory && ahead != NULL)
        failed = ht__ahead_begin(ahead, target, ht__body_data(to), ht__body_data(from), bytes);
    else if (source->backend->host_memory)
        failed = ht__device_put(target, ht__body_data(to), ht__body_data(from), bytes);
    else
        failed = ht__device_get(source, ht__body_data(to), ht__body_data(from), bytes);
    return failed ? ht__kernel_failed(to->comm, what) : HT_SUCCESS;
}

static void to_device_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_to_device(g, *(ht_device **)ht_node_context(node, 0));
}

static ht_tensor *to_device(const char *what, ht_tensor *x, ht_device *device, ht_side_copy *ahead)
{
    ht_tensor *dense, *y;
    ht_node *node;
    bool was;

    if (x->body->storage->device == device)
        return x;
    was = ht_set_grad_enabled(false);
    dense = ht_contiguous(x);
    if (dense != NULL && !ht__backend_of(dense)->host_memory && !device->backend->host_memory &&
        !are_joined(dense->body->storage->device, device))
        dense = to_device(what, dense, ht__device_cpu(), NULL);
    ht_set_grad_enabled(was);
    if (dense == NULL)
        return NULL;
    y = ht__tensor_new(ht__body_new(what, x->body->comm, device, x->body->dtype, x->body->ndim,
                                    x->body->shape, x->body->split, x->body->bounds));
    if (y == NULL || move_bytes(what, y->body, dense->body, ahead) != HT_SUCCESS)
        return NULL;
    node = ht_node_new("ht_to_device", to_device_backward, 1, &x);
    if (node == NULL)
        return y;
    *(ht_device **)ht_node_context(node, sizeof(ht_device *)) = x->body->storage->device;
    return ht_node_set_output(node, y);
}

ht_tensor *ht_to_device(ht_tensor *x, ht_device *device)
{
    if (HT_IS_NULL(x, "ht_to_device", "x") || HT_IS_NULL(device, "ht_to_device", "device"))
        return NULL;
    return to_device("ht_to_device", x, device, NULL);
}

ht_tensor *ht__to_device_ahead(ht_tensor *x, ht_device *device, ht_side_copy *ahead)
{
    return to_device("ht_to_device", x, device, ahead);
}

ht_tensor *ht__on_host(const char *what, ht_tensor *x, ht_dtype dtype)
{
    bool was;

    if (x == NULL)
        return NULL;
    was = ht_set_grad_enabled(false);
    x = to_device(what, x, ht__device_cpu(),
                  NULL); /* first: a device may not know how to convert */
    x = ht_contiguous(x != NULL ? ht_astype(x, dtype) : NULL);
    ht_set_grad_enabled(was);
    return x;
}

ht_status ht__check_result(const char *what, const char *name, const ht_tensor *x,
                           const ht_tensor *result)
{
    if (result == NULL)
        return ht_error_get(NULL);
    if (ht__dtype_kind(result->body->dtype) <= ht__dtype_kind(x->body->dtype))
        return HT_SUCCESS;
    return HT_FAIL(x->body->comm, HT_ERR_DTYPE,
                   "%s: the result is %s, which %s of %s cannot hold (ht_copy_ converts)", what,
                   ht_dtype_name(result->body->dtype), name, ht_dtype_name(x->body->dtype));
}

/* The node that made `from` now made x, unless x is not what that would take the gradient of. */
static ht_node *history_of(const char *what, const ht_tensor *x, ht_tensor *from)
{
    if (!ht_is_grad_enabled())
        return NULL;
    if (from->node != NULL && ht__body_fits(x->body, from->body))
        return ht_retain(from->node);
    return ht_node_new(what, pass_backward, 1, &from); /* a leaf has no node that x could share */
}

/* The values as x has to have them: in its slabs, and not in memory that is written meanwhile. */
static ht_tensor *fit_values(const char *what, const ht_tensor *x, ht_tensor *values)
{
    ht_tensor *fitting = ht__broadcast_to(what, "the result", values, x->body->ndim,
                                          x->body->shape);

    fitting = fitting != NULL ? ht__match_slabs(what, fitting, x->body) : NULL;
    if (fitting == NULL || !ht__body_overlaps(x->body, fitting->body))
        return fitting;
    ht__compare_pause(1); /* parts of other ranks may overlap with nothing */
    fitting = ht_copy(fitting);
    ht__compare_pause(-1);
    return fitting;
}

ht_status ht__replace_values(const char *what, const char *name, ht_tensor *x, ht_tensor *values)
{
    ht_tensor *fitting;
    bool was;

    if (values == NULL)
        return ht_error_get(NULL);
    if (ht__check_in_place(what, name, x, values) != HT_SUCCESS ||
        (ht_is_grad_enabled() && !ht__is_current(values) && !ht__catch_up(what, "values", values)))
        return HT_ERR_STATE;
    was = ht_set_grad_enabled(false);
    fitting = fit_values(what, x, values);
    ht_set_grad_enabled(was);
    if (fitting == NULL)
        return ht_error_get(NULL);
    ht__storage_touch(x->body->storage);
    if (ht__copy_local(what, x->body, fitting->body) != HT_SUCCESS)
        return ht_error_get(NULL);
    ht__written(what, x, history_of(what, x, values));
    return HT_SUCCESS;
}

ht_status ht__copy_into(const char *what, ht_tensor *x, ht_tensor *y)
{
    ht_scope *scope;
    ht_status status;

    if (HT_IS_NULL(x, what, "x") || HT_IS_NULL(y, what, "y"))
        return ht_error_get(NULL);
    scope = ht_scope_open();
    y = ht__as_tensor_like(what, y, x);
    if (y == NULL || !ht__check_together_as(what, "x", x, "y", y))
        status = ht_error_get(NULL);
    else
        status = ht__replace_values(what, "x", x,
                                    ht__broadcast_to(what, "y", y, x->body->ndim, x->body->shape));
    ht_scope_close(scope);
    return status;
}

ht_status ht_copy_(ht_tensor *x, ht_tensor *y)
{
    return ht__copy_into("ht_copy_", x, y);
}

ht_status ht__fill_into(const char *what, ht_tensor *x, ht_number value)
{
    if (HT_IS_NULL(x, what, "x"))
        return ht_error_get(NULL);
    if (ht__check_in_place(what, "x", x, NULL) != HT_SUCCESS)
        return HT_ERR_STATE;
    if (!ht__check_number(what, x->body->comm, "value", x->body->dtype, value))
        return HT_ERR_ARGUMENT;
    ht__storage_touch(x->body->storage);
    ht__written(what, x, NULL);
    return ht__fill_local(what, x->body, value);
}

ht_status ht_fill_(ht_tensor *x, double value)
{
    return ht__fill_into("ht_fill_", x, ht_number_real(value));
}

ht_status ht_fill_ext_(ht_tensor *x, ht_number value)
{
    return ht__fill_into("ht_fill_ext_", x, value);
}

/* A wrapper that averages the gradients of x has made room for them, and has parameters next to it.
 */
static ht_status ask_hooks(const char *what, const ht_tensor *x, const ht_body *to)
{
    ht_status status = HT_SUCCESS;

    for (int i = 0; x->meta != NULL && i < x->meta->hook_count && status == HT_SUCCESS; i++) {
        const ht_hook *hook = &x->meta->hooks[i];

        if (hook->moving != NULL)
            status = hook->moving(what, x, to, hook->user);
    }
    return status;
}

/* A gradient of the body that x had: an update would read past its end. */
static void drop_misfit(ht_tensor *x)
{
    ht_grad_meta *meta = x->meta;

    if (meta == NULL || meta->grad == NULL || ht__body_fits(meta->grad->body, x->body))
        return;
    ht_release(meta->grad);
    meta->grad = NULL;
    meta->overwrite = false;
}

ht_status ht__check_settable(const char *what, const ht_tensor *x)
{
    if (x->view)
        return HT_FAIL(x->body->comm, HT_ERR_STATE,
                       "%s: x is a view, expected a tensor with storage of its own", what);
    if (x->node != NULL)
        return HT_FAIL(x->body->comm, HT_ERR_STATE,
                       "%s: x is the result of a recorded operation, expected a leaf", what);
    return HT_SUCCESS;
}

ht_status ht__tensor_set(const char *what, ht_tensor *x, ht_tensor *y)
{
    ht_status status = ht__check_settable(what, x);
    ht_body *old;

    if (status == HT_SUCCESS)
        status = ask_hooks(what, x, y->body);
    if (status != HT_SUCCESS)
        return status;
    if (y->body->read_only)
        return HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                       "%s: y is %s, expected a tensor that can be written", what,
                       ht__read_only_name(y->body));
    if (x->meta != NULL && x->meta->requires_grad && ht__dtype_is_exact(y->body->dtype))
        return HT_FAIL(x->body->comm, HT_ERR_DTYPE,
                       "%s: x requires gradients, but y is %s, which has none", what,
                       ht_dtype_name(y->body->dtype));
    ht__body_await(x->body); /* an update that is due goes by the old body */
    old = x->body;
    ht__storage_touch(old->storage); /* what a graph saved of it is out of date */
    x->body = ht_retain(y->body);
    x->history = x->body->storage->history;
    ht_release(old);
    drop_misfit(x);
    return HT_SUCCESS;
}

ht_status ht_tensor_set_(ht_tensor *x, ht_tensor *y)
{
    if (HT_IS_NULL(x, "ht_tensor_set_", "x") || HT_IS_NULL(y, "ht_tensor_set_", "y"))
        return ht_error_get(NULL);
    return ht__tensor_set("ht_tensor_set_", x, y);
}

/* SPDX-License-Identifier: MIT
 *
 * Copies, conversions and writes in place. */
#include "core/core.h"

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
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "ht_astype: %d is no dtype", (int)dtype);
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

/* Memory may be in another order on each rank: a part of one row is contiguous in any. */
ht_tensor *ht_contiguous(ht_tensor *x)
{
    if (HT_IS_NULL(x, "ht_contiguous", "x") || ht__body_is_contiguous(x->body))
        return x;
    ht__compare_pause(1);
    x = ht_copy(x);
    ht__compare_pause(-1);
    return x;
}

ht_tensor *ht_channels_last(ht_tensor *x)
{
    ht_body like;

    if (HT_IS_NULL(x, "ht_channels_last", "x") || ht__body_is_channels_last(x->body))
        return x;
    if (x->body->ndim != 4) {
        HT_FAIL(x->body->comm, HT_ERR_SHAPE, "ht_channels_last: expected (N, C, H, W), x is %s",
                ht__shape_str(x->body->ndim, x->body->shape));
        return NULL;
    }
    like = *x->body;
    like.stride[1] = 1;
    like.stride[3] = like.lshape[1];
    like.stride[2] = like.stride[3] * like.lshape[3];
    like.stride[0] = like.stride[2] * like.lshape[2];
    ht__compare_pause(1); /* as in ht_contiguous */
    x = fill_from("ht_channels_last", ht__body_new_as("ht_channels_last", &like, like.dtype), x);
    ht__compare_pause(-1);
    return x;
}

/* Bytes of a dense body from one device to another, through the host where neither can do it alone.
 */
static ht_status move_bytes(ht_body *to, const ht_body *from)
{
    ht_device *source = from->storage->device, *target = to->storage->device;
    size_t bytes = (size_t)from->lsize * ht_dtype_size(from->dtype);
    int failed;

    if (bytes == 0)
        return HT_SUCCESS;
    if (source->backend->host_memory)
        failed = target->backend->memory_copy(target->stream, ht__body_data(to),
                                              ht__body_data(from), bytes, HT_COPY_HOST_TO_DEVICE);
    else
        failed = source->backend->memory_copy(source->stream, ht__body_data(to),
                                              ht__body_data(from), bytes, HT_COPY_DEVICE_TO_HOST);
    return failed ? ht__kernel_failed(to->comm, "ht_to_device") : HT_SUCCESS;
}

static void to_device_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_to_device(g, *(ht_device **)ht_node_context(node, 0));
}

ht_tensor *ht_to_device(ht_tensor *x, ht_device *device)
{
    ht_tensor *dense, *y;
    ht_node *node;
    bool was;

    if (HT_IS_NULL(x, "ht_to_device", "x") || HT_IS_NULL(device, "ht_to_device", "the device"))
        return NULL;
    if (x->body->storage->device == device)
        return x;
    was = ht_set_grad_enabled(false);
    dense = ht_contiguous(x);
    if (dense != NULL && !ht__backend_of(dense)->host_memory && !device->backend->host_memory)
        dense = ht_to_device(dense, ht__device_cpu());
    ht_set_grad_enabled(was);
    if (dense == NULL)
        return NULL;
    y = ht__tensor_new(ht__body_new("ht_to_device", x->body->comm, device, x->body->dtype,
                                    x->body->ndim, x->body->shape, x->body->split,
                                    x->body->bounds));
    if (y == NULL || move_bytes(y->body, dense->body) != HT_SUCCESS)
        return NULL;
    node = ht_node_new("ht_to_device", to_device_backward, 1, &x);
    if (node == NULL)
        return y;
    *(ht_device **)ht_node_context(node, sizeof(ht_device *)) = x->body->storage->device;
    return ht_node_set_output(node, y);
}

ht_tensor *ht__on_host(ht_tensor *x, ht_dtype dtype)
{
    bool was;

    if (x == NULL)
        return NULL;
    was = ht_set_grad_enabled(false);
    x = ht_to_device(x, ht__device_cpu()); /* first: a device may not know how to convert */
    x = ht_contiguous(x != NULL ? ht_astype(x, dtype) : NULL);
    ht_set_grad_enabled(was);
    return x;
}

ht_status ht__check_result(const char *what, const ht_tensor *x, const ht_tensor *result)
{
    if (result == NULL)
        return ht_error_get(NULL);
    if (ht__dtype_kind(result->body->dtype) <= ht__dtype_kind(x->body->dtype))
        return HT_SUCCESS;
    return HT_FAIL(x->body->comm, HT_ERR_DTYPE,
                   "%s: the result is %s, which x of %s cannot hold (ht_copy_ converts)", what,
                   ht_dtype_name(result->body->dtype), ht_dtype_name(x->body->dtype));
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
    return fitting != NULL && ht__body_overlaps(x->body, fitting->body) ? ht_copy(fitting)
                                                                        : fitting;
}

ht_status ht__replace_values(const char *what, ht_tensor *x, ht_tensor *values)
{
    ht_tensor *fitting;
    bool was;

    if (values == NULL)
        return ht_error_get(NULL);
    if (ht__check_in_place(what, x, values) != HT_SUCCESS ||
        (ht_is_grad_enabled() && !ht__is_current(values) && !ht__catch_up(what, values)))
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

ht_status ht_copy_(ht_tensor *x, ht_tensor *y)
{
    ht_scope *scope;
    ht_status status;

    if (HT_IS_NULL(x, "ht_copy_", "x") || HT_IS_NULL(y, "ht_copy_", "y"))
        return ht_error_get(NULL);
    if (!ht__check_together("ht_copy_", x, y))
        return ht_error_get(NULL);
    scope = ht_scope_open();
    status = ht__replace_values(
        "ht_copy_", x, ht__broadcast_to("ht_copy_", "y", y, x->body->ndim, x->body->shape));
    ht_scope_close(scope);
    return status;
}

static ht_status fill(const char *what, ht_tensor *x, ht_number value)
{
    if (HT_IS_NULL(x, what, "x"))
        return ht_error_get(NULL);
    if (ht__check_in_place(what, x, NULL) != HT_SUCCESS)
        return HT_ERR_STATE;
    ht__storage_touch(x->body->storage);
    ht__written(what, x, NULL);
    return ht__fill_local(what, x->body, value);
}

ht_status ht_fill_(ht_tensor *x, double value)
{
    return fill("ht_fill_", x, ht__real(value));
}

ht_status ht_fill_i64_(ht_tensor *x, int64_t value)
{
    return fill("ht_fill_i64_", x, ht__integer(value));
}

/* Who waits for gradients of x as they come has made room for them. */
static bool may_become(const ht_tensor *x, const ht_tensor *y)
{
    bool same = ht__body_fits(x->body, y->body);

    for (int i = 0; !same && x->meta != NULL && i < x->meta->hook_count; i++) {
        if (x->meta->hooks[i].early)
            return false;
    }
    return true;
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

ht_status ht__tensor_set(const char *what, ht_tensor *x, ht_tensor *y)
{
    ht_body *old;

    if (x->view)
        return HT_FAIL(x->body->comm, HT_ERR_STATE, "%s: x is a view", what);
    if (x->node != NULL)
        return HT_FAIL(x->body->comm, HT_ERR_STATE, "%s: a graph needs x", what);
    if (!may_become(x, y))
        return HT_FAIL(x->body->comm, HT_ERR_STATE,
                       "%s: x is %s and was to become %s: they have to agree where a data-parallel "
                       "wrapper averages the gradient of x",
                       what, ht__body_str(x->body), ht__body_str(y->body));
    if (y->body->read_only)
        return HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                       "%s: y is a read-only view (ht_broadcast_to), whose elements share memory",
                       what);
    if (x->meta != NULL && x->meta->requires_grad && ht__dtype_is_exact(y->body->dtype))
        return HT_FAIL(x->body->comm, HT_ERR_DTYPE,
                       "%s: x requires gradients, and y is %s, which has none", what,
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

/* SPDX-License-Identifier: MIT
 *
 * Checks, results and gradients that the functions of this folder share. */
#include "nn/functional/functional.h"

bool ht__check_batch(const char *what, const char *name, ht_tensor *x, int ndim)
{
    const ht_body *body = x->body;

    if (!ht_dtype_is_floating(body->dtype)) {
        HT_FAIL(body->comm, HT_ERR_DTYPE, "%s: %s is %s, a floating dtype is needed", what, name,
                ht_dtype_name(body->dtype));
        return false;
    }
    if ((ndim > 0 && body->ndim != ndim) || body->ndim == 0) {
        HT_FAIL(body->comm, HT_ERR_SHAPE, "%s: %s is %s, %d %s needed", what, name,
                ht__shape_str(body->ndim, body->shape), ndim > 0 ? ndim : 1,
                ndim > 1 ? "axes are" : "axis at least is");
        return false;
    }
    if (body->split != HT_NONE && (body->split != 0 || body->ndim == 1)) {
        HT_FAIL(body->comm, HT_ERR_ARGUMENT,
                "%s: %s is split along axis %d; only the batch axis (0) may be split", what, name,
                body->split);
        return false;
    }
    return true;
}

/* Parameters of layers are process-local: a split x does not meet them. */
static bool check_ranks(const char *what, const char *name, const ht_tensor *parameter,
                        const ht_tensor *x)
{
    int of_x = x->body->comm->size, of_parameter = parameter->body->comm->size;

    if (of_x == of_parameter)
        return true;
    HT_FAIL(of_x > of_parameter ? x->body->comm : parameter->body->comm, HT_ERR_COMM,
            "%s: x lives on %d rank%s, %s on %d: take %s, the part of this rank", what, of_x,
            of_x > 1 ? "s" : "", name, of_parameter,
            of_x > of_parameter ? "ht_tensor_local(x)" : "ht_tensor_local of it");
    return false;
}

bool ht__check_parameter(const char *what, const char *name, const ht_tensor *parameter,
                         const ht_tensor *x)
{
    const ht_body *p = parameter->body;

    if (!check_ranks(what, name, parameter, x) || !ht__check_together(what, x, parameter))
        return false;
    if (p->dtype != x->body->dtype) {
        HT_FAIL(x->body->comm, HT_ERR_DTYPE, "%s: x is %s, %s is %s", what,
                ht_dtype_name(x->body->dtype), name, ht_dtype_name(p->dtype));
        return false;
    }
    if (p->split != HT_NONE) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                "%s: %s is split along axis %d, it must be replicated", what, name, p->split);
        return false;
    }
    return true;
}

int64_t ht__window_count(int64_t in, int64_t kernel, int64_t stride, int64_t padding,
                         int64_t dilation)
{
    int64_t reach, room;

    if (kernel < 1 || __builtin_mul_overflow(kernel - 1, dilation, &reach) ||
        __builtin_mul_overflow(padding, 2, &room) || __builtin_add_overflow(room, in, &room) ||
        room <= reach)
        return 0;
    return (room - reach - 1) / stride + 1;
}

bool ht__dense_if_any(ht_tensor **x)
{
    if (*x == NULL)
        return true;
    *x = ht_contiguous(*x);
    return *x != NULL;
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

    if (y == NULL)
        return NULL;
    y->body->stride[1] = 1;
    y->body->stride[3] = shape[1];
    y->body->stride[2] = shape[1] * shape[3];
    return y; /* stride[0], of whole images, is the same in both layouts */
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

bool ht__may_overwrite(const ht_tensor *grad)
{
    /* The engine's scope has one reference to the handle, the handle the only one to the rest. */
    return !grad->view && grad->meta == NULL && ht__object_count(grad) == 1 &&
           ht__object_count(grad->body) == 1 && ht__object_count(grad->body->storage) == 1 &&
           !grad->body->read_only;
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

/* SPDX-License-Identifier: MIT
 *
 * The softmax family, by differentiable operations, and log-softmax along a split axis. The maximum
 * along the axis is subtracted first: a constant, which changes neither values nor gradients. */
#include "nn/functional/softmax.h"

#include "ht/arithmetics.h"
#include "ht/exponential.h"
#include "ht/manipulations.h"
#include "ht/statistics.h"

#include "nn/functional/functional.h"

static const ht_operand_rule rules[] = {
    {"x", .dtype = HT_DTYPE_FLOATING, .cast = HT_CAST_HIGH},
};

/* Sums have more digits than 16 bits. */
static ht_tensor *widened(ht_tensor *x)
{
    return ht_dtype_size(x->body->dtype) < 4 ? ht_astype(x, HT_FLOAT32) : x;
}

static ht_tensor *shifted(ht_tensor *x, const ht_reduce_options *along)
{
    return ht_sub(x, ht_max_ext(ht_detach(x), along));
}

static ht_reduce_options keeping(const int *axis)
{
    ht_reduce_options along = ht_reduce_options_default();

    along.axes = axis;
    along.count = 1;
    along.keepdims = true;
    return along;
}

static ht_tensor *as(ht_tensor *y, const ht_tensor *x)
{
    return y == NULL || y->body->dtype == x->body->dtype ? y : ht_astype(y, x->body->dtype);
}

static ht_tensor *softmax(const char *what, ht_tensor *x, int axis, double sign)
{
    const ht_reduce_options along = keeping(&axis);
    ht_tensor *exponentials;

    if (!HT_PREPARE(what, rules, &x))
        return NULL;
    if (x->body->ndim == 0)
        return ht_squeeze(softmax(what, ht_expand_dims(x, 0), axis, sign), 0);
    if (!ht__check_axis(what, x, &axis))
        return NULL;
    if (ht_tensor_size(x) == 0)
        return ht_mul_scalar(x, 1);
    exponentials = ht_exp(shifted(ht_mul_scalar(widened(x), sign), &along));
    return as(ht_div(exponentials, ht_sum_ext(exponentials, &along)), x);
}

ht_tensor *ht_softmax(ht_tensor *x, int axis)
{
    return softmax("ht_softmax", x, axis, 1);
}

ht_tensor *ht_softmin(ht_tensor *x, int axis)
{
    return softmax("ht_softmin", x, axis, -1);
}

ht_tensor *ht__log_softmax_composed(ht_tensor *x, int axis)
{
    const ht_reduce_options along = keeping(&axis);
    ht_tensor *z;

    if (ht_tensor_size(x) == 0)
        return ht_mul_scalar(x, 1);
    z = shifted(widened(x), &along);
    return as(ht_sub(z, ht_log(ht_sum_ext(ht_exp(z), &along))), x);
}

ht_tensor *ht_glu(ht_tensor *x, int axis)
{
    ht_tensor *half[2] = {NULL, NULL};

    if (!HT_PREPARE("ht_glu", rules, &x) || !ht__check_axis("ht_glu", x, &axis))
        return NULL;
    if (x->body->shape[axis] % 2 != 0) {
        HT_FAIL(x->body->comm, HT_ERR_SHAPE,
                "ht_glu: axis %d of x %s is %lld long, expected an even length", axis,
                ht__shape_str(x->body->ndim, x->body->shape), (long long)x->body->shape[axis]);
        return NULL;
    }
    if (ht_split(x, 2, axis, half) != HT_SUCCESS)
        return NULL;
    return ht_mul(half[0], ht_sigmoid(half[1]));
}

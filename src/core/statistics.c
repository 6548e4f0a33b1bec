/* SPDX-License-Identifier: MIT
 *
 * Mean, variance and extremes. */
#include "ht/statistics.h"

#include "core.h"
#include "ht/arithmetics.h"
#include "ht/exponential.h"
#include "ht/manipulations.h"
#include "ht/relational.h"

ht_tensor *ht_mean(ht_tensor *x, int axis)
{
    int64_t count;

    if (HT_IS_NULL(x, "ht_mean", "x") || (axis != HT_NONE && !ht__check_axis("ht_mean", x, &axis)))
        return NULL;
    count = axis == HT_NONE ? ht_tensor_size(x) : x->body->shape[axis];
    if (x->body->dtype == HT_BOOL || ht_dtype_is_integer(x->body->dtype))
        x = ht_astype(x, HT_FLOAT32);
    return ht_div_scalar(ht_sum(x, axis), (double)count);
}

ht_tensor *ht_var(ht_tensor *x, int axis)
{
    ht_tensor *mean = ht_mean(x, axis), *distance;

    if (mean == NULL)
        return NULL;
    if (axis != HT_NONE)
        mean = ht_expand_dims(mean, axis < 0 ? axis + x->body->ndim : axis);
    distance = ht_sub(x, mean);
    return ht_mean(ht_mul(distance, distance), axis);
}

ht_tensor *ht_std(ht_tensor *x, int axis)
{
    return ht_sqrt(ht_var(x, axis));
}

/* The elements equal to the extreme share its gradient. */
static void extreme_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const ht_reduce_context *context = ht_node_context(node, 0);
    ht_tensor *x = ht_node_saved(node, 0), *y = ht_node_saved(node, 1), *ties, *count;

    if (context->axis != HT_NONE && !context->keepdim) {
        g = ht_expand_dims(g, context->axis);
        y = ht_expand_dims(y, context->axis);
    }
    ties = ht_eq(x, y);
    count = context->axis == HT_NONE ? ht_sum(ties, HT_NONE) : ht_sum_keepdim(ties, context->axis);
    gin[0] = ht_mul(ht_astype(ties, g->body->dtype), ht_div(g, ht_astype(count, g->body->dtype)));
}

static const ht_reduce_row max_row = {"ht_max", HT_REDUCE_MAX,    HT_OP_MAX,
                                      true,     extreme_backward, true};
static const ht_reduce_row min_row = {"ht_min", HT_REDUCE_MIN,    HT_OP_MIN,
                                      true,     extreme_backward, true};
static const ht_reduce_row argmax_row = {"ht_argmax", HT_REDUCE_ARGMAX, HT_OP_MAX, true, NULL,
                                         false};
static const ht_reduce_row argmin_row = {"ht_argmin", HT_REDUCE_ARGMIN, HT_OP_MIN, true, NULL,
                                         false};

ht_tensor *ht_max(ht_tensor *x, int axis)
{
    return ht__reduce(&max_row, x, axis, false);
}

ht_tensor *ht_min(ht_tensor *x, int axis)
{
    return ht__reduce(&min_row, x, axis, false);
}

/* What was taken gets the gradient, of equals each a half; NaN, which is unlike itself, gets none.
 */
static ht_tensor *share_out(ht_tensor *g, ht_tensor *taken, ht_tensor *equal)
{
    return ht_add(ht_mul(g, taken), ht_mul(ht_mul_scalar(g, 0.5), equal));
}

static void maximum_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *a = ht_node_saved(node, 0), *b = ht_node_saved(node, 1), *equal = ht_eq(a, b);

    if (ht_node_needs(node, 0))
        gin[0] = share_out(g, ht_gt(a, b), equal);
    if (ht_node_needs(node, 1))
        gin[1] = share_out(g, ht_gt(b, a), equal);
}

static void minimum_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *a = ht_node_saved(node, 0), *b = ht_node_saved(node, 1), *equal = ht_eq(a, b);

    if (ht_node_needs(node, 0))
        gin[0] = share_out(g, ht_lt(a, b), equal);
    if (ht_node_needs(node, 1))
        gin[1] = share_out(g, ht_lt(b, a), equal);
}

static const ht_binary_op maximum_op = {.name = "ht_maximum",
                                        .kernel = HT_BINARY_MAXIMUM,
                                        .save_operands = true,
                                        .no_bool = true,
                                        .no_complex = true,
                                        .backward = maximum_backward};
static const ht_binary_op minimum_op = {.name = "ht_minimum",
                                        .kernel = HT_BINARY_MINIMUM,
                                        .save_operands = true,
                                        .no_bool = true,
                                        .no_complex = true,
                                        .backward = minimum_backward};

ht_tensor *ht_maximum(ht_tensor *a, ht_tensor *b)
{
    return ht__binary(&maximum_op, a, b);
}

ht_tensor *ht_minimum(ht_tensor *a, ht_tensor *b)
{
    return ht__binary(&minimum_op, a, b);
}

ht_tensor *ht_argmax(ht_tensor *x, int axis)
{
    return ht__reduce(&argmax_row, x, axis, false);
}

ht_tensor *ht_argmin(ht_tensor *x, int axis)
{
    return ht__reduce(&argmin_row, x, axis, false);
}

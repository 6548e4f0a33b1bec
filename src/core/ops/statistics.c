/* SPDX-License-Identifier: MIT
 *
 * Mean, variance and extremes. */
#include "ht/statistics.h"

#include "core/core.h"
#include "ht/arithmetics.h"
#include "ht/exponential.h"
#include "ht/manipulations.h"
#include "ht/relational.h"

/* Whether every whole number up to count is one of dtype's. */
static bool holds(ht_dtype dtype, int64_t count)
{
    switch (dtype) {
    case HT_BFLOAT16:
        return count <= 1 << 8;
    case HT_FLOAT16:
        return count <= 1 << 11;
    case HT_FLOAT32:
    case HT_COMPLEX64:
        return count <= 1 << 24;
    default:
        return true;
    }
}

ht_tensor *ht__over_count(ht_tensor *x, int64_t count)
{
    ht_dtype dtype;

    if (x == NULL || holds(x->body->dtype, count))
        return ht_div_scalar(x, (double)count);
    dtype = x->body->dtype;
    x = ht_astype(x, ht_dtype_is_complex(dtype) ? HT_COMPLEX128 : HT_FLOAT64);
    return ht_astype(ht_div_scalar(x, (double)count), dtype);
}

static int64_t count_along(const ht_body *x, int axis)
{
    int64_t count = 1;

    for (int i = 0; i < x->ndim; i++)
        count *= axis == HT_NONE || axis == i ? x->shape[i] : 1;
    return count;
}

static void mean_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const ht_reduce_context *context = ht_node_context(node, 0);
    const ht_body *x = ht__node_input(node, 0);

    g = ht__over_count(g, count_along(x, context->axis));
    if (context->axis != HT_NONE)
        g = ht_expand_dims(g, context->axis);
    gin[0] = ht_broadcast_to(g, x->ndim, x->shape);
}

static const ht_reduce_row mean_row = {
    .name = "ht_mean", .kernel = HT_REDUCE_MEAN, .across = HT_OP_SUM, .backward = mean_backward};

ht_tensor *ht_mean(ht_tensor *x, int axis)
{
    return ht__reduce(&mean_row, x, axis, false);
}

/* What distances are computed in: 16 bits would lose most of their digits. */
static ht_dtype distance_dtype(ht_dtype dtype)
{
    return dtype == HT_FLOAT16 || dtype == HT_BFLOAT16 ? HT_FLOAT32 : dtype;
}

/* Of a variance: that of the parts of complex numbers. */
static ht_dtype real_dtype(ht_dtype dtype)
{
    if (ht_dtype_is_complex(dtype))
        return dtype == HT_COMPLEX64 ? HT_FLOAT32 : HT_FLOAT64;
    return ht_dtype_is_floating(dtype) ? dtype : HT_FLOAT32;
}

typedef struct deviation_context {
    int axis;
    bool root;
} deviation_context;

/* var: gx = 2 g (x - mean) / n; std = sqrt(var): gx = g (x - mean) / (n std). */
static void deviation_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const deviation_context *context = ht_node_context(node, 0);
    ht_tensor *x = ht_node_saved(node, 0), *y = ht_node_saved(node, 1), *centre, *distance;
    ht_dtype dtype;
    int64_t count;

    if (x == NULL || (context->root && y == NULL))
        return;
    dtype = distance_dtype(x->body->dtype);
    count = count_along(x->body, context->axis);
    g = ht_mul_scalar(ht_astype(g, real_dtype(dtype)), (context->root ? 1.0 : 2.0) / (double)count);
    if (context->root)
        g = ht_div(g, ht_astype(y, real_dtype(dtype)));
    if (context->axis != HT_NONE)
        g = ht_expand_dims(g, context->axis);
    centre = ht__mean_wide(context->root ? "ht_std" : "ht_var", x, context->axis,
                           context->axis != HT_NONE, NULL);
    distance = ht_sub(ht_astype(x, dtype), ht_astype(centre, dtype));
    gin[0] = ht_mul(distance, g);
}

/* In two passes, both in the accumulator's dtype. */
static ht_tensor *deviation(const char *what, ht_tensor *x, int axis, bool root)
{
    ht_tensor *y;
    ht_node *node;
    bool was;

    if (HT_IS_NULL(x, what, "x") || (axis != HT_NONE && !ht__check_axis(what, x, &axis)))
        return NULL;
    was = ht_set_grad_enabled(false);
    y = ht__mean_wide(what, x, axis, false, NULL);
    y = y != NULL ? ht__mean_wide(what, x, axis, false, y) : NULL;
    y = ht_astype(root ? ht_sqrt(y) : y, real_dtype(x->body->dtype));
    ht_set_grad_enabled(was);
    node = y != NULL ? ht_node_new(what, deviation_backward, 1, &x) : NULL;
    if (node == NULL)
        return y;
    *(deviation_context *)ht_node_context(node, sizeof(deviation_context)) = (deviation_context){
        axis, root};
    ht_node_save(node, x);
    ht_node_save(node, root ? y : NULL);
    return ht_node_set_output(node, y);
}

ht_tensor *ht_var(ht_tensor *x, int axis)
{
    return deviation("ht_var", x, axis, false);
}

ht_tensor *ht_std(ht_tensor *x, int axis)
{
    return deviation("ht_std", x, axis, true);
}

/* g where the mask is set, else 0: 0 times an infinity would be NaN. */
static ht_tensor *masked(ht_tensor *g, ht_tensor *mask)
{
    static const ht_binary_op op = {.name = "ht_backward", .kernel = HT_BINARY_RELU_GRAD};

    return ht__binary(&op, g, mask);
}

/* The elements equal to the extreme share its gradient. */
static void extreme_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const ht_reduce_context *context = ht_node_context(node, 0);
    ht_tensor *x = ht_node_saved(node, 0), *y = ht_node_saved(node, 1), *ties, *count;
    ht_dtype dtype;

    if (context->axis != HT_NONE && !context->keepdim) {
        g = ht_expand_dims(g, context->axis);
        y = ht_expand_dims(y, context->axis);
    }
    ties = ht_eq(x, y);
    count = context->axis == HT_NONE ? ht_sum(ties, HT_NONE) : ht_sum_keepdim(ties, context->axis);
    dtype = g->body->dtype; /* which may not hold the count */
    g = ht_div(ht_astype(g, HT_FLOAT64), ht_astype(count, HT_FLOAT64));
    gin[0] = masked(ht_astype(g, dtype), ties);
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
    return ht_add(masked(g, taken), masked(ht_mul_scalar(g, 0.5), equal));
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

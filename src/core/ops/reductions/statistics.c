/* SPDX-License-Identifier: MIT
 *
 * Mean, variance and extremes. */
#include "core/ops/drivers/drivers.h"
#include "ht/statistics.h"

#include "ht/arithmetics.h"
#include "ht/exponential.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/manipulations.h"
#include "ht/kernels/elementwise.h"
#include "ht/kernels/reduce.h"
#include "ht/relational.h"
#include "ht/rounding.h"

#include <math.h>

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
    x = ht_astype(x, ht__dtype_wide(dtype));
    return ht_astype(ht_div_scalar(x, (double)count), dtype);
}

static void mean_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const ht_reduce_over *over = ht_node_context(node, 0);
    const ht_body *x = ht__node_input(node, 0);

    g = ht__reduce_undone(over, ht__over_count(g, ht__reduce_count(x, over)), x->ndim);
    gin[0] = ht_broadcast_to(g, x->ndim, x->shape);
}

static const ht_reduce_row mean_row = {
    .name = "ht_mean", .kernel = HT_KERNEL_MEAN, .across = HT_OP_SUM, .backward = mean_backward};

ht_tensor *ht_ptp(ht_tensor *x, int axis)
{
    HT_NAMED("ht_ptp");
    ht_tensor *max = ht_max(x, axis), *min = max != NULL ? ht_min(x, axis) : NULL;

    return min != NULL ? ht_sub(max, min) : NULL;
}

ht_tensor *ht_mean(ht_tensor *x, int axis)
{
    return ht__reduce(&mean_row, x, axis);
}

static ht_dtype mean_dtype(ht_dtype dtype)
{
    return ht__dtype_is_exact(dtype) ? HT_FLOAT32 : dtype;
}

/* Integers are added up in float64, as means of all elements are. */
static ht_tensor *mean_where(const char *what, ht_tensor *x, ht_tensor *where,
                             const ht_reduce_over *over)
{
    ht_tensor *sum, *count;

    if (ht__dtype_is_exact(x->body->dtype))
        x = ht_astype(x, HT_FLOAT64);
    x = ht__masked(what, x, where);
    sum = x != NULL ? ht__sum_over(what, x, over) : NULL;
    count = sum != NULL ? ht__count_where(what, x, where, over) : NULL;
    return count != NULL ? ht_div(sum, ht_astype(count, HT_FLOAT64)) : NULL;
}

ht_tensor *ht_mean_ext(ht_tensor *x, const ht_reduce_options *options)
{
    const unsigned takes = HT_TAKES_DTYPE | HT_TAKES_FLOATING | HT_TAKES_WHERE;
    ht_reduce_row row = mean_row;
    ht_reduce_options o;
    ht_reduce_over over;
    ht_dtype dtype;

    row.name = "ht_mean_ext";
    if (!ht__reduce_options(row.name, x, options, takes, &o, &over))
        return NULL;
    dtype = o.dtype != HT_DTYPE_COUNT ? o.dtype : mean_dtype(x->body->dtype);
    x = o.dtype != HT_DTYPE_COUNT ? ht_astype(x, dtype) : x;
    if (x == NULL || o.where == NULL)
        return ht__reduce_over(&row, x, &over);
    return ht_astype(mean_where(row.name, x, o.where, &over), dtype);
}

/* The dtype of a variance: that of the parts of complex numbers. */
static ht_dtype real_dtype(ht_dtype dtype)
{
    if (ht_dtype_is_complex(dtype))
        return dtype == HT_COMPLEX64 ? HT_FLOAT32 : HT_FLOAT64;
    return ht_dtype_is_floating(dtype) ? dtype : HT_FLOAT32;
}

typedef struct deviation_context {
    ht_reduce_over over;
    double divisor;
    bool root;
} deviation_context;

/* var: gx = 2 g (x - mean) / n; std = sqrt(var): gx = g (x - mean) / (n std), or 0 if std is 0. In
 * the accumulator's dtype: the mean may lie between two numbers of x's. */
static void deviation_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const deviation_context *context = ht_node_context(node, 0);
    ht_tensor *x = ht_node_saved(node, 0), *y = ht_node_saved(node, 1), *centre, *distance;
    const ht_reduce_over kept = {context->over.axes, true};
    ht_dtype dtype;

    if (x == NULL || (context->root && y == NULL))
        return;
    dtype = ht__dtype_wide(x->body->dtype);
    g = ht_mul_scalar(ht_astype(g, real_dtype(dtype)),
                      (context->root ? 1.0 : 2.0) / context->divisor);
    if (context->root)
        g = ht__grad_where(ht_div(g, ht_astype(y, real_dtype(dtype))), ht_ne(y, ht_scalar(0)));
    g = ht__reduce_undone(&context->over, g, x->body->ndim);
    centre = ht__mean_wide(context->root ? "ht_std" : "ht_var", x, &kept);
    distance = ht_sub(ht_astype(x, dtype), centre);
    gin[0] = ht_astype(ht_mul(distance, g), x->body->dtype);
}

static ht_tensor *deviation(const char *what, ht_tensor *x, const ht_reduce_over *over,
                            int64_t ddof, bool root)
{
    const double divisor = fmax((double)(ht__reduce_count(x->body, over) - ddof), 0);
    ht_tensor *y;
    ht_node *node;
    bool was;

    was = ht_set_grad_enabled(false);
    y = ht__spread_wide(what, x, over, divisor);
    y = ht_astype(root ? ht_sqrt(y) : y, real_dtype(x->body->dtype));
    ht_set_grad_enabled(was);
    node = y != NULL ? ht_node_new(what, deviation_backward, 1, &x) : NULL;
    if (node == NULL)
        return y;
    *(deviation_context *)ht_node_context(node, sizeof(deviation_context)) = (deviation_context){
        *over, divisor, root};
    ht_node_save(node, x);
    ht_node_save(node, root ? y : NULL);
    return ht_node_set_output(node, y);
}

ht_tensor *ht_var(ht_tensor *x, int axis)
{
    ht_reduce_over over;

    return ht__reduce_axis("ht_var", x, axis, &over) ? deviation("ht_var", x, &over, 0, false)
                                                     : NULL;
}

ht_tensor *ht_std(ht_tensor *x, int axis)
{
    ht_reduce_over over;

    return ht__reduce_axis("ht_std", x, axis, &over) ? deviation("ht_std", x, &over, 0, true)
                                                     : NULL;
}

/* Distances from the mean of what counts, in the accumulator's dtype. */
static ht_tensor *deviation_where(const char *what, ht_tensor *x, ht_tensor *where,
                                  const ht_reduce_over *over, int64_t ddof)
{
    const ht_reduce_over kept = {over->axes, true};
    ht_tensor *distance, *squares, *count;

    x = ht_astype(x, ht__dtype_wide(x->body->dtype));
    if (x == NULL)
        return NULL;
    distance = ht__masked(what, ht_sub(x, mean_where(what, x, where, &kept)), where);
    squares = ht_astype(ht_mul(distance, ht__conj(distance)), HT_FLOAT64);
    count = squares != NULL ? ht__count_where(what, x, where, over) : NULL;
    if (count == NULL)
        return NULL;
    count = ht_sub_scalar(ht_astype(count, HT_FLOAT64), (double)ddof);
    count = count != NULL ? ht_clip(count, 0, INFINITY) : NULL;
    return count != NULL ? ht_div(ht__sum_over(what, squares, over), count) : NULL;
}

/* The root of variances, with the gradient 0 where one is 0. */
static ht_tensor *safe_root(ht_tensor *x)
{
    ht_tensor *none = ht_eq(x, ht_scalar(0)), *y = ht_sqrt(ht_where(none, ht_scalar(1), x));

    return y != NULL ? ht_where(none, ht_scalar(0), y) : NULL;
}

static ht_tensor *deviation_ext(const char *what, ht_tensor *x, const ht_reduce_options *options,
                                bool root)
{
    const unsigned takes = HT_TAKES_DTYPE | HT_TAKES_FLOATING | HT_TAKES_DDOF | HT_TAKES_WHERE;
    ht_reduce_options o;
    ht_reduce_over over;
    ht_dtype dtype;

    if (!ht__reduce_options(what, x, options, takes, &o, &over))
        return NULL;
    x = o.dtype != HT_DTYPE_COUNT ? ht_astype(x, o.dtype) : x;
    if (x == NULL || o.where == NULL)
        return x != NULL ? deviation(what, x, &over, o.ddof, root) : NULL;
    dtype = real_dtype(x->body->dtype);
    x = deviation_where(what, x, o.where, &over, o.ddof);
    return x != NULL ? ht_astype(root ? safe_root(x) : x, dtype) : NULL;
}

ht_tensor *ht_var_ext(ht_tensor *x, const ht_reduce_options *options)
{
    return deviation_ext("ht_var_ext", x, options, false);
}

ht_tensor *ht_std_ext(ht_tensor *x, const ht_reduce_options *options)
{
    return deviation_ext("ht_std_ext", x, options, true);
}

/* The elements equal to the extreme share its gradient. */
static void extreme_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const ht_reduce_over *over = ht_node_context(node, 0);
    static const ht_reduce_row ties_row = {
        .name = "ht_backward", .kernel = HT_KERNEL_SUM, .across = HT_OP_SUM};
    const ht_reduce_over kept = {over->axes, true};
    ht_tensor *x = ht_node_saved(node, 0), *y = ht_node_saved(node, 1), *ties, *count;
    ht_dtype dtype;

    if (x == NULL || y == NULL)
        return;
    g = ht__reduce_undone(over, g, x->body->ndim);
    y = ht__reduce_undone(over, y, x->body->ndim);
    ties = ht_eq(x, y);
    count = ht__reduce_over(&ties_row, ties, &kept);
    if (g == NULL || count == NULL)
        return;
    dtype = g->body->dtype; /* which may not hold the count */
    g = ht_div(ht_astype(g, HT_FLOAT64), ht_astype(count, HT_FLOAT64));
    gin[0] = ht__grad_where(ht_astype(g, dtype), ties);
}

static const ht_reduce_row max_row = {.name = "ht_max",
                                      .kernel = HT_KERNEL_MAX,
                                      .across = HT_OP_MAX,
                                      .needs_elements = true,
                                      .needs_order = true,
                                      .backward = extreme_backward,
                                      .save = true};
static const ht_reduce_row min_row = {.name = "ht_min",
                                      .kernel = HT_KERNEL_MIN,
                                      .across = HT_OP_MIN,
                                      .needs_elements = true,
                                      .needs_order = true,
                                      .backward = extreme_backward,
                                      .save = true};
static const ht_reduce_row argmax_row = {.name = "ht_argmax",
                                         .kernel = HT_KERNEL_ARGMAX,
                                         .across = HT_OP_MAX,
                                         .needs_elements = true,
                                         .needs_order = true};
static const ht_reduce_row argmin_row = {.name = "ht_argmin",
                                         .kernel = HT_KERNEL_ARGMIN,
                                         .across = HT_OP_MIN,
                                         .needs_elements = true,
                                         .needs_order = true};

ht_tensor *ht_max(ht_tensor *x, int axis)
{
    return ht__reduce(&max_row, x, axis);
}

ht_tensor *ht_min(ht_tensor *x, int axis)
{
    return ht__reduce(&min_row, x, axis);
}

/* The larger or smaller element gets the gradient, and equal ones half each; NaN, which is unlike
 * itself, gets none.
 */
static ht_tensor *share_out(ht_tensor *g, ht_tensor *taken, ht_tensor *equal)
{
    return ht_add(ht__grad_where(g, taken), ht__grad_where(ht_mul_scalar(g, 0.5), equal));
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

static const ht_broadcast_op maximum_op = {.name = "ht_maximum",
                                           .kernel = HT_KERNEL_MAXIMUM,
                                           .save_operands = true,
                                           .backward = maximum_backward};
static const ht_broadcast_op minimum_op = {.name = "ht_minimum",
                                           .kernel = HT_KERNEL_MINIMUM,
                                           .save_operands = true,
                                           .backward = minimum_backward};

ht_tensor *ht_maximum(ht_tensor *a, ht_tensor *b)
{
    return ht__binary(&maximum_op, a, b);
}

ht_tensor *ht_minimum(ht_tensor *a, ht_tensor *b)
{
    return ht__binary(&minimum_op, a, b);
}

/* With an initial value there may be no elements; it is one more operand. */
static ht_tensor *extreme_ext(const ht_reduce_row *of, const char *what, ht_tensor *x,
                              const ht_reduce_options *options)
{
    const unsigned takes = of->backward != NULL ? HT_TAKES_INITIAL : 0;
    ht_broadcast_op larger = of->kernel == HT_KERNEL_MAX ? maximum_op : minimum_op;
    ht_reduce_row row = *of;
    ht_reduce_options o;
    ht_reduce_over over;
    ht_tensor *y;

    if (!ht__reduce_options(what, x, options, takes, &o, &over))
        return NULL;
    row.name = what;
    row.needs_elements = o.initial == NULL;
    y = ht__reduce_over(&row, x, &over);
    if (y == NULL || o.initial == NULL)
        return y;
    larger.name = what;
    return ht_astype(ht__binary_scalar(&larger, y, *o.initial), y->body->dtype);
}

ht_tensor *ht_max_ext(ht_tensor *x, const ht_reduce_options *options)
{
    return extreme_ext(&max_row, "ht_max_ext", x, options);
}

ht_tensor *ht_min_ext(ht_tensor *x, const ht_reduce_options *options)
{
    return extreme_ext(&min_row, "ht_min_ext", x, options);
}

ht_tensor *ht_argmax_ext(ht_tensor *x, const ht_reduce_options *options)
{
    return extreme_ext(&argmax_row, "ht_argmax_ext", x, options);
}

ht_tensor *ht_argmin_ext(ht_tensor *x, const ht_reduce_options *options)
{
    return extreme_ext(&argmin_row, "ht_argmin_ext", x, options);
}

ht_tensor *ht_argmax(ht_tensor *x, int axis)
{
    return ht__reduce(&argmax_row, x, axis);
}

ht_tensor *ht_argmin(ht_tensor *x, int axis)
{
    return ht__reduce(&argmin_row, x, axis);
}

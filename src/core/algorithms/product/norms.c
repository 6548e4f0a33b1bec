/* SPDX-License-Identifier: MIT
 *
 * Norms of vectors and matrices. Each rank reduces its part, and the partial results are combined
 * like those of any reduction: a sum of powers in float64, which is rounded after the root. Orders
 * 1 and 2 take one pass over x. Other orders take a tensor of powers, after scaling to near 1.
 * float64 operands are scaled, too, if their squares are out of range. */
#include "core/ops/drivers/drivers.h"
#include "ht/linalg.h"

#include <math.h>

#include "ht/arithmetics.h"
#include "ht/complex_math.h"
#include "ht/exponential.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/kernels/reduce.h"
#include "ht/logical.h"
#include "ht/manipulations.h"
#include "ht/relational.h"
#include "ht/rounding.h"
#include "ht/statistics.h"

/* ---- sums of powers -------------------------------------------------------------------------- */

typedef struct power_context {
    ht_reduce_over over;
    double ord;
} power_context;

/* The dtype in which powers are computed: 16 bits would lose most of their digits. */
static ht_dtype powers_dtype(ht_dtype dtype)
{
    return dtype == HT_FLOAT16 || dtype == HT_BFLOAT16 ? HT_FLOAT32 : dtype;
}

/* d|x| / dx times (|x| / norm)^(ord - 1), and 0 where x is 0. */
static void power_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const power_context *kept = ht_node_context(node, 0);
    ht_tensor *x = ht_node_saved(node, 0), *norm = ht_node_saved(node, 1), *slope, *size;
    ht_dtype dtype;

    if (x == NULL || norm == NULL)
        return;
    dtype = x->body->dtype;
    x = ht_astype(x, powers_dtype(dtype));
    norm = ht__reduce_undone(&kept->over, norm, x->body->ndim);
    g = ht__reduce_undone(&kept->over, ht_astype(g, norm->body->dtype), x->body->ndim);
    if (kept->ord == 2) {
        slope = ht_div(x, norm);
    } else {
        size = ht_abs(x);
        slope = ht_div(x, size);
        if (kept->ord != 1)
            slope = ht_mul(slope, ht_pow(ht_div(size, norm), ht_scalar(kept->ord - 1)));
    }
    gin[0] = ht_astype(ht__grad_where(ht_mul(g, slope), ht_ne(x, ht_scalar(0))), dtype);
}

/* The sum of |x|^ord over the axes, in float64. */
static ht_tensor *sum_of_powers(const char *what, ht_tensor *x, double ord,
                                const ht_reduce_over *over)
{
    x = x != NULL && ht_dtype_is_complex(x->body->dtype) ? ht_abs(x) : x;
    if (x != NULL && ord != 1 && ord != 2)
        x = ht_pow(ht_abs(x), ht_scalar(ord));
    if (x == NULL)
        return NULL;
    return ht__sum_by(what, ord == 2 ? HT_KERNEL_SUM_SQUARES : HT_KERNEL_SUM_ABS, x, over);
}

static ht_tensor *root(ht_tensor *sum, double ord)
{
    if (sum == NULL || ord == 1)
        return sum;
    return ord == 2 ? ht_sqrt(sum) : ht_pow(sum, ht_scalar(1 / ord));
}

/* ---- orders ---------------------------------------------------------------------------------- */

static ht_reduce_options options_of(const int *axes, int count, bool keepdims)
{
    ht_reduce_options options = ht_reduce_options_default();

    options.axes = axes;
    options.count = count;
    options.keepdims = keepdims;
    return options;
}

static ht_reduce_over over_of(const int *axes, int count, bool keepdims)
{
    ht_reduce_over over = {.axes = axes == NULL ? UINT32_MAX : 0, .keepdims = keepdims};

    for (int i = 0; i < count; i++)
        over.axes |= 1u << axes[i];
    return over;
}

static ht_tensor *extreme(const char *what, ht_tensor *x, bool largest, const int *axes, int count,
                          bool keepdims)
{
    const ht_reduce_options options = options_of(axes, count, keepdims);
    const ht_reduce_over over = over_of(axes, count, keepdims);

    if (ht__reduce_count(x->body, &over) == 0) {
        HT_FAIL(x->body->comm, HT_ERR_SHAPE, "%s: x of shape %s has no elements", what,
                ht__shape_str(x->body->ndim, x->body->shape));
        return NULL;
    }
    return largest ? ht_max_ext(x, &options) : ht_min_ext(x, &options);
}

/* The same of elements near 1: of x over its largest (or smallest, which decides orders below 0)
 * magnitude along the axes, where that is a factor. */
static ht_tensor *scaled_norm(const char *what, ht_tensor *x, double ord, const int *axes,
                              int count, bool keepdims)
{
    const ht_reduce_over kept = over_of(axes, count, true);
    ht_tensor *size = ht_abs(x), *factor, *is_factor, *y;

    factor = size != NULL ? extreme(what, size, ord > 0, axes, count, true) : NULL;
    is_factor = factor != NULL ? ht_logical_and(ht_isfinite(factor), ht_ne(factor, ht_scalar(0)))
                               : NULL;
    factor = is_factor != NULL ? ht_where(is_factor, factor, ht_scalar(1)) : NULL;
    if (factor == NULL)
        return NULL;
    y = root(sum_of_powers(what, ht_div(size, factor), ord, &kept), ord);
    y = y != NULL ? ht_mul(y, ht_astype(factor, HT_FLOAT64)) : NULL;
    if (y == NULL || keepdims)
        return y;
    return ht_sum_ext(y, &(ht_reduce_options){.size = sizeof(ht_reduce_options),
                                              .axes = axes,
                                              .count = count,
                                              .dtype = HT_FLOAT64});
}

/* *extreme: whether squares in float64 may have left its range. False after an error. */
static bool look_for_extremes(ht_tensor *y, bool *extreme)
{
    double inside = 1;

    if (y != NULL && ht_tensor_size(y) > 0) {
        y = ht_logical_and(ht_gt(y, ht_scalar(1e-140)), ht_lt(y, ht_scalar(1e140)));
        if (y == NULL || ht_tensor_item(ht_all(y, HT_NONE), &inside) != HT_SUCCESS)
            return false;
    }
    *extreme = inside == 0;
    return y != NULL;
}

static ht_tensor *length(const char *what, ht_tensor *x, double ord, const int *axes, int count,
                         bool keepdims)
{
    const ht_reduce_over over = over_of(axes, count, keepdims);
    const bool plain = ord == 1 || ord == 2 || ht_tensor_size(x) == 0;
    ht_tensor *y = plain ? root(sum_of_powers(what, x, ord, &over), ord) : NULL;
    bool scaled = !plain;

    if (scaled && (x = ht_astype(x, powers_dtype(x->body->dtype))) == NULL)
        return NULL;
    if (ord == 2 && ht_dtype_size(ht__dtype_real(x->body->dtype)) == 8 && ht_tensor_size(x) > 0 &&
        !look_for_extremes(y, &scaled))
        return NULL;
    return scaled ? scaled_norm(what, x, ord, axes, count, keepdims) : y;
}

static ht_tensor *norm_of_powers(const char *what, ht_tensor *x, double ord, const int *axes,
                                 int count, bool keepdims)
{
    const ht_reduce_over over = over_of(axes, count, keepdims);
    const bool was = ht_set_grad_enabled(false);
    ht_comm *outer = ht__together(x->body->comm);
    ht_dtype dtype = ht__dtype_real(x->body->dtype);
    ht_tensor *exact = length(what, x, ord, axes, count, keepdims), *y = ht_astype(exact, dtype);
    ht_node *node;

    exact = dtype == powers_dtype(dtype) ? y : ht_astype(exact, powers_dtype(dtype));
    ht__together_end(outer);
    ht_set_grad_enabled(was);
    node = y != NULL && exact != NULL ? ht_node_new(what, power_backward, 1, &x) : NULL;
    if (node == NULL)
        return exact != NULL ? y : NULL;
    *(power_context *)ht_node_context(node, sizeof(power_context)) = (power_context){over, ord};
    ht_node_save(node, x);
    ht_node_save(node, exact);
    return ht_node_set_output(node, y);
}

static ht_tensor *count_of_others(ht_tensor *x, const int *axes, int count, bool keepdims)
{
    const ht_reduce_options options = options_of(axes, count, keepdims);

    return ht_astype(ht_sum_ext(ht_ne(x, ht_scalar(0)), &options), ht__dtype_real(x->body->dtype));
}

/* The norm of vectors over the axes (NULL: all). */
static ht_tensor *vector_norm(const char *what, ht_tensor *x, double ord, const int *axes,
                              int count, bool keepdims)
{
    ord = ord == HT_NORM_DEFAULT ? 2 : ord;
    if (isnan(ord) || ord == HT_NORM_FRO) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                "%s: ord is %s, expected a number for a vector norm", what,
                isnan(ord) ? "NaN" : "HT_NORM_FRO");
        return NULL;
    }
    if (ht__dtype_is_exact(x->body->dtype))
        x = ht_astype(x, HT_FLOAT32);
    if (x == NULL)
        return NULL;
    if (isinf(ord)) {
        x = ht_abs(x);
        return x != NULL ? extreme(what, x, ord > 0, axes, count, keepdims) : NULL;
    }
    return ord == 0 ? count_of_others(x, axes, count, keepdims)
                    : norm_of_powers(what, x, ord, axes, count, keepdims);
}

/* Largest or smallest sum of |x| along axes[0], and of those along axes[1]. */
static ht_tensor *extreme_of_sums(const char *what, ht_tensor *x, const int axes[2], bool largest,
                                  bool keepdims)
{
    ht_tensor *sums = vector_norm(what, x, 1, axes, 1, true), *y;
    const int later = axes[0] > axes[1] ? axes[0] : axes[1], sooner = axes[0] + axes[1] - later;

    y = sums != NULL ? extreme(what, sums, largest, axes + 1, 1, true) : NULL;
    if (y == NULL || keepdims)
        return y;
    y = ht_squeeze(y, later);
    return ht__without_base(y != NULL ? ht_squeeze(y, sooner) : NULL);
}

static ht_tensor *matrix_norm(const char *what, ht_tensor *x, double ord, const int axes[2],
                              bool keepdims)
{
    const int swapped[2] = {axes[1], axes[0]};

    if (ord == HT_NORM_FRO || ord == HT_NORM_DEFAULT)
        return vector_norm(what, x, 2, axes, 2, keepdims);
    if (ord == 1 || ord == -1)
        return extreme_of_sums(what, x, axes, ord > 0, keepdims);
    if (isinf(ord))
        return extreme_of_sums(what, x, swapped, ord > 0, keepdims);
    HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
            "%s: ord is %g, expected 1, -1, an infinity or HT_NORM_FRO for a matrix norm", what,
            ord);
    return NULL;
}

/* ---- calls ----------------------------------------------------------------------------------- */

ht_tensor *ht_vector_norm(ht_tensor *x, double ord, int axis, bool keepdims)
{
    static const char what[] = "ht_vector_norm";
    HT_NAMED(what);

    if (HT_IS_NULL(x, what, "x") || (axis != HT_NONE && !ht__check_axis(what, x, &axis)))
        return NULL;
    return vector_norm(what, x, ord, axis != HT_NONE ? &axis : NULL, axis != HT_NONE, keepdims);
}

static bool check_matrix_axes(const char *what, const char *const names[2], const ht_tensor *x,
                              int axes[2])
{
    if (axes[0] == HT_NONE && axes[1] == HT_NONE && x->body->ndim == 2) {
        axes[0] = 0;
        axes[1] = 1;
        return true;
    }
    if (axes[0] == HT_NONE && axes[1] == HT_NONE) {
        HT_FAIL(x->body->comm, HT_ERR_SHAPE, "%s: x is %s, expected a matrix or two axes", what,
                ht__shape_str(x->body->ndim, x->body->shape));
        return false;
    }
    if (!ht__check_axis_of(what, names[0], "x", x, &axes[0]) ||
        !ht__check_axis_of(what, names[1], "x", x, &axes[1]))
        return false;
    if (axes[0] == axes[1]) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: axis %d is given twice", what, axes[0]);
        return false;
    }
    return true;
}

ht_tensor *ht_matrix_norm(ht_tensor *x, double ord, int axis0, int axis1, bool keepdims)
{
    static const char what[] = "ht_matrix_norm";
    HT_NAMED(what);
    int axes[2] = {axis0, axis1};

    if (HT_IS_NULL(x, what, "x") ||
        !check_matrix_axes(what, (const char *[]){"axis0", "axis1"}, x, axes))
        return NULL;
    return matrix_norm(what, x, ord, axes, keepdims);
}

ht_norm_options ht_norm_options_default(void)
{
    return (ht_norm_options){.size = sizeof(ht_norm_options), .ord = HT_NORM_DEFAULT};
}

ht_tensor *ht_norm_ext(ht_tensor *x, const ht_norm_options *options)
{
    static const char what[] = "ht_norm_ext";
    HT_NAMED(what);
    const ht_norm_options o = options != NULL ? *options : ht_norm_options_default();
    int axes[2] = {HT_NONE, HT_NONE}, count = o.axes != NULL ? o.count : 0;
    bool is_matrix;

    if (HT_IS_NULL(x, what, "x") ||
        HT_CHECK_OPTIONS(x->body->comm, what, &o, ht_norm_options) != HT_SUCCESS)
        return NULL;
    if (o.count != count || count < 0 || count > 2 || (o.axes != NULL && count == 0)) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: count is %d, expected one or two axes", what,
                o.count);
        return NULL;
    }
    is_matrix = count == 2 || (count == 0 && x->body->ndim == 2 && o.ord != HT_NORM_DEFAULT);
    for (int i = 0; i < count; i++)
        axes[i] = o.axes[i];
    if (is_matrix)
        return check_matrix_axes(what, (const char *[]){"axes[0]", "axes[1]"}, x, axes)
                   ? matrix_norm(what, x, o.ord, axes, o.keepdims)
                   : NULL;
    if (count == 1 && !ht__check_axis(what, x, &axes[0]))
        return NULL;
    return vector_norm(what, x, o.ord, count == 1 ? axes : NULL, count, o.keepdims);
}

ht_tensor *ht_norm(ht_tensor *x)
{
    HT_NAMED("ht_norm");

    return HT_IS_NULL(x, "ht_norm", "x")
               ? NULL
               : vector_norm("ht_norm", x, HT_NORM_DEFAULT, NULL, 0, false);
}

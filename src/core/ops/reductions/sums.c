/* SPDX-License-Identifier: MIT
 *
 * Rows of sums and products and their derivatives. */
#include "core/ops/drivers/drivers.h"

#include <math.h>

#include "ht/arithmetics.h"

#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/kernels/elementwise.h"
#include "ht/kernels/reduce.h"
#include "ht/logical.h"
#include "ht/manipulations.h"
#include "ht/relational.h"

/* Every element summed gets the gradient of its sum. */
static void sum_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const ht_body *x = ht__node_input(node, 0);

    g = ht__reduce_undone(ht_node_context(node, 0), g, x->ndim);
    gin[0] = ht_broadcast_to(g, x->ndim, x->shape);
}

static const ht_reduce_row sum_row = {
    .name = "ht_sum", .kernel = HT_KERNEL_SUM, .across = HT_OP_SUM, .backward = sum_backward};
static const ht_reduce_row sum_ext_row = {
    .name = "ht_sum_ext", .kernel = HT_KERNEL_SUM, .across = HT_OP_SUM, .backward = sum_backward};

ht_tensor *ht_sum(ht_tensor *x, int axis)
{
    return ht__reduce(&sum_row, x, axis);
}

ht_tensor *ht__sum_over(const char *what, ht_tensor *x, const ht_reduce_over *over)
{
    ht_reduce_row row = sum_ext_row;

    row.name = what;
    row.wide = true;
    return ht__reduce_over(&row, x, over);
}

ht_tensor *ht__count_where(const char *what, const ht_tensor *x, ht_tensor *where,
                           const ht_reduce_over *over)
{
    where = ht__broadcast_to(what, "options.where", where, x->body->ndim, x->body->shape);
    return where != NULL ? ht__sum_over(what, where, over) : NULL;
}

/* x in the dtype that is asked for, if there is one, and that of the result. */
static ht_tensor *as_asked(ht_tensor *x, const ht_reduce_options *o, ht_dtype *result)
{
    *result = o->dtype;
    if (o->dtype != HT_DTYPE_COUNT)
        return ht_astype(x, o->dtype);
    *result = ht__dtype_is_exact(x->body->dtype) ? HT_INT64 : x->body->dtype;
    return x;
}

ht_tensor *ht_sum_ext(ht_tensor *x, const ht_reduce_options *options)
{
    const unsigned takes = HT_TAKES_DTYPE | HT_TAKES_INITIAL | HT_TAKES_WHERE;
    const char *what = "ht_sum_ext";
    ht_reduce_options o;
    ht_reduce_over over;
    ht_dtype dtype;
    ht_tensor *y;

    if (!ht__reduce_options(what, x, options, takes, &o, &over))
        return NULL;
    x = as_asked(x, &o, &dtype);
    if (o.where != NULL)
        x = ht__masked(what, x, o.where);
    if (o.initial == NULL)
        return ht_astype(ht__reduce_over(&sum_ext_row, x, &over), dtype);
    y = ht__sum_over(what, x, &over);
    return ht_astype(y != NULL ? ht__add_number(what, y, *o.initial) : NULL, dtype);
}

/* 1 where x is 0, as bool; NULL for NULL. */
static ht_tensor *is_zero(ht_tensor *x)
{
    return x != NULL ? ht_eq(x, ht_scalar(0)) : NULL;
}

/* How many others of x's line the mask is set for. */
static ht_tensor *other_count(ht_tensor *mask, const ht_reduce_over *kept)
{
    return mask != NULL
               ? ht_sub(ht__sum_over("ht_backward", mask, kept), ht_astype(mask, HT_FLOAT64))
               : NULL;
}

/* The product of the others: that of all that are not 0, over this one. It is 0 where one of the
 * others is 0, even if that product is out of range, or NaN if another one is not finite. */
static void prod_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    static const ht_reduce_row product_row = {
        .name = "ht_backward", .kernel = HT_KERNEL_PROD, .across = HT_OP_PROD, .wide = true};
    const ht_reduce_over *over = ht_node_context(node, 0);
    const ht_reduce_over kept = {over->axes, true};
    ht_tensor *x = ht_node_saved(node, 0), *zeros, *wide, *others, *no_zero, *all_finite;
    ht_dtype dtype;

    if (x == NULL)
        return;
    dtype = ht__dtype_wide(x->body->dtype);
    zeros = is_zero(x);
    wide = ht_add(ht_astype(x, dtype), ht_astype(zeros, dtype)); /* 1 for 0 */
    others = ht_div(ht__reduce_over(&product_row, wide, &kept), wide);
    no_zero = is_zero(other_count(zeros, &kept));
    all_finite = is_zero(other_count(ht_logical_not(ht_isfinite(x)), &kept));
    others = ht_where(no_zero, others, ht_scalar(0));
    others = ht_where(ht_logical_or(no_zero, all_finite), others, ht_scalar(NAN));
    g = ht_astype(ht__reduce_undone(over, g, x->body->ndim), dtype);
    gin[0] = ht_astype(ht_mul(g, ht__conj(others)), x->body->dtype);
}

static const ht_reduce_row prod_row = {.name = "ht_prod",
                                       .kernel = HT_KERNEL_PROD,
                                       .across = HT_OP_PROD,
                                       .backward = prod_backward,
                                       .save = true};

ht_tensor *ht_prod(ht_tensor *x, int axis)
{
    return ht__reduce(&prod_row, x, axis);
}

/* x where the mask is set, else 1. */
static ht_tensor *ones_outside(const char *what, ht_tensor *x, ht_tensor *where)
{
    if (x == NULL)
        return NULL;
    where = ht__broadcast_to(what, "options.where", where, x->body->ndim, x->body->shape);
    return where != NULL ? ht_where(where, x, ht_scalar(1)) : NULL;
}

ht_tensor *ht_prod_ext(ht_tensor *x, const ht_reduce_options *options)
{
    const unsigned takes = HT_TAKES_DTYPE | HT_TAKES_INITIAL | HT_TAKES_WHERE;
    ht_reduce_row row = prod_row;
    ht_reduce_options o;
    ht_reduce_over over;
    ht_dtype dtype;

    row.name = "ht_prod_ext";
    if (!ht__reduce_options(row.name, x, options, takes, &o, &over))
        return NULL;
    x = as_asked(x, &o, &dtype);
    if (o.where != NULL)
        x = ones_outside(row.name, x, o.where);
    row.wide = o.initial != NULL;
    x = ht__reduce_over(&row, x, &over);
    if (x != NULL && o.initial != NULL)
        x = ht__mul_number(row.name, x, *o.initial);
    return ht_astype(x, dtype);
}

static void cumsum_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[]);

static const ht_cumulative_row cumsum_row = {.name = "ht_cumsum",
                                             .kernel = HT_KERNEL_CUMSUM,
                                             .across = HT_OP_SUM,
                                             .backward = cumsum_backward};

/* x[i] is in every later sum: gx = sum of g from i on, which a difference of sums would not be
 * where they cancel or are infinite. */
static void cumsum_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht__cumulative_reversed(&cumsum_row, g, *(int *)ht_node_context(node, 0));
}

ht_tensor *ht_cumsum(ht_tensor *x, int axis)
{
    return ht__cumulative(&cumsum_row, x, axis);
}

static void cumprod_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[]);

static const ht_cumulative_row cumprod_row = {.name = "ht_cumprod",
                                              .kernel = HT_KERNEL_CUMPROD,
                                              .across = HT_OP_PROD,
                                              .backward = cumprod_backward};

/* The sum of g y from i on, y being conjugated as it is a factor. */
static ht_tensor *sum_from(ht_tensor *g, ht_tensor *y, int axis)
{
    g = y != NULL ? ht_mul(g, ht__conj(y)) : NULL;
    return g != NULL ? ht__cumulative_reversed(&cumsum_row, g, axis) : NULL;
}

/* Before the first 0 of a line the sum of g y from x[i] on, over x[i]; behind it 0, as all later
 * products have that 0; at it the same sum of the products without it. */
static void cumprod_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const int axis = *(int *)ht_node_context(node, 0);
    ht_tensor *x = ht_node_saved(node, 0), *zeros = is_zero(x), *count, *first, *none, *all, *rest;
    ht_tensor *ones = x != NULL ? ht_ones_like(x) : NULL;

    if (zeros == NULL || ones == NULL)
        return;
    count = ht__cumulative(&cumsum_row, zeros, axis);
    none = is_zero(count);
    first = count != NULL ? ht_logical_and(zeros, ht_eq(count, ht_scalar(1))) : NULL;
    if (none == NULL || first == NULL)
        return;
    all = sum_from(g, ht__cumulative(&cumprod_row, x, axis), axis);
    rest = sum_from(g, ht__cumulative(&cumprod_row, ht_where(first, ones, x), axis), axis);
    if (all == NULL || rest == NULL)
        return;
    rest = ht__grad_where(rest, first);
    gin[0] = rest != NULL ? ht_where(none, ht_div(all, ht__conj(x)), rest) : NULL;
}

ht_tensor *ht_cumprod(ht_tensor *x, int axis)
{
    return ht__cumulative(&cumprod_row, x, axis);
}

/* The graph keeps a copy of x. */
static ht_status in_place(const ht_cumulative_row *row, const char *what, ht_tensor *x, int axis)
{
    ht_cumulative_row named = *row;
    ht_scope *scope;
    ht_status status;
    ht_tensor *y;

    if (HT_IS_NULL(x, what, "x"))
        return ht_error_get(NULL);
    named.name = what;
    scope = ht_scope_open();
    y = ht__cumulative(&named, ht_is_grad_enabled() && ht__needs_grad(x) ? ht_copy(x) : x, axis);
    status = ht__check_result(what, "x", x, y);
    if (status == HT_SUCCESS)
        status = ht__replace_values(what, "x", x, y);
    ht_scope_close(scope);
    return status;
}

ht_status ht_cumsum_(ht_tensor *x, int axis)
{
    return in_place(&cumsum_row, "ht_cumsum_", x, axis);
}

ht_status ht_cumprod_(ht_tensor *x, int axis)
{
    return in_place(&cumprod_row, "ht_cumprod_", x, axis);
}

ht_tensor *ht_diff(ht_tensor *x, int times, int axis)
{
    if (HT_IS_NULL(x, "ht_diff", "x") || !ht__check_axis("ht_diff", x, &axis))
        return NULL;
    if (times < 0) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "ht_diff: times is %d, expected at least 0", times);
        return NULL;
    }
    for (; times > 0 && x != NULL && x->body->shape[axis] > 0; times--) {
        const int64_t length = x->body->shape[axis];
        ht_tensor *next = ht_narrow(x, axis, 1, length);

        x = ht_narrow(x, axis, 0, length - 1);
        x = x->body->dtype == HT_BOOL ? ht_ne(next, x) : ht_sub(next, x);
    }
    return x;
}

/* Where there is a NaN stands what changes nothing. */
static ht_tensor *without_nan(const char *what, ht_tensor *x, double instead)
{
    if (HT_IS_NULL(x, what, "x"))
        return NULL;
    return ht__dtype_is_exact(x->body->dtype) ? x : ht_where(ht_isnan(x), ht_scalar(instead), x);
}

ht_tensor *ht_nansum(ht_tensor *x, int axis)
{
    ht_reduce_row row = sum_row;

    row.name = "ht_nansum";
    x = without_nan(row.name, x, 0);
    return x != NULL ? ht__reduce(&row, x, axis) : NULL;
}

ht_tensor *ht_nanprod(ht_tensor *x, int axis)
{
    ht_reduce_row row = prod_row;

    row.name = "ht_nanprod";
    x = without_nan(row.name, x, 1);
    return x != NULL ? ht__reduce(&row, x, axis) : NULL;
}

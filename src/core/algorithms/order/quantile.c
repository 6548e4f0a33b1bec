/* SPDX-License-Identifier: MIT
 *
 * Quantiles: which places of sorted lines are needed, and how their elements are interpolated. Only
 * short lines are sorted; elements of other lines are found by counting (quantile_count.c).
 *
 * All ranks count lines along the split axis, with one Allreduce of counts for each pass. Short
 * lines are dealt out to the ranks instead (one Alltoall) if there is at least one for each rank;
 * then the results are gathered. */
#include <math.h>
#include <string.h>

#include "core/algorithms/order/order.h"
#include "core/algorithms/order/quantile.h"
#include "core/collective/collective.h"
#include "core/ops/ops.h"
#include "ht/kernels/order.h"
#include "ht/manipulations.h"
#include "ht/statistics.h"

/* ---- places -------------------------------------------------------------------------------- */

static double place_of(const ht_quantiles *r, int i)
{
    return r->q[i] / r->whole * (double)(r->n - 1);
}

static int64_t bounded(const ht_quantiles *r, double place)
{
    return place < 0 ? 0 : place > (double)(r->n - 1) ? r->n - 1 : (int64_t)place;
}

/* The places below and above; the last one, too, as NaN is there if there is one. */
static void choose_places(ht_quantiles *r)
{
    r->places = ht__alloc((size_t)(2 * r->count + 1) * sizeof *r->places);
    for (int i = 0; i <= 2 * r->count; i++) {
        const double exact = i < 2 * r->count ? place_of(r, i / 2) : (double)(r->n - 1);
        const int64_t place = bounded(r, i % 2 == 0 ? floor(exact) : ceil(exact));
        int64_t at = r->targets;

        while (at > 0 && r->places[at - 1] >= place)
            at--;
        if (at < r->targets && r->places[at] == place)
            continue;
        memmove(r->places + at + 1, r->places + at, (size_t)(r->targets - at) * sizeof place);
        r->places[at] = place;
        r->targets++;
    }
}

static double value_at(const ht_quantiles *r, const double *values, double place)
{
    const int64_t wanted = bounded(r, place);
    int64_t at = 0;

    while (r->places[at] < wanted)
        at++;
    return values[at];
}

/* The quantile of one line, from the values at its positions. */
static double interpolate(const ht_quantiles *r, const double *values, int i)
{
    const double exact = place_of(r, i), last = values[r->targets - 1];
    const double low = value_at(r, values, floor(exact)), high = value_at(r, values, ceil(exact));
    double part = exact - floor(exact);

    if (isnan(last))
        return last;
    if (r->method == HT_LOWER || low == high)
        return low;
    if (r->method == HT_HIGHER)
        return high;
    if (r->method == HT_NEAREST)
        return value_at(r, values, nearbyint(exact));
    if (r->method == HT_MIDPOINT)
        part = 0.5;
    if (isinf(high - low) && isfinite(low) && isfinite(high))
        return low * (1 - part) + high * part;
    return part < 0.5 ? low + (high - low) * part : high - (high - low) * (1 - part);
}

/* ---- results ------------------------------------------------------------------------------- */

/* y's local part (count, lines) <- lines of x, local: parts of lines where there is comm. */
static ht_status fill(const ht_quantiles *r, ht_tensor *x, ht_comm *comm, const ht_body *y)
{
    const int64_t lines = x->body->shape[0];
    double *values, *to = y->lsize > 0 ? ht__body_data(y) : NULL;
    ht_status status;

    if (lines == 0)
        return HT_SUCCESS;
    values = ht__alloc((size_t)(lines * r->targets) * sizeof *values);
    if (comm == NULL && r->n <= HT_SHORT_LINE)
        status = ht__quantiles_sort(r, x, values);
    else
        status = ht__quantiles_count(r, ht__on_host(r->what, x, x->body->dtype), comm, values);
    for (int64_t i = 0; i < r->count * lines && status == HT_SUCCESS; i++)
        to[i] = interpolate(r, values + i % lines * r->targets, (int)(i / lines));
    ht__free(values);
    return status;
}

static ht_tensor *result_of(const ht_quantiles *r, const ht_body *x, int ndim,
                            const int64_t shape[], int split, ht_bounds *bounds)
{
    return ht__tensor_new(
        ht__body_new(r->what, x->comm, ht__device_cpu(), HT_FLOAT64, ndim, shape, split, bounds));
}

/* Along the split axis: (count, lines), without a split. */
static ht_tensor *across_ranks(const ht_quantiles *r, ht_tensor *lines)
{
    const int64_t shape[2] = {r->count, lines->body->shape[0]};
    const bool deals = shape[1] >= lines->body->comm->size && r->n < HT_SHORT_LINE;
    ht_tensor *y = result_of(r, lines->body, 2, shape, deals ? 1 : HT_NONE, NULL);

    if (deals)
        lines = ht_resplit(lines, 0);
    if (y == NULL || lines == NULL ||
        fill(r, ht_tensor_local(lines), deals ? NULL : lines->body->comm, y->body) != HT_SUCCESS)
        return NULL;
    return ht_resplit(y, HT_NONE);
}

/* The axes of the result: of q, and those of x but one. Returns their number. */
static int shape_of(const ht_quantiles *r, const ht_body *x, int axis, int64_t shape[], int *split)
{
    int ndim = 0;

    shape[ndim++] = r->count;
    *split = HT_NONE;
    for (int i = 0; i < x->ndim && axis != HT_NONE; i++) {
        if (i == axis)
            continue;
        if (i == x->split)
            *split = ndim;
        shape[ndim++] = x->shape[i];
    }
    return ndim;
}

/* All elements of the local part as one line. */
static ht_tensor *one_line(ht_tensor *x)
{
    x = ht_contiguous(ht_tensor_local(x));
    return x != NULL ? ht_reshape(x, 2, (int64_t[]){1, x->body->lsize}) : NULL;
}

static ht_tensor *quantiles(ht_quantiles *r, ht_tensor *x, int axis)
{
    const ht_body *body = x->body;
    const bool is_split = body->split != HT_NONE && body->comm->size > 1;
    int64_t shape[HT_MAX_NDIM + 1];
    int split, ndim = shape_of(r, body, axis, shape, &split);
    ht_tensor *y, *local;

    if (axis != HT_NONE && axis == body->split && is_split && ht_tensor_size(x) > 0) {
        y = across_ranks(r, ht__as_lines(x, axis));
        return y != NULL ? ht__without_base(ht_reshape(y, ndim, shape)) : NULL;
    }
    y = result_of(r, body, ndim, shape, split, split != HT_NONE ? body->bounds : NULL);
    if (y == NULL || ht_tensor_size(y) == 0 || (axis != HT_NONE && body->lsize == 0))
        return y;
    local = axis == HT_NONE ? one_line(x) : ht__as_lines(ht_tensor_local(x), axis);
    if (local == NULL ||
        fill(r, local, axis == HT_NONE && is_split ? body->comm : NULL, y->body) != HT_SUCCESS)
        return NULL;
    return y;
}

/* With a leading axis for q, or without it; with the reduced ones, of length 1, or without. */
static ht_tensor *shaped(ht_tensor *y, const ht_body *x, int axis, bool leading, bool keepdims)
{
    if (!leading && y != NULL)
        y = ht_squeeze(y, 0);
    for (int i = 0; i < x->ndim && keepdims && y != NULL; i++) {
        if (axis == HT_NONE || i == axis)
            y = ht_expand_dims(y, i + leading);
    }
    return ht__without_base(y);
}

static bool check(const ht_quantiles *r, ht_tensor *x, int *axis)
{
    const ht_body *body = x->body;

    if (*axis != HT_NONE && !ht__check_axis(r->what, x, axis))
        return false;
    if (ht_dtype_is_complex(body->dtype)) {
        HT_FAIL(body->comm, HT_ERR_DTYPE, "%s: not defined for %s", r->what,
                ht_dtype_name(body->dtype));
        return false;
    }
    if (r->count < 0 || (unsigned)r->method > HT_NEAREST) {
        HT_FAIL(body->comm, HT_ERR_ARGUMENT,
                "%s: count is %d and method is %d, expected at least 0 and an ht_interpolation",
                r->what, r->count, (int)r->method);
        return false;
    }
    if (r->count > 0 && r->q == NULL) {
        HT_FAIL(body->comm, HT_ERR_ARGUMENT, "%s: q is NULL, expected %d numbers", r->what,
                r->count);
        return false;
    }
    for (int i = 0; i < r->count; i++) {
        if (r->q[i] >= 0 && r->q[i] <= r->whole)
            continue;
        HT_FAIL(body->comm, HT_ERR_ARGUMENT, "%s: q is %g, expected 0 to %g", r->what, r->q[i],
                r->whole);
        return false;
    }
    if (r->n > 0)
        return true;
    HT_FAIL(body->comm, HT_ERR_SHAPE, "%s: x of shape %s has no elements to reduce", r->what,
            ht__shape_str(body->ndim, body->shape));
    return false;
}

static ht_tensor *quantile(ht_quantiles r, ht_tensor *x, int axis, bool leading, bool keepdims)
{
    ht_dtype dtype;
    ht_comm *outer;
    ht_tensor *y;
    bool was;

    if (HT_IS_NULL(x, r.what, "x"))
        return NULL;
    r.n = axis == HT_NONE ? ht_tensor_size(x) : 1;
    if (!check(&r, x, &axis))
        return NULL;
    if (axis != HT_NONE)
        r.n = x->body->shape[axis];
    if (!check(&r, x, &axis) || !ht__has_kernel(r.what, x, HT_KERNEL_DIGITS))
        return NULL;
    dtype = x->body->dtype == HT_FLOAT32 ? HT_FLOAT32 : HT_FLOAT64;
    choose_places(&r);
    HT_NAMED(r.what);
    was = ht_set_grad_enabled(false);
    outer = ht__together(x->body->comm);
    y = quantiles(&r, x, axis);
    y = y != NULL ? ht_to_device(y, x->body->storage->device) : NULL;
    y = y != NULL ? shaped(ht_astype(y, dtype), x->body, axis, leading, keepdims) : NULL;
    ht__together_end(outer);
    ht_set_grad_enabled(was);
    ht__free(r.places);
    return y;
}

ht_tensor *ht_percentile(ht_tensor *x, double q, int axis)
{
    return quantile((ht_quantiles){"ht_percentile", 1, &q, 100, HT_LINEAR, 0, 0, NULL}, x, axis,
                    false, false);
}

ht_tensor *ht_percentile_ext(ht_tensor *x, int count, const double q[], int axis,
                             ht_interpolation method, bool keepdims)
{
    return quantile((ht_quantiles){"ht_percentile_ext", count, q, 100, method, 0, 0, NULL}, x, axis,
                    true, keepdims);
}

ht_tensor *ht_quantile(ht_tensor *x, double q, int axis)
{
    return quantile((ht_quantiles){"ht_quantile", 1, &q, 1, HT_LINEAR, 0, 0, NULL}, x, axis, false,
                    false);
}

ht_tensor *ht_quantile_ext(ht_tensor *x, int count, const double q[], int axis,
                           ht_interpolation method, bool keepdims)
{
    return quantile((ht_quantiles){"ht_quantile_ext", count, q, 1, method, 0, 0, NULL}, x, axis,
                    true, keepdims);
}

ht_tensor *ht_median(ht_tensor *x, int axis)
{
    const double half = 0.5;

    return quantile((ht_quantiles){"ht_median", 1, &half, 1, HT_LINEAR, 0, 0, NULL}, x, axis, false,
                    false);
}

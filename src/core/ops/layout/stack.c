/* SPDX-License-Identifier: MIT
 *
 * Concatenation of tensors along a new axis, parts that concatenate to a tensor, and tensors
 * broadcast to their common shape. */
#include "core/ops/indexing/key.h"
#include "ht/manipulations.h"

/* ---- stacks -------------------------------------------------------------------------------- */

/* The form in which a tensor is joined; NULL after an error. */
typedef ht_tensor *shape_fn(ht_tensor *x, int axis);

static ht_tensor *join(const char *what, int count, ht_tensor *const xs[], shape_fn *shape,
                       int new_axis, int axis)
{
    ht_tensor **shaped = ht__alloc((size_t)count * sizeof *shaped), *y = NULL;
    bool good = true;

    for (int i = 0; i < count && good; i++) {
        shaped[i] = shape(xs[i], new_axis);
        good = shaped[i] != NULL;
    }
    if (good)
        y = ht__concatenate(what, count, shaped, axis);
    ht__free(shaped);
    return y;
}

static bool check_same_shape(int count, ht_tensor *const xs[])
{
    for (int i = 1; i < count; i++) {
        const ht_body *a = xs[0]->body, *b = xs[i]->body;

        if (ht__body_same_shape(a, b))
            continue;
        HT_FAIL(a->comm, HT_ERR_SHAPE,
                "ht_stack: operand 0 is %s, operand %d is %s, expected the same shape",
                ht__shape_str(a->ndim, a->shape), i, ht__shape_str(b->ndim, b->shape));
        return false;
    }
    return true;
}

ht_tensor *ht_stack(int count, ht_tensor *const xs[], int axis)
{
    HT_NAMED("ht_stack");
    int ndim;

    if (!ht__check_operands("ht_stack", count, xs) || !check_same_shape(count, xs))
        return NULL;
    ndim = xs[0]->body->ndim;
    if (axis < -ndim - 1 || axis > ndim || ndim == HT_MAX_NDIM) {
        HT_FAIL(xs[0]->body->comm, HT_ERR_ARGUMENT,
                "ht_stack: tensors of shape %s cannot be stacked along a new axis %d",
                ht__shape_str(ndim, xs[0]->body->shape), axis);
        return NULL;
    }
    axis += axis < 0 ? ndim + 1 : 0;
    return join("ht_stack", count, xs, ht_expand_dims, axis, axis);
}

/* With as many axes as the name of the function says. */
static ht_tensor *as_line(ht_tensor *x, int axis)
{
    (void)axis;
    return x->body->ndim == 0 ? ht_expand_dims(x, 0) : x;
}

static ht_tensor *as_matrix(ht_tensor *x, int axis)
{
    x = as_line(x, 0);
    return x != NULL && x->body->ndim == 1 ? ht_expand_dims(x, axis) : x;
}

ht_tensor *ht_hstack(int count, ht_tensor *const xs[])
{
    HT_NAMED("ht_hstack");

    if (!ht__check_operands("ht_hstack", count, xs))
        return NULL;
    return join("ht_hstack", count, xs, as_line, 0, xs[0]->body->ndim > 1);
}

ht_tensor *ht_vstack(int count, ht_tensor *const xs[])
{
    HT_NAMED("ht_vstack");

    if (!ht__check_operands("ht_vstack", count, xs))
        return NULL;
    return join("ht_vstack", count, xs, as_matrix, 0, 0);
}

ht_tensor *ht_column_stack(int count, ht_tensor *const xs[])
{
    HT_NAMED("ht_column_stack");

    if (!ht__check_operands("ht_column_stack", count, xs))
        return NULL;
    return join("ht_column_stack", count, xs, as_matrix, 1, 1);
}

/* ---- parts --------------------------------------------------------------------------------- */

/* x[..., start:stop, ...] */
static ht_tensor *slice(const char *what, ht_tensor *x, int axis, int64_t start, int64_t stop)
{
    ht_index key[HT_MAX_NDIM];

    for (int i = 0; i < axis; i++)
        key[i] = HT_ALL;
    key[axis] = ht_slice(start, stop);
    return ht__getitem_plain(what, x, axis + 1, key);
}

ht_status ht_split(ht_tensor *x, int64_t count, int axis, ht_tensor *parts[])
{
    HT_NAMED("ht_split");
    int64_t length;

    if (HT_IS_NULL(x, "ht_split", "x") || HT_IS_NULL_ON(x->body->comm, parts, "ht_split", "parts"))
        return ht_error_get(NULL);
    if (!ht__check_axis("ht_split", x, &axis))
        return HT_ERR_ARGUMENT;
    length = x->body->shape[axis];
    if (count < 1 || length % count != 0)
        return HT_FAIL(x->body->comm, HT_ERR_SHAPE,
                       "ht_split: axis %d of x of shape %s cannot be divided into %lld equal "
                       "parts (ht_split_at)",
                       axis, ht__shape_str(x->body->ndim, x->body->shape), (long long)count);
    for (int64_t i = 0; i < count; i++) {
        parts[i] = slice("ht_split", x, axis, i * (length / count), (i + 1) * (length / count));
        if (parts[i] == NULL)
            return ht_error_get(NULL);
    }
    return HT_SUCCESS;
}

/* A number that is not an open end of a slice. */
static int64_t place(int64_t at)
{
    return at == HT_OPEN ? HT_OPEN + 1 : at;
}

ht_status ht_split_at(ht_tensor *x, int count, const int64_t at[], int axis, ht_tensor *parts[])
{
    HT_NAMED("ht_split_at");

    if (HT_IS_NULL(x, "ht_split_at", "x") ||
        HT_IS_NULL_ON(x->body->comm, parts, "ht_split_at", "parts"))
        return ht_error_get(NULL);
    if (!ht__check_axis("ht_split_at", x, &axis))
        return HT_ERR_ARGUMENT;
    if (count < 0 || (count > 0 && at == NULL))
        return HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                       "ht_split_at: count is %d, expected at least 0 and a list of places", count);
    for (int i = 0; i <= count; i++) {
        parts[i] = slice("ht_split_at", x, axis, i > 0 ? place(at[i - 1]) : HT_OPEN,
                         i < count ? place(at[i]) : HT_OPEN);
        if (parts[i] == NULL)
            return ht_error_get(NULL);
    }
    return HT_SUCCESS;
}

/* ---- shapes of several --------------------------------------------------------------------- */

/* shape <- what it and x broadcast to, from the last axis on. */
static bool add_shape(const char *what, const ht_body *x, int index, int ndim, int64_t shape[])
{
    for (int i = 0; i < x->ndim; i++) {
        int64_t *length = &shape[ndim - x->ndim + i];

        if (*length != 1 && x->shape[i] != 1 && *length != x->shape[i]) {
            HT_FAIL(x->comm, HT_ERR_SHAPE,
                    "%s: operand %d is %s, which does not broadcast with the operands before it, "
                    "%s",
                    what, index, ht__shape_str(x->ndim, x->shape), ht__shape_str(ndim, shape));
            return false;
        }
        *length = *length == 1 ? x->shape[i] : *length;
    }
    return true;
}

ht_status ht__broadcast_arrays(const char *what, int count, ht_tensor *const xs[],
                               ht_tensor *broadcast[])
{
    HT_NAMED(what);
    int64_t shape[HT_MAX_NDIM];
    int ndim = 0;

    if (!ht__check_operands(what, count, xs) ||
        HT_IS_NULL_ON(xs[0]->body->comm, broadcast, what, "broadcast"))
        return ht_error_get(NULL);
    for (int i = 0; i < count; i++)
        ndim = xs[i]->body->ndim > ndim ? xs[i]->body->ndim : ndim;
    for (int i = 0; i < ndim; i++)
        shape[i] = 1;
    for (int i = 0; i < count; i++) {
        if (!add_shape(what, xs[i]->body, i, ndim, shape))
            return HT_ERR_SHAPE;
    }
    for (int i = 0; i < count; i++) {
        broadcast[i] = ht__broadcast_to(what, "an operand", xs[i], ndim, shape);
        if (broadcast[i] == NULL)
            return ht_error_get(NULL);
    }
    return HT_SUCCESS;
}

ht_status ht_broadcast_arrays(int count, ht_tensor *const xs[], ht_tensor *broadcast[])
{
    return ht__broadcast_arrays("ht_broadcast_arrays", count, xs, broadcast);
}

/* A line along one of ndim axes, the others of length 1. */
static ht_tensor *along(ht_tensor *x, int axis, int ndim)
{
    ht_index key[HT_MAX_NDIM];

    for (int i = 0; i < ndim; i++)
        key[i] = HT_NEWAXIS;
    key[axis] = HT_ALL;
    return ht__getitem_plain("ht_meshgrid", x, ndim, key);
}

ht_status ht_meshgrid(int count, ht_tensor *const xs[], bool xy, ht_tensor *grids[])
{
    static const char what[] = "ht_meshgrid";
    HT_NAMED(what);
    int64_t shape[HT_MAX_NDIM];
    int axes[HT_MAX_NDIM];

    if (!ht__check_operands(what, count, xs) ||
        HT_IS_NULL_ON(xs[0]->body->comm, grids, what, "grids"))
        return ht_error_get(NULL);
    if (count > HT_MAX_NDIM)
        return HT_FAIL(xs[0]->body->comm, HT_ERR_ARGUMENT, "%s: count is %d, expected at most %d",
                       what, count, HT_MAX_NDIM);
    for (int i = 0; i < count; i++) {
        const ht_body *x = xs[i]->body;

        if (x->ndim != 1)
            return HT_FAIL(x->comm, HT_ERR_SHAPE, "%s: operand %d is %s, expected one axis", what,
                           i, ht__shape_str(x->ndim, x->shape));
        axes[i] = xy && i < 2 && count > 1 ? 1 - i : i;
        shape[axes[i]] = x->shape[0];
    }
    for (int i = 0; i < count; i++) {
        ht_tensor *line = along(xs[i], axes[i], count);

        grids[i] = line != NULL ? ht__broadcast_to(what, "an operand", line, count, shape) : NULL;
        if (grids[i] == NULL)
            return ht_error_get(NULL);
    }
    return HT_SUCCESS;
}

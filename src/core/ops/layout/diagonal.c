/* SPDX-License-Identifier: MIT
 *
 * Diagonals, which are views, and the triangles on one side of them. */
#include "core/ops/ops.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/manipulations.h"
#include "ht/relational.h"

#define FAR (INT64_MAX / 4) /* further away than any matrix reaches */

static int64_t within_reach(int64_t offset)
{
    return offset < -FAR ? -FAR : offset > FAR ? FAR : offset;
}

/* Element i of the diagonal is in row first0 + i of axis0 and column first1 + i of axis1. */
typedef struct line {
    int axis[2];
    int64_t first[2], length;
} line;

static line line_of(const ht_body *x, int64_t offset, int axis0, int axis1)
{
    line d = {.axis = {axis0, axis1}};
    int64_t rows, columns;

    offset = within_reach(offset);
    d.first[0] = offset < 0 ? -offset : 0;
    d.first[1] = offset > 0 ? offset : 0;
    rows = x->shape[axis0] - d.first[0];
    columns = x->shape[axis1] - d.first[1];
    d.length = rows < columns ? rows : columns;
    if (d.length < 0)
        d.length = d.first[0] = d.first[1] = 0;
    return d;
}

static int64_t clip(int64_t edge, int64_t length)
{
    return edge < 0 ? 0 : edge > length ? length : edge;
}

/* The slabs of the split axis as parts of the diagonal. Returns where this rank's begins. */
static int64_t cut(ht_body *y, const ht_body *x, const line *d, int64_t first)
{
    ht_release(y->bounds);
    y->bounds = ht__bounds_new(x->comm->size);
    for (int rank = 0; rank <= x->comm->size; rank++)
        y->bounds->start[rank] = clip(ht__body_start(x, rank) - first, d->length);
    return y->bounds->start[x->comm->rank];
}

static ht_body *view_of(const ht_body *x, const line *d)
{
    ht_body *y = ht__body_view(x);
    int64_t begin = 0, at = 0;
    int last = x->ndim - 2;

    for (int i = 0, to = 0; i < x->ndim; i++) {
        if (i == d->axis[0] || i == d->axis[1])
            continue;
        y->shape[to] = x->shape[i];
        y->stride[to] = x->stride[i];
        y->gstride[to] = x->gstride[i];
        if (i == x->split)
            y->split = to;
        to++;
    }
    y->ndim = last + 1;
    y->shape[last] = d->length;
    y->stride[last] = x->stride[d->axis[0]] + x->stride[d->axis[1]];
    y->gstride[last] = x->gstride[d->axis[0]] + x->gstride[d->axis[1]];
    for (int k = 0; k < 2; k++) {
        if (d->axis[k] != x->split)
            continue;
        y->split = last;
        begin = cut(y, x, d, d->first[k]);
        at -= x->split_start * x->stride[x->split];
    }
    ht__body_settle(y);
    for (int k = 0; k < 2; k++)
        at += (d->first[k] + begin) * x->stride[d->axis[k]];
    y->offset += y->lsize > 0 ? at : 0;
    return y;
}

static void diagonal_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const line *d = ht_node_context(node, 0);
    ht_tensor *whole = ht__grad_zeros("ht_diagonal", ht__node_input(node, 0), g);

    if (whole == NULL)
        return;
    if (ht_copy_(ht__tensor_view(view_of(whole->body, d)), g) == HT_SUCCESS)
        gin[0] = whole;
}

static ht_tensor *diagonal(const char *what, ht_tensor *x, int64_t offset, int axis0, int axis1)
{
    const line d = line_of(x->body, offset, axis0, axis1);

    return ht__record_view(what, diagonal_backward, x, view_of(x->body, &d), &d, sizeof d);
}

ht_tensor *ht_diagonal(ht_tensor *x, int64_t offset, int axis0, int axis1)
{
    if (HT_IS_NULL(x, "ht_diagonal", "x") ||
        !ht__check_axis_of("ht_diagonal", "axis0", "x", x, &axis0) ||
        !ht__check_axis_of("ht_diagonal", "axis1", "x", x, &axis1))
        return NULL;
    if (axis0 == axis1) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "ht_diagonal: axis %d is given twice", axis0);
        return NULL;
    }
    return diagonal("ht_diagonal", x, offset, axis0, axis1);
}

/* Zeros but for x on a diagonal. */
static ht_tensor *matrix_of(ht_tensor *x, int64_t offset)
{
    const ht_body *body = x->body;
    ht_tensor *y;
    int64_t side;

    if (offset < -FAR || offset > FAR) {
        HT_FAIL(body->comm, HT_ERR_ARGUMENT,
                "ht_diag: offset is %lld, expected -2^61 + 1 to 2^61 - 1", (long long)offset);
        return NULL;
    }
    side = body->shape[0] + (offset < 0 ? -offset : offset);
    y = ht__tensor_new(ht__body_new("ht_diag", body->comm, body->storage->device, body->dtype,
                                    HT_SHAPE(side, side), body->split == HT_NONE ? HT_NONE : 0,
                                    NULL));
    if (y == NULL || ht_fill_(y, 0) != HT_SUCCESS ||
        ht__copy_into("ht_diag", diagonal("ht_diag", y, offset, 0, 1), x) != HT_SUCCESS)
        return NULL;
    return y;
}

ht_tensor *ht_diag(ht_tensor *x, int64_t offset)
{
    HT_NAMED("ht_diag");

    if (HT_IS_NULL(x, "ht_diag", "x"))
        return NULL;
    if (x->body->ndim == 1)
        return matrix_of(x, offset);
    if (x->body->ndim == 2)
        return diagonal("ht_diag", x, offset, 0, 1);
    HT_FAIL(x->body->comm, HT_ERR_SHAPE, "ht_diag: x is %s, expected one axis or two",
            ht__shape_str(x->body->ndim, x->body->shape));
    return NULL;
}

/* Numbers from `first` on along an axis of x, split as that is. */
static ht_tensor *places(const ht_tensor *x, int axis, int64_t first)
{
    return ht_arange_ext(ht_number_integer(first), ht_number_integer(first + x->body->shape[axis]),
                         ht_number_integer(1), HT_INT64, axis == x->body->split ? 0 : HT_NONE,
                         x->body->storage->device, x->body->comm);
}

static ht_tensor *one_side(const char *what, ht_tensor *x, int64_t offset, bool lower)
{
    HT_NAMED(what);
    ht_tensor *row, *column, *mask, *zero;
    int last;

    if (HT_IS_NULL(x, what, "x"))
        return NULL;
    if (x->body->ndim < 2) {
        HT_FAIL(x->body->comm, HT_ERR_SHAPE, "%s: x is %s, expected at least two axes", what,
                ht__shape_str(x->body->ndim, x->body->shape));
        return NULL;
    }
    last = x->body->ndim - 1;
    row = places(x, last - 1, within_reach(offset));
    column = places(x, last, 0);
    zero = ht_zeros_ext(HT_SHAPE(), x->body->dtype, HT_NONE, x->body->storage->device,
                        x->body->comm);
    if (row == NULL || column == NULL || zero == NULL)
        return NULL;
    row = ht_expand_dims(row, 1);
    mask = lower ? ht_ge(row, column) : ht_le(row, column);
    return mask != NULL ? ht_where(mask, x, zero) : NULL;
}

ht_tensor *ht_tril(ht_tensor *x, int64_t offset)
{
    return one_side("ht_tril", x, offset, true);
}

ht_tensor *ht_triu(ht_tensor *x, int64_t offset)
{
    return one_side("ht_triu", x, offset, false);
}

ht_status ht_fill_diagonal_(ht_tensor *x, double value)
{
    static const char what[] = "ht_fill_diagonal_";
    HT_NAMED(what);
    ht_scope *scope;
    ht_status status;

    if (HT_IS_NULL(x, what, "x"))
        return ht_error_get(NULL);
    if (x->body->ndim != 2)
        return HT_FAIL(x->body->comm, HT_ERR_SHAPE, "%s: x is %s, expected a matrix", what,
                       ht__shape_str(x->body->ndim, x->body->shape));
    scope = ht_scope_open();
    status = ht__fill_into(what, ht_diagonal(x, 0, 0, 1), ht_number_real(value));
    ht_scope_close(scope);
    return status;
}

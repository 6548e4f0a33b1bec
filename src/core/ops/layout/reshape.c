/* SPDX-License-Identifier: MIT
 *
 * Reshape and flatten. The result is a view if strides allow it. A split tensor stays in place if
 * the split axis survives: same length, same number of elements before it. Otherwise elements
 * change their rank: the flat row-major order of the tensor is cut into the slabs of axis 0. */
#include <string.h>

#include "core/ops/ops.h"
#include "ht/arithmetics.h"
#include "ht/manipulations.h"

static void reshape_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const ht_body *x = ht__node_input(node, 0);

    gin[0] = ht_reshape(g, x->ndim, x->shape);
}

/* Replaces the one -1; false when the sizes cannot agree. */
static bool complete(ht_tensor *x, int ndim, int64_t shape[])
{
    int64_t size = ht_tensor_size(x), known = 1;
    int open = -1;

    for (int i = 0; i < ndim; i++) {
        if (shape[i] == -1 && open < 0)
            open = i;
        else if (shape[i] < 0 || __builtin_mul_overflow(known, shape[i], &known))
            return false;
    }
    if (open >= 0 && known > 0 && size % known == 0) {
        shape[open] = size / known;
        known *= shape[open];
    }
    return known == size && (open < 0 || shape[open] >= 0);
}

static int64_t product(const int64_t shape[], int from, int to)
{
    int64_t size = 1;

    for (int i = from; i < to; i++)
        size *= shape[i];
    return size;
}

/* The axis of the new shape that the split axis becomes, or -1. */
static int surviving_axis(const ht_body *x, int ndim, const int64_t shape[])
{
    int64_t before = product(x->shape, 0, x->split);

    for (int i = 0; i < ndim; i++) {
        if (shape[i] == x->shape[x->split] && product(shape, 0, i) == before)
            return i;
    }
    return -1;
}

/* Strides of y, which has its shape, over the memory of x; false when there are none. Old and new
 * axes are matched in the shortest groups of equal size, and each old group must be one run of
 * memory. The global strides show that: the split axis is a group of its own, so that a run of all
 * elements is a run of each part. */
static bool view_strides(const ht_body *x, ht_body *y)
{
    int old[HT_MAX_NDIM], old_count = 0, i = 0, j = 0;
    int64_t last = 1, global_last = 1;

    for (int k = 0; k < x->ndim; k++) {
        if (x->shape[k] != 1)
            old[old_count++] = k;
    }
    while (i < old_count && j < y->ndim) {
        int64_t old_size = x->shape[old[i]], new_size = y->shape[j];
        int i_end = i + 1, j_end = j + 1;

        while (old_size != new_size) {
            if (old_size < new_size)
                old_size *= x->shape[old[i_end++]];
            else
                new_size *= y->shape[j_end++];
        }
        for (int k = i; k + 1 < i_end; k++) {
            if (x->gstride[old[k]] != x->shape[old[k + 1]] * x->gstride[old[k + 1]])
                return false;
        }
        y->stride[j_end - 1] = last = x->stride[old[i_end - 1]];
        y->gstride[j_end - 1] = global_last = x->gstride[old[i_end - 1]];
        for (int k = j_end - 1; k > j; k--) {
            y->stride[k - 1] = y->stride[k] * y->lshape[k];
            y->gstride[k - 1] = y->gstride[k] * y->shape[k];
        }
        i = i_end;
        j = j_end;
    }
    for (; j < y->ndim; j++) { /* lengths of 1 at the end */
        y->stride[j] = last;
        y->gstride[j] = global_last;
    }
    return true;
}

/* The same elements on the same ranks. `split` is the axis the split axis has become. */
static ht_tensor *reshape_in_place(ht_tensor *x, int ndim, const int64_t shape[], int split)
{
    ht_body *body;

    if (x == NULL)
        return NULL;
    body = ht__body_metadata(x->body);
    body->ndim = ndim;
    body->split = split;
    memcpy(body->shape, shape, (size_t)ndim * sizeof *shape);
    ht__body_settle(body);
    if (product(shape, 0, ndim) == 0) {
        ht__body_lay_row_major(body);
    } else if (!view_strides(x->body, body)) {
        ht_release(body);
        return reshape_in_place(ht_copy(x), ndim, shape, split);
    }
    body->storage = ht_retain(x->body->storage);
    return ht__tensor_view(body);
}

/* Slabs of axis 0 of `shape` cut from the flat order. */
static ht_tensor *reshape_across(ht_tensor *x, int ndim, const int64_t shape[])
{
    int64_t flat = ht_tensor_size(x), row = product(shape, 1, ndim);
    ht_tensor *line = ht_resplit(x, 0);
    ht_body target;
    ht_bounds *bounds;

    line = line != NULL ? ht_contiguous(line) : NULL;
    if (line == NULL)
        return NULL;
    bounds = ht__bounds_new(x->body->comm->size);
    for (int rank = 0; rank <= x->body->comm->size; rank++)
        bounds->start[rank] = ht__body_start(line->body, rank) *
                              product(x->body->shape, 1, x->body->ndim);
    ht_body *flat_body = ht__body_view(line->body);
    flat_body->ndim = 1;
    flat_body->shape[0] = flat;
    ht_release(flat_body->bounds);
    flat_body->bounds = bounds;
    ht__body_settle(flat_body);
    ht__body_lay_row_major(flat_body);
    line = ht__tensor_view(flat_body);

    target = *flat_body;
    target.bounds = ht__bounds_new(x->body->comm->size);
    for (int rank = 0; rank < x->body->comm->size; rank++) {
        int64_t start, count;

        ht_comm_chunk(x->body->comm, shape[0], rank, &start, &count);
        target.bounds->start[rank + 1] = (start + count) * row;
    }
    line = ht__match_slabs("ht_reshape", line, &target);
    ht_release(target.bounds);
    if (line == NULL)
        return NULL;
    ht_body *body = ht__body_view(line->body);
    ht_release(body->bounds);
    body->bounds = NULL;
    body->ndim = ndim;
    memcpy(body->shape, shape, (size_t)ndim * sizeof *shape);
    ht__body_settle(body);
    ht__body_lay_row_major(body);
    return ht__tensor_view(body);
}

static ht_tensor *reshape(ht_tensor *x, int ndim, const int64_t shape[])
{
    int split;

    if (x->body->split == HT_NONE)
        return reshape_in_place(x, ndim, shape, HT_NONE);
    split = surviving_axis(x->body, ndim, shape);
    if (split >= 0)
        return reshape_in_place(x, ndim, shape, split);
    HT_NAMED("ht_reshape");
    if (ndim == 0)
        return reshape_in_place(ht_resplit(x, HT_NONE), 0, shape, HT_NONE);
    return reshape_across(x, ndim, shape);
}

ht_tensor *ht_reshape(ht_tensor *x, int ndim, const int64_t shape[])
{
    int64_t wanted[HT_MAX_NDIM];
    int split = HT_NONE;
    ht_tensor *y;
    ht_node *node;
    bool was;

    if (HT_IS_NULL(x, "ht_reshape", "x"))
        return NULL;
    if (ndim < 0 || ndim > HT_MAX_NDIM) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "ht_reshape: ndim is %d, expected 0 to %d", ndim,
                HT_MAX_NDIM);
        return NULL;
    }
    if (ndim > 0 && HT_IS_NULL(shape, "ht_reshape", "shape"))
        return NULL;
    if (ndim > 0)
        memcpy(wanted, shape, (size_t)ndim * sizeof *shape);
    if (!complete(x, ndim, wanted)) {
        HT_FAIL(x->body->comm, HT_ERR_SHAPE, "ht_reshape: x of shape %s cannot have the shape %s",
                ht__shape_str(x->body->ndim, x->body->shape), ht__shape_str(ndim, shape));
        return NULL;
    }
    if (!ht__check_shape("ht_reshape", x->body->comm, ndim, wanted, &split))
        return NULL;
    was = ht_set_grad_enabled(false);
    y = reshape(x, ndim, wanted);
    ht_set_grad_enabled(was);
    node = y != NULL ? ht_node_new("ht_reshape", reshape_backward, 1, &x) : NULL;
    ht__set_base(y, x);
    return node != NULL ? ht_node_set_output(node, y) : y;
}

ht_tensor *ht_flatten(ht_tensor *x, int start_axis)
{
    HT_NAMED("ht_flatten");
    int64_t shape[HT_MAX_NDIM];

    if (HT_IS_NULL(x, "ht_flatten", "x") ||
        !ht__check_axis_of("ht_flatten", "start_axis", "x", x, &start_axis))
        return NULL;
    memcpy(shape, x->body->shape, sizeof shape);
    shape[start_axis] = product(x->body->shape, start_axis, x->body->ndim);
    return ht_reshape(x, start_axis + 1, shape);
}

/* SPDX-License-Identifier: MIT
 *
 * Reshape and flatten. A view where strides allow. A split tensor stays in place when the split
 * axis survives: same length, same number of elements before it. Otherwise elements change their
 * rank: the tensor is cut anew along its flat row-major order, whose slabs become those of axis 0.
 */
#include <string.h>

#include "core/core.h"
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

/* Strides of the new local shape over the old memory; false when there are none. Old and new axes
 * are matched in the shortest groups of equal size, and each old group must be one run of memory.
 */
static bool view_strides(const ht_body *x, int ndim, const int64_t lshape[], int64_t stride[])
{
    int64_t length[HT_MAX_NDIM], step[HT_MAX_NDIM], last = 1;
    int old_count = 0, i = 0, j = 0;

    for (int k = 0; k < x->ndim; k++) {
        if (x->lshape[k] == 1)
            continue;
        length[old_count] = x->lshape[k];
        step[old_count++] = x->stride[k];
    }
    while (i < old_count && j < ndim) {
        int64_t old_size = length[i], new_size = lshape[j];
        int i_end = i + 1, j_end = j + 1;

        while (old_size != new_size) {
            if (old_size < new_size)
                old_size *= length[i_end++];
            else
                new_size *= lshape[j_end++];
        }
        for (int k = i; k + 1 < i_end; k++) {
            if (step[k] != length[k + 1] * step[k + 1])
                return false;
        }
        stride[j_end - 1] = last = step[i_end - 1];
        for (int k = j_end - 1; k > j; k--)
            stride[k - 1] = stride[k] * lshape[k];
        i = i_end;
        j = j_end;
    }
    for (; j < ndim; j++) /* lengths of 1 at the end */
        stride[j] = last;
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
    if (body->lsize > 0 && !view_strides(x->body, ndim, body->lshape, body->stride)) {
        ht_release(body);
        ht__compare_pause(1); /* the part of another rank may lie otherwise */
        x = ht_copy(x);
        ht__compare_pause(-1);
        return reshape_in_place(x, ndim, shape, split);
    }
    if (body->lsize == 0)
        ht__strides_row_major(ndim, body->lshape, body->stride);
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
    flat_body->stride[0] = 1;
    ht_release(flat_body->bounds);
    flat_body->bounds = bounds;
    ht__body_settle(flat_body);
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
    ht__strides_row_major(ndim, body->lshape, body->stride);
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
    if (ndim == 0)
        return reshape_in_place(ht_resplit(x, HT_NONE), 0, shape, HT_NONE);
    return reshape_across(x, ndim, shape);
}

ht_tensor *ht_reshape(ht_tensor *x, int ndim, const int64_t shape[])
{
    int64_t wanted[HT_MAX_NDIM];
    ht_tensor *y;
    ht_node *node;
    bool was;

    if (HT_IS_NULL(x, "ht_reshape", "x"))
        return NULL;
    if (ndim < 0 || ndim > HT_MAX_NDIM) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "ht_reshape: expected 0 to %d dimensions, got %d",
                HT_MAX_NDIM, ndim);
        return NULL;
    }
    if (ndim > 0 && HT_IS_NULL(shape, "ht_reshape", "the shape"))
        return NULL;
    if (ndim > 0)
        memcpy(wanted, shape, (size_t)ndim * sizeof *shape);
    if (!complete(x, ndim, wanted)) {
        HT_FAIL(x->body->comm, HT_ERR_SHAPE, "ht_reshape: x of shape %s has no shape %s",
                ht__shape_str(x->body->ndim, x->body->shape), ht__shape_str(ndim, shape));
        return NULL;
    }
    was = ht_set_grad_enabled(false);
    y = reshape(x, ndim, wanted);
    ht_set_grad_enabled(was);
    node = y != NULL ? ht_node_new("ht_reshape", reshape_backward, 1, &x) : NULL;
    ht__set_base(y, x);
    return node != NULL ? ht_node_set_output(node, y) : y;
}

ht_tensor *ht_flatten(ht_tensor *x, int start_axis)
{
    int64_t shape[HT_MAX_NDIM];

    if (HT_IS_NULL(x, "ht_flatten", "x") || !ht__check_axis("ht_flatten", x, &start_axis))
        return NULL;
    memcpy(shape, x->body->shape, sizeof shape);
    shape[start_axis] = product(x->body->shape, start_axis, x->body->ndim);
    return ht_reshape(x, start_axis + 1, shape);
}

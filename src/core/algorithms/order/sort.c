/* SPDX-License-Identifier: MIT
 *
 * Sorting. Along an axis that is not split each rank sorts its own lines. Lines along the split
 * axis that are as many as there are ranks or more are dealt out whole (one Alltoall), sorted, and
 * cut into slabs again (another one); fewer are sorted by samples of all ranks (sort_samples.c).
 * Either way a rank holds its part of the tensor a few times, and places, where they are wanted,
 * travel beside the values. */
#include <string.h>

#include "core/algorithms/order/order.h"
#include "core/ops/ops.h"
#include "ht/kernels/order.h"
#include "ht/manipulations.h"
#include "ht/sorting.h"

/* ---- lines --------------------------------------------------------------------------------- */

/* Dense x, with other axes before the last one, which is the split axis if any is. Not a reshape,
 * which may take another axis of that length for it. */
static ht_tensor *relabelled(ht_tensor *x, int ndim, const int64_t shape[])
{
    ht_body *body = ht__body_view(x->body);

    body->ndim = ndim;
    memcpy(body->shape, shape, (size_t)ndim * sizeof *shape);
    body->split = body->split != HT_NONE ? ndim - 1 : HT_NONE;
    ht__body_settle(body);
    ht__body_lay_row_major(body);
    return ht__tensor_view(body);
}

ht_tensor *ht__as_lines(ht_tensor *x, int axis)
{
    const int last = -1;
    const int64_t n = x->body->shape[axis], size = ht_tensor_size(x);

    x = ht_contiguous(ht_moveaxis(x, 1, &axis, 1, &last));
    return x != NULL ? relabelled(x, 2, (int64_t[]){size / n, n}) : NULL;
}

ht_tensor *ht__from_lines(ht_tensor *lines, const ht_body *like, int axis)
{
    int64_t shape[HT_MAX_NDIM];
    const int last = -1;
    int ndim = 0;

    for (int i = 0; i < like->ndim; i++) {
        if (i != axis)
            shape[ndim++] = like->shape[i];
    }
    shape[ndim++] = like->shape[axis];
    lines = lines != NULL ? relabelled(lines, ndim, shape) : NULL;
    return lines != NULL ? ht__without_base(ht_contiguous(ht_moveaxis(lines, 1, &last, 1, &axis)))
                         : NULL;
}

/* An operand of the loop over the first elements of lines; the axis is beside it. */
static ht_operand line_operand(const ht_body *body, int axis, int64_t *stride)
{
    ht_operand operand = ht__operand(body);

    *stride = body->stride[axis];
    operand.stride[axis] = 0;
    return operand;
}

bool ht__sort_local(const ht_order *order, ht_tensor *x, int axis, int64_t first, ht_sorted *sorted)
{
    const ht_body *body = x->body;
    ht_sort_call sort = {.count = body->lshape[axis],
                         .keep = body->lshape[axis],
                         .first = first,
                         .descending = order->descending};
    ht_operand operands[3];
    int64_t shape[HT_MAX_NDIM], kept[HT_MAX_NDIM];
    ht_tensor *values, *indices = NULL;
    ht_bounds *bounds;

    if (!ht__has_kernel(order->what, x, HT_KERNEL_SORT))
        return false;
    memcpy(kept, body->shape, sizeof kept);
    kept[axis] = order->keep < kept[axis] ? order->keep : kept[axis];
    sort.keep = order->keep < sort.keep ? order->keep : sort.keep;
    bounds = axis == body->split ? NULL : body->bounds; /* balanced, along it */
    values = ht__tensor_new(ht__body_new(order->what, body->comm, body->storage->device,
                                         body->dtype, body->ndim, kept, body->split, bounds));
    if (order->indexed)
        indices = ht__tensor_new(ht__body_new(order->what, body->comm, body->storage->device,
                                              HT_INT64, body->ndim, kept, body->split, bounds));
    if (values == NULL || (order->indexed && indices == NULL))
        return false;
    *sorted = (ht_sorted){values, indices};
    if (values->body->lsize == 0)
        return true;
    for (int i = 0; i < body->ndim; i++)
        shape[i] = i == axis ? 1 : body->lshape[i];
    operands[0] = line_operand(values->body, axis, &sort.out_stride);
    operands[1] = line_operand(body, axis, &sort.in_stride);
    if (indices != NULL)
        operands[2] = line_operand(indices->body, axis, &sort.index_stride);
    ht__loop_fill(&sort.loop, body->ndim, shape, indices != NULL ? 3 : 2, operands);
    return HT_RUN(x, HT_KERNEL_SORT, &sort, order->what) == HT_SUCCESS;
}

/* ---- along the split axis ------------------------------------------------------------------ */

/* (lines, n), whole lines of which each rank sorts some. */
static bool sort_dealt(const ht_order *order, ht_tensor *lines, ht_sorted *sorted)
{
    ht_tensor *whole = ht_resplit(lines, 0);

    if (whole == NULL || !ht__sort_local(order, whole, 1, 0, sorted))
        return false;
    sorted->values = ht_resplit(sorted->values, 1);
    if (sorted->values != NULL && order->indexed)
        sorted->indices = ht_resplit(sorted->indices, 1);
    return sorted->values != NULL && (!order->indexed || sorted->indices != NULL);
}

/* Whether lines are brought together by samples: where they are too few to be dealt out, or where
 * so few elements of each are kept that the rest had better stay where it is. */
static bool by_samples(const ht_order *order, const ht_body *lines)
{
    const int64_t size = lines->comm->size, n = lines->shape[1];

    return lines->shape[0] < size || (order->keep < n / (2 * size) && n / size >= 16 * size);
}

static bool sort_split(const ht_order *order, ht_tensor *x, int axis, ht_sorted *sorted)
{
    ht_tensor *lines = ht__as_lines(x, axis);
    ht_body like = {.ndim = x->body->ndim};

    if (lines == NULL)
        return false;
    if (!(by_samples(order, lines->body) ? ht__sort_samples(order, lines, sorted)
                                         : sort_dealt(order, lines, sorted)))
        return false;
    memcpy(like.shape, x->body->shape, sizeof like.shape);
    like.shape[axis] = sorted->values->body->shape[1];
    sorted->values = ht__from_lines(sorted->values, &like, axis);
    if (sorted->values != NULL && order->indexed)
        sorted->indices = ht__from_lines(sorted->indices, &like, axis);
    return sorted->values != NULL && (!order->indexed || sorted->indices != NULL);
}

bool ht__sort_axis(const ht_order *order, ht_tensor *x, int axis, ht_sorted *sorted)
{
    ht_comm *outer;
    bool good;

    if (!ht__has_kernel(order->what, x, HT_KERNEL_SORT))
        return false;
    outer = ht__together(x->body->comm);
    if (axis != x->body->split || x->body->comm->size == 1 || x->body->shape[axis] < 2 ||
        ht_tensor_size(x) == 0)
        good = ht__sort_local(order, axis == x->body->split ? ht_balance(x) : x, axis, 0, sorted);
    else
        good = sort_split(order, x, axis, sorted);
    ht__together_end(outer);
    return good;
}

/* ---- the public functions ------------------------------------------------------------------ */

/* Each gradient goes to where its value came from. */
static void sort_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const ht_body *x = ht__node_input(node, 0);
    ht_tensor *places = ht_node_saved(node, 0);

    if (places != NULL)
        gin[0] = ht__scatter_axis("ht_sort", ht__match_slabs("ht_sort", g, places->body), places,
                                  *(int *)ht_node_context(node, 0), x);
}

static ht_tensor *record(const char *what, ht_tensor *x, int axis, const ht_sorted *sorted)
{
    ht_node *node = ht_node_new(what, sort_backward, 1, &x);

    if (node == NULL)
        return sorted->values;
    ht_node_save(node, sorted->indices);
    *(int *)ht_node_context(node, sizeof axis) = axis;
    return ht_node_set_output(node, sorted->values);
}

/* For a public function, whose arguments are right. */
static ht_status sort(ht_order order, ht_tensor *x, int axis, ht_tensor **values,
                      ht_tensor **indices)
{
    ht_sorted sorted = {NULL, NULL};
    ht_tensor *y;
    bool was, good;

    order.indexed = indices != NULL || (ht_is_grad_enabled() && ht__needs_grad(x));
    was = ht_set_grad_enabled(false);
    good = ht__sort_axis(&order, x, axis, &sorted);
    ht_set_grad_enabled(was);
    y = good ? record(order.what, x, axis, &sorted) : NULL;
    if (y == NULL)
        return ht_error_get(NULL);
    *values = y;
    if (indices != NULL)
        *indices = sorted.indices;
    return HT_SUCCESS;
}

ht_status ht_sort(ht_tensor *x, int axis, bool descending, ht_tensor **values, ht_tensor **indices)
{
    const ht_order order = {"ht_sort", descending, false, HT_KEEP_ALL};

    if (HT_IS_NULL(x, order.what, "x") ||
        HT_IS_NULL_ON(x->body->comm, values, order.what, "values") ||
        !ht__check_axis(order.what, x, &axis))
        return ht_error_get(NULL);
    return sort(order, x, axis, values, indices);
}

ht_tensor *ht_argsort(ht_tensor *x, int axis, bool descending)
{
    const ht_order order = {"ht_argsort", descending, true, HT_KEEP_ALL};
    ht_sorted sorted = {NULL, NULL};
    bool was, good;

    if (HT_IS_NULL(x, order.what, "x") || !ht__check_axis(order.what, x, &axis))
        return NULL;
    was = ht_set_grad_enabled(false);
    good = ht__sort_axis(&order, x, axis, &sorted);
    ht_set_grad_enabled(was);
    return good ? sorted.indices : NULL;
}

ht_status ht_topk(ht_tensor *x, int64_t k, int axis, bool largest, ht_tensor **values,
                  ht_tensor **indices)
{
    const ht_order order = {"ht_topk", largest, false, k};

    if (HT_IS_NULL(x, order.what, "x") ||
        HT_IS_NULL_ON(x->body->comm, values, order.what, "values") ||
        !ht__check_axis(order.what, x, &axis))
        return ht_error_get(NULL);
    if (k < 0 || k > x->body->shape[axis])
        return HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                       "%s: k is %lld, expected 0 to %lld, the length of axis %d", order.what,
                       (long long)k, (long long)x->body->shape[axis], axis);
    return sort(order, x, axis, values, indices);
}

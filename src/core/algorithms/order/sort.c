/* SPDX-License-Identifier: MIT
 *
 * Sorting. Along an axis that is not split each rank sorts its own lines. Lines along the split
 * axis are dealt out (one Alltoall), sorted, and cut into slabs again (another one), if there is at
 * least one for each rank. Fewer lines are sorted by samples of all ranks (sort_samples.c). Either
 * way a rank stores its part of the tensor a few times. Places, if they are wanted, travel with the
 * values. */
#include <string.h>

#include "core/algorithms/order/order.h"
#include "core/ops/ops.h"
#include "ht/kernels/order.h"
#include "ht/manipulations.h"
#include "ht/sorting.h"

/* ---- along the split axis ------------------------------------------------------------------ */

/* (lines, n), complete lines of which each rank sorts some. */
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

/* Whether lines are sorted by samples. They are if there are too few to deal out, or if few
 * elements of each are kept, so that the others need not travel. */
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
    HT_NAMED("ht_sort");
    const ht_order order = {"ht_sort", descending, false, HT_KEEP_ALL};

    if (HT_IS_NULL(x, order.what, "x") ||
        HT_IS_NULL_ON(x->body->comm, values, order.what, "values") ||
        !ht__check_axis(order.what, x, &axis))
        return ht_error_get(NULL);
    return sort(order, x, axis, values, indices);
}

ht_tensor *ht_argsort(ht_tensor *x, int axis, bool descending)
{
    HT_NAMED("ht_argsort");
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
    HT_NAMED("ht_topk");
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

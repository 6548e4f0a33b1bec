/* SPDX-License-Identifier: MIT
 *
 * Views with the axes in another order. */
#include "core/ops/ops.h"
#include "ht/manipulations.h"

static void permute_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const int *axes = ht_node_context(node, 0);
    int inverse[HT_MAX_NDIM];

    for (int i = 0; i < g->body->ndim; i++)
        inverse[axes[i]] = i;
    gin[0] = ht_permute(g, g->body->ndim, inverse);
}

static bool is_permutation(int ndim, const int axes[])
{
    unsigned seen = 0;

    for (int i = 0; i < ndim; i++) {
        if (axes[i] < 0 || axes[i] >= ndim)
            return false;
        seen |= 1u << axes[i];
    }
    return seen == (1u << ndim) - 1;
}

ht_tensor *ht_permute(ht_tensor *x, int count, const int axes[])
{
    int order[HT_MAX_NDIM];
    ht_body *body;

    if (HT_IS_NULL(x, "ht_permute", "x") ||
        !ht__check_list("ht_permute", x->body->comm, "count", count, "axes", axes))
        return NULL;
    if (axes != NULL && count != x->body->ndim) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                "ht_permute: count is %d, expected the number of axes of x, %d", count,
                x->body->ndim);
        return NULL;
    }
    for (int i = 0; i < x->body->ndim; i++) {
        order[i] = axes != NULL ? axes[i] : x->body->ndim - 1 - i;
        order[i] += order[i] < 0 ? x->body->ndim : 0;
    }
    if (!is_permutation(x->body->ndim, order)) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                "ht_permute: axes is invalid, expected a permutation of the %d axes of x",
                x->body->ndim);
        return NULL;
    }
    body = ht__body_view(x->body);
    for (int i = 0; i < body->ndim; i++) {
        body->shape[i] = x->body->shape[order[i]];
        body->stride[i] = x->body->stride[order[i]];
        body->gstride[i] = x->body->gstride[order[i]];
        if (order[i] == x->body->split)
            body->split = i;
    }
    ht__body_settle(body);
    return ht__record_view("ht_permute", permute_backward, x, body, order, sizeof order);
}

ht_tensor *ht_transpose(ht_tensor *x, int axis0, int axis1)
{
    int order[HT_MAX_NDIM];

    if (HT_IS_NULL(x, "ht_transpose", "x") ||
        !ht__check_axis_of("ht_transpose", "axis0", "x", x, &axis0) ||
        !ht__check_axis_of("ht_transpose", "axis1", "x", x, &axis1))
        return NULL;
    for (int i = 0; i < x->body->ndim; i++)
        order[i] = i == axis0 ? axis1 : i == axis1 ? axis0 : i;
    return ht_permute(x, x->body->ndim, order);
}

/* SPDX-License-Identifier: MIT
 *
 * Tensors as lines along one axis, and back. */
#include <string.h>

#include "core/algorithms/order/order.h"
#include "core/ops/ops.h"
#include "ht/manipulations.h"

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

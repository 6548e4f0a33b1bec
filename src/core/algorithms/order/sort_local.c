/* SPDX-License-Identifier: MIT
 *
 * Lines that this rank sorts alone: one kernel for all of them. */
#include <string.h>

#include "core/algorithms/order/order.h"
#include "core/ops/ops.h"
#include "ht/kernels/order.h"

/* An operand of the loop over the first elements of lines; *stride is the step along the axis. */
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
    ht_reach beyond[3] = {{0}};
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
    sort.loop.operand[2].written = true;
    ht__reach_along(&beyond[0], sort.keep, sort.out_stride);
    ht__reach_along(&beyond[1], sort.count, sort.in_stride);
    ht__reach_along(&beyond[2], sort.keep, sort.index_stride);
    ht__loop_reach(&sort.loop, body->storage->device, indices != NULL ? 3 : 2, operands, beyond);
    return HT_RUN(x, HT_KERNEL_SORT, &sort, order->what) == HT_SUCCESS;
}

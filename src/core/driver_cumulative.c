/* SPDX-License-Identifier: MIT
 *
 * The cumulative driver: each rank accumulates its slab; along the split axis the sums of all slabs
 * before it are added afterwards (one Exscan of the last slice). */
#include "core.h"
#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/manipulations.h"

static ht_status run(const ht_cumulative_row *row, const ht_tensor *x, const ht_body *y, int axis)
{
    ht_device *device = y->storage->device;
    ht_cumulative_fn kernel = device->backend->kernels.cumulative[row->kernel][x->body->dtype];
    ht_operand operands[2] = {ht__operand(y), ht__operand(x->body)};
    ht_cumulation cumulation = {.count = y->lshape[axis],
                                .out_stride = y->stride[axis],
                                .in_stride = x->body->stride[axis]};
    int64_t shape[HT_MAX_NDIM];

    if (kernel == NULL)
        return ht__kernel_missing(row->name, x);
    if (y->lsize == 0)
        return HT_SUCCESS;
    for (int i = 0; i < y->ndim; i++)
        shape[i] = i == axis ? 1 : y->lshape[i];
    ht__loop_fill(&cumulation.loop, y->ndim, shape, 2, operands);
    if (kernel(device->stream, &cumulation) != 0)
        return ht__kernel_failed(y->comm, row->name);
    return HT_SUCCESS;
}

static ht_status add_slabs_before(ht_tensor *y, int axis, ht_reduce_op across)
{
    ht_tensor *local = ht_tensor_local(y), *last, *before;
    int64_t count = y->body->lshape[axis];
    int64_t shape[HT_MAX_NDIM];

    for (int i = 0; i < y->body->ndim; i++)
        shape[i] = i == axis ? 1 : y->body->lshape[i];
    last = count > 0 ? ht_copy(ht_narrow(local, axis, count - 1, count))
                     : ht_full_on(y->body->ndim, shape, 0, y->body->dtype, HT_NONE,
                                  y->body->storage->device, ht_comm_self());
    before = last != NULL ? ht_zeros_like(last) : NULL;
    if (before == NULL)
        return ht_error_get(NULL);
    ht_status status = ht__comm_exscan(y->body->comm, last, before, across);
    if (status != HT_SUCCESS || y->body->comm->rank == 0 || count == 0)
        return status; /* Exscan leaves rank 0's buffer alone */
    return ht_add_(local, before, 1);
}

ht_tensor *ht__cumulative(const ht_cumulative_row *row, ht_tensor *x, int axis)
{
    bool exact;
    ht_tensor *y;
    ht_node *node;

    if (HT_IS_NULL(x, row->name, "x") || !ht__check_axis(row->name, x, &axis))
        return NULL;
    exact = x->body->dtype == HT_BOOL || ht_dtype_is_integer(x->body->dtype);
    y = ht__empty(row->name, x->body, exact ? HT_INT64 : x->body->dtype);
    if (y == NULL || run(row, x, y->body, axis) != HT_SUCCESS)
        return NULL;
    if (axis == x->body->split && x->body->comm->size > 1) {
        bool was = ht_set_grad_enabled(false);
        ht_status status = add_slabs_before(y, axis, row->across);

        ht_set_grad_enabled(was);
        if (status != HT_SUCCESS)
            return NULL;
    }
    node = ht_node_new(row->name, row->backward, 1, &x);
    if (node == NULL)
        return y;
    *(int *)ht_node_context(node, sizeof(int)) = axis;
    return ht_node_set_output(node, y);
}

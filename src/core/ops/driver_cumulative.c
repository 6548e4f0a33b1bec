/* SPDX-License-Identifier: MIT
 *
 * The cumulative driver: each rank accumulates its slab. Along the split axis it starts from the
 * sum of the slabs before it, which travels in the accumulator's dtype, so that every element is
 * rounded once. Reversed, everything goes from the end of the axis: slabs after, negative strides.
 */

#include "core/collective/collective.h"
#include "core/ops/drivers.h"
#include "ht/kernels/reduce.h"

typedef struct cumulative_plan {
    const ht_cumulative_row *row;
    int axis;
    bool reversed;
} cumulative_plan;

/* The operand's lines along the axis, from where they begin. */
static ht_operand lines(const ht_body *body, const cumulative_plan *plan, int64_t *stride)
{
    ht_operand operand = ht__operand(body);
    int64_t last = plan->reversed ? body->lshape[plan->axis] - 1 : 0;

    *stride = plan->reversed ? -body->stride[plan->axis] : body->stride[plan->axis];
    operand.data = (char *)operand.data +
                   last * body->stride[plan->axis] * (int64_t)ht_dtype_size(body->dtype);
    return operand;
}

/* start: what each line begins with, shaped as one element of the axis; NULL: 0. */
static ht_status run(const cumulative_plan *plan, const ht_tensor *x, const ht_body *y,
                     const ht_tensor *start)
{
    ht_device *device = y->storage->device;
    ht_cumulation cumulation = {.count = y->lshape[plan->axis]};
    ht_operand operands[3] = {0};
    int64_t shape[HT_MAX_NDIM];

    if (!ht__kernel_is_there(device, plan->row->kernel, x->body->dtype))
        return ht__kernel_missing(y->comm, device, plan->row->kernel, x->body->dtype,
                                  plan->row->name);
    if (y->lsize == 0)
        return HT_SUCCESS;
    operands[0] = lines(y, plan, &cumulation.out_stride);
    operands[1] = lines(x->body, plan, &cumulation.in_stride);
    if (start != NULL)
        operands[2] = ht__operand(start->body);
    for (int i = 0; i < y->ndim; i++)
        shape[i] = i == plan->axis ? 1 : y->lshape[i];
    ht__loop_fill(&cumulation.loop, y->ndim, shape, start != NULL ? 3 : 2, operands);
    return HT_LAUNCH(y->comm, device, plan->row->kernel, x->body->dtype, &cumulation,
                     plan->row->name);
}

/* The sum of all slabs that this rank's lines come after. */
static ht_tensor *slabs_before(const cumulative_plan *plan, ht_tensor *x)
{
    ht_tensor *sum = ht__sum_axis_wide(plan->row->name, ht_tensor_local(x), plan->axis);

    if (sum == NULL ||
        ht__comm_sum(x->body->comm, sum, plan->reversed ? HT_SUM_AFTER : HT_SUM_BEFORE, 1,
                     plan->row->name) != HT_SUCCESS)
        return NULL;
    return sum;
}

static ht_tensor *accumulate(const cumulative_plan *plan, ht_tensor *x)
{
    const bool across = plan->axis == x->body->split && x->body->comm->size > 1;
    ht_tensor *y, *start = NULL;

    y = ht__empty(plan->row->name, x->body,
                  ht__dtype_is_exact(x->body->dtype) ? HT_INT64 : x->body->dtype);
    if (y == NULL)
        return NULL;
    if (across) {
        bool was = ht_set_grad_enabled(false);
        ht_comm *outer = ht__together(x->body->comm);

        start = slabs_before(plan, x);
        ht__together_end(outer);
        ht_set_grad_enabled(was);
        if (start == NULL)
            return NULL;
    }
    return run(plan, x, y->body, start) == HT_SUCCESS ? y : NULL;
}

ht_tensor *ht__cumulative(const ht_cumulative_row *row, ht_tensor *x, int axis)
{
    ht_tensor *y;
    ht_node *node;

    if (HT_IS_NULL(x, row->name, "x") || !ht__check_axis(row->name, x, &axis))
        return NULL;
    y = accumulate(&(cumulative_plan){row, axis, false}, x);
    node = y != NULL ? ht_node_new(row->name, row->backward, 1, &x) : NULL;
    if (node == NULL)
        return y;
    *(int *)ht_node_context(node, sizeof(int)) = axis;
    return ht_node_set_output(node, y);
}

ht_tensor *ht__cumulative_reversed(const ht_cumulative_row *row, ht_tensor *x, int axis)
{
    return accumulate(&(cumulative_plan){row, axis, true}, x);
}

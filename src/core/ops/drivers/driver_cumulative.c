/* SPDX-License-Identifier: MIT
 *
 * The cumulative driver: each rank accumulates its slab. Along the split axis it starts from the
 * sum of the slabs before it. This sum travels in the accumulator's dtype, so that every element is
 * rounded once. In reverse, everything starts at the end of the axis: slabs after, negative
 * strides. */

#include "core/collective/collective.h"
#include "core/ops/drivers/drivers.h"
#include "ht/kernels/elementwise.h"
#include "ht/kernels/reduce.h"
#include "ht/manipulations.h"

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
    ht_reach beyond[3] = {{0}};
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
    ht__reach_along(&beyond[0], cumulation.count, cumulation.out_stride);
    ht__reach_along(&beyond[1], cumulation.count, cumulation.in_stride);
    ht__loop_reach(&cumulation.loop, device, start != NULL ? 3 : 2, operands, beyond);
    return HT_LAUNCH(y->comm, device, plan->row->kernel, x->body->dtype, &cumulation,
                     plan->row->name);
}

/* Begins to send x, n numbers in a line, to one rank and to receive as many from another (none: out
 * of the ranks). Owned; for ht_wait. */
static ht_request *pass_on(const char *what, ht_comm *comm, ht_tensor *x, int to, ht_tensor *come,
                           int from)
{
    const int64_t n = x->body->lsize;
    int64_t *send = ht__alloc(2 * ((size_t)comm->size + 1) * sizeof *send);
    int64_t *recv = send + comm->size + 1;
    ht_request *request;

    for (int rank = 0; rank <= comm->size; rank++) {
        send[rank] = to < comm->size && rank > to ? n : 0;
        recv[rank] = from >= 0 && rank > from ? n : 0;
    }
    request = ht__comm_alltoall_axis(comm, x, 0, send, come, 0, recv, what);
    ht__free(send);
    return request;
}

/* The product of `own`, a line of numbers, over the ranks before this one, in log2(P) steps. After
 * each step `all` is the product of twice as many ranks, up to this one. */
static ht_tensor *product_before(const char *what, ht_comm *comm, ht_tensor *own)
{
    const ht_broadcast_op product = {.name = what, .kernel = HT_KERNEL_MUL};
    ht_tensor *all = own, *before = ht__empty(what, own->body, own->body->dtype);

    if (before == NULL || ht__fill_local(what, before->body, ht_number_integer(1)) != HT_SUCCESS)
        return NULL;
    for (int distance = 1; distance < comm->size; distance *= 2) {
        ht_tensor *come = ht__empty(what, own->body, own->body->dtype);
        ht_request *request = come != NULL ? pass_on(what, comm, all, comm->rank + distance, come,
                                                     comm->rank - distance)
                                           : NULL;

        if (request == NULL || ht_wait(&request) != HT_SUCCESS)
            return NULL;
        if (comm->rank < distance)
            continue;
        before = ht__binary(&product, come, before);
        all = ht__binary(&product, come, all);
        if (before == NULL || all == NULL)
            return NULL;
    }
    return before;
}

/* As slabs_before, of products. */
static ht_tensor *product_of_slabs_before(const cumulative_plan *plan, ht_tensor *x)
{
    const ht_reduce_row row = {
        .name = plan->row->name, .kernel = HT_KERNEL_PROD, .across = HT_OP_PROD, .wide = true};
    const ht_reduce_over over = {1u << plan->axis, true};
    ht_tensor *own = ht__reduce_over(&row, ht_tensor_local(x), &over), *before;

    if (own == NULL)
        return NULL;
    before = product_before(plan->row->name, x->body->comm, ht_reshape(own, HT_SHAPE(-1)));
    return before != NULL ? ht_reshape(before, own->body->ndim, own->body->shape) : NULL;
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

        start = plan->row->across == HT_OP_PROD ? product_of_slabs_before(plan, x)
                                                : slabs_before(plan, x);
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
    if (row->across == HT_OP_PROD)
        ht_node_save(node, x);
    return ht_node_set_output(node, y);
}

ht_tensor *ht__cumulative_reversed(const ht_cumulative_row *row, ht_tensor *x, int axis)
{
    return accumulate(&(cumulative_plan){row, axis, true}, x);
}

/* SPDX-License-Identifier: MIT
 *
 * The reduce driver: each rank reduces its part; when the split axis is among the reduced ones, one
 * Allreduce combines the partial results and every rank holds them. */
#include "core.h"
#include "ht/arithmetics.h"
#include "ht/relational.h"

#include <math.h>

typedef struct reduce_plan {
    bool reduced[HT_MAX_NDIM];
    bool across; /* ranks hold partial results */
    int ndim, split;
    int64_t shape[HT_MAX_NDIM];
    int axis_of[HT_MAX_NDIM]; /* axis of the input behind each axis of the output; -1: none */
} reduce_plan;

static reduce_plan make_plan(const ht_body *x, int axis, bool keepdim)
{
    reduce_plan plan = {.split = HT_NONE};

    for (int i = 0; i < x->ndim; i++) {
        plan.reduced[i] = axis == HT_NONE || axis == i;
        if (plan.reduced[i] && !keepdim)
            continue;
        if (i == x->split && !plan.reduced[i])
            plan.split = plan.ndim;
        plan.axis_of[plan.ndim] = plan.reduced[i] ? -1 : i;
        plan.shape[plan.ndim++] = plan.reduced[i] ? 1 : x->shape[i];
    }
    plan.across = x->split != HT_NONE && plan.reduced[x->split] && x->comm->size > 1;
    return plan;
}

/* The reduced axes of the input, longest stride first, neighbours merged. */
static void fill_reduced(ht_reduction *reduction, const ht_body *x, const reduce_plan *plan)
{
    int order[HT_MAX_NDIM], count = 0;

    for (int i = 0; i < x->ndim; i++) {
        int j = count;

        if (!plan->reduced[i] || x->lshape[i] == 1)
            continue;
        for (; j > 0 && x->stride[order[j - 1]] < x->stride[i]; j--)
            order[j] = order[j - 1];
        order[j] = i;
        count++;
    }
    for (int i = 0; i < count; i++) {
        int n = reduction->ndim, axis = order[i];

        if (n > 0 && reduction->stride[n - 1] == x->stride[axis] * x->lshape[axis]) {
            reduction->shape[n - 1] *= x->lshape[axis];
            reduction->stride[n - 1] = x->stride[axis];
            continue;
        }
        reduction->shape[n] = x->lshape[axis];
        reduction->stride[n] = x->stride[axis];
        reduction->ndim++;
    }
    if (reduction->ndim == 0) {
        reduction->shape[0] = 1;
        reduction->ndim = 1;
    }
}

/* Positions are counted in row-major order: a layout of another order is copied first. */
static bool counts_positions(const ht_reduce_row *row)
{
    return row->kernel == HT_REDUCE_ARGMAX || row->kernel == HT_REDUCE_ARGMIN;
}

static double neutral(const ht_reduce_row *row, ht_dtype dtype)
{
    bool least = row->across == HT_OP_MAX;

    if (row->across == HT_OP_SUM)
        return 0;
    if (ht_dtype_is_floating(dtype))
        return least ? -INFINITY : INFINITY;
    switch (dtype) {
    case HT_INT8:
        return least ? INT8_MIN : INT8_MAX;
    case HT_INT16:
        return least ? INT16_MIN : INT16_MAX;
    case HT_INT32:
        return least ? INT32_MIN : INT32_MAX;
    case HT_INT64: /* the largest double that converts */
        return least ? (double)INT64_MIN : (double)(INT64_MAX - 1023);
    case HT_UINT8:
        return least ? 0 : UINT8_MAX;
    default:
        return least ? 0 : 1;
    }
}

/* y and, for positions, `index` from this rank's part of x. */
static ht_status reduce_local(const ht_reduce_row *row, const reduce_plan *plan, ht_tensor *x,
                              ht_tensor *y, ht_tensor *index)
{
    if (x == NULL)
        return ht_error_get(NULL);

    const ht_body *in = x->body, *out = y->body;
    ht_device *device = out->storage->device;
    ht_reduce_fn kernel = device->backend->kernels.reduce[row->kernel][in->dtype];
    ht_operand operands[3] = {ht__operand(out), {.data = ht__body_data(in)}};
    ht_reduction reduction = {0};

    if (kernel == NULL)
        return ht__kernel_missing(row->name, x);
    if (out->lsize == 0)
        return HT_SUCCESS;
    if (in->lsize == 0) {
        if (index != NULL)
            ht_fill_(index, 0);
        return ht_fill_(y, neutral(row, out->dtype));
    }
    for (int i = 0; i < plan->ndim; i++)
        operands[1].stride[i] = plan->axis_of[i] < 0 ? 0 : in->stride[plan->axis_of[i]];
    if (index != NULL)
        operands[2] = ht__operand(index->body);
    ht__loop_fill(&reduction.loop, out->ndim, out->lshape, index != NULL ? 3 : 2, operands);
    fill_reduced(&reduction, in, plan);
    if (kernel(device->stream, &reduction) != 0)
        return ht__kernel_failed(out->comm, row->name);
    return HT_SUCCESS;
}

/* Local positions inside the reduced axes become global ones. */
static ht_tensor *global_positions(const ht_body *x, int axis, ht_tensor *index)
{
    int64_t inner = 1, rows;

    if (x->split == HT_NONE || x->split_start == 0)
        rows = 0;
    else
        rows = x->split_start;
    if (axis != HT_NONE || x->ndim == 1)
        return axis == x->split || x->ndim == 1 ? ht_add_scalar(index, (double)rows) : index;
    if (x->split == HT_NONE)
        return index;
    for (int i = x->split + 1; i < x->ndim; i++)
        inner *= x->shape[i];
    int64_t slab = inner * x->lshape[x->split], whole = inner * x->shape[x->split];
    int64_t *position = ht_tensor_mutable_data(index);
    if (position != NULL && slab > 0)
        *position = *position / slab * whole + rows * inner + *position % slab;
    return index;
}

/* Of equal extremes on several ranks the first position wins: the extreme by one Allreduce, then
 * the smallest position among the ranks that hold it. */
static ht_tensor *first_of_ranks(const ht_reduce_row *row, ht_comm *comm, ht_tensor *value,
                                 ht_tensor *index, bool has_part)
{
    ht_tensor *best = ht_copy(value), *mine, *nan, *position;

    if (ht__comm_allreduce(comm, best, best, row->across) != HT_SUCCESS)
        return NULL;
    mine = ht_eq(value, best);
    nan = ht_mul(ht_ne(value, value), ht_ne(best, best));
    mine = ht_mul_scalar(ht_astype(ht_add(mine, nan), HT_INT64), has_part ? 1 : 0);
    /* 2^62 where this rank has it not */
    position = ht_add(ht_mul(index, mine),
                      ht_mul_scalar(ht_sub_scalar(mine, 1), -(double)((int64_t)1 << 62)));
    if (position == NULL || ht__comm_allreduce(comm, position, position, HT_OP_MIN) != HT_SUCCESS)
        return NULL;
    return position;
}

static ht_tensor *reduce_position(const ht_reduce_row *row, const reduce_plan *plan, ht_tensor *x,
                                  int axis, ht_tensor *y)
{
    ht_tensor *index = ht__empty(row->name, y->body, HT_INT64);
    bool was = ht_set_grad_enabled(false);

    if (index != NULL && reduce_local(row, plan, ht_contiguous(x), y, index) == HT_SUCCESS) {
        index = global_positions(x->body, axis, index);
        if (plan->across)
            index = first_of_ranks(row, x->body->comm, y, index, x->body->lsize > 0);
    } else {
        index = NULL;
    }
    ht_set_grad_enabled(was);
    return index;
}

static ht_dtype result_dtype(const ht_reduce_row *row, ht_dtype dtype)
{
    bool exact = dtype == HT_BOOL || ht_dtype_is_integer(dtype);

    return row->kernel == HT_REDUCE_SUM && exact ? HT_INT64 : dtype;
}

static ht_tensor *record(const ht_reduce_row *row, ht_tensor *x, ht_tensor *y, int axis,
                         bool keepdim)
{
    ht_node *node = row->backward != NULL ? ht_node_new(row->name, row->backward, 1, &x) : NULL;

    if (node == NULL)
        return y;
    ht_reduce_context *context = ht_node_context(node, sizeof *context);
    context->axis = axis;
    context->keepdim = keepdim;
    if (row->save) {
        ht_node_save(node, x);
        ht_node_save(node, y);
    }
    return ht_node_set_output(node, y);
}

ht_tensor *ht__reduce(const ht_reduce_row *row, ht_tensor *x, int axis, bool keepdim)
{
    ht_bounds *bounds;
    ht_tensor *y;
    reduce_plan plan;

    if (HT_IS_NULL(x, row->name, "x") || (axis != HT_NONE && !ht__check_axis(row->name, x, &axis)))
        return NULL;
    plan = make_plan(x->body, axis, keepdim);
    for (int i = 0; i < x->body->ndim; i++) {
        if (row->needs_elements && plan.reduced[i] && x->body->shape[i] == 0) {
            HT_FAIL(x->body->comm, HT_ERR_SHAPE, "%s: x of shape %s has no elements along axis %d",
                    row->name, ht__shape_str(x->body->ndim, x->body->shape), i);
            return NULL;
        }
    }
    bounds = plan.split != HT_NONE ? x->body->bounds : NULL;
    y = ht__tensor_new(ht__body_new(row->name, x->body->comm, x->body->storage->device,
                                    result_dtype(row, x->body->dtype), plan.ndim, plan.shape,
                                    plan.split, bounds));
    if (y == NULL)
        return NULL;
    if (counts_positions(row))
        return reduce_position(row, &plan, x, axis, y);
    if (reduce_local(row, &plan, x, y, NULL) != HT_SUCCESS)
        return NULL;
    if (plan.across && ht__comm_allreduce(x->body->comm, y, y, row->across) != HT_SUCCESS)
        return NULL;
    return record(row, x, y, axis, keepdim);
}

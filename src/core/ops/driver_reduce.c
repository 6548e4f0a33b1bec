/* SPDX-License-Identifier: MIT
 *
 * The reduce driver: each rank reduces its part; when the split axis is among the reduced ones, the
 * partial results are combined and every rank holds the whole. Partial sums of floating numbers
 * travel in the accumulator's dtype and are rounded once, after the last addition. */
#include "core/core.h"
#include "ht/arithmetics.h"
#include "ht/devices.h"
#include "ht/manipulations.h"
#include "ht/relational.h"

#include <math.h>

#define ALL_AXES UINT32_MAX

/* Sets of axes have a bit for each. */
typedef struct reduce_plan {
    uint32_t reduced;
    bool across; /* ranks hold partial results */
    int ndim, split;
    int64_t count; /* elements that make one of the result */
    int64_t shape[HT_MAX_NDIM];
    int axis_of[HT_MAX_NDIM]; /* axis of the input behind each axis of the output; -1: none */
} reduce_plan;

static uint32_t axis_set(int axis)
{
    return axis == HT_NONE ? ALL_AXES : 1u << axis;
}

/* Reduced axes are dropped, but those of `kept` stay with length 1. */
static reduce_plan make_plan(const ht_body *x, uint32_t reduced, uint32_t kept)
{
    reduce_plan plan = {.reduced = reduced, .split = HT_NONE, .count = 1};

    for (int i = 0; i < x->ndim; i++) {
        bool gone = reduced >> i & 1;

        plan.count *= gone ? x->shape[i] : 1;
        if (gone && !(kept >> i & 1))
            continue;
        if (i == x->split && !gone)
            plan.split = plan.ndim;
        plan.axis_of[plan.ndim] = gone ? -1 : i;
        plan.shape[plan.ndim++] = gone ? 1 : x->shape[i];
    }
    plan.across = x->split != HT_NONE && (reduced >> x->split & 1) && x->comm->size > 1;
    return plan;
}

/* The reduced axes of the input, longest stride first, neighbours merged. */
static void fill_reduced(ht_reduction *reduction, const ht_body *x, const reduce_plan *plan)
{
    int order[HT_MAX_NDIM], count = 0;

    for (int i = 0; i < x->ndim; i++) {
        int j = count;

        if (!(plan->reduced >> i & 1) || x->lshape[i] == 1)
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

/* The result of no elements: what changes no other one when they are combined. */
static ht_status fill_neutral(const char *what, const ht_body *y, ht_reduce_op across,
                              double divisor)
{
    bool least = across == HT_OP_MAX;
    int64_t number = least ? 0 : 1; /* of bool */
    double real = across == HT_OP_SUM ? 0 / divisor : least ? -INFINITY : INFINITY;

    if (across == HT_OP_SUM || ht_dtype_is_floating(y->dtype))
        return ht__fill_local(what, y, ht__real(real));
    if (y->dtype == HT_UINT8)
        number = least ? 0 : UINT8_MAX;
    else if (y->dtype == HT_INT8)
        number = least ? INT8_MIN : INT8_MAX;
    else if (y->dtype == HT_INT16)
        number = least ? INT16_MIN : INT16_MAX;
    else if (y->dtype == HT_INT32)
        number = least ? INT32_MIN : INT32_MAX;
    else if (y->dtype == HT_INT64)
        number = least ? INT64_MIN : INT64_MAX;
    return ht__fill_local_from(what, y, HT_INT64, &number);
}

/* What a kernel is given besides plan and input. */
typedef struct reduce_job {
    const char *name;
    ht_reduce_kernel kernel;
    ht_reduce_op across;
    double divisor;
    ht_tensor *beside; /* positions, or centres; NULL: none */
} reduce_job;

/* y from this rank's part of x. */
static ht_status reduce_local(const reduce_job *job, const reduce_plan *plan, ht_tensor *x,
                              ht_tensor *y)
{
    const ht_body *in = x->body, *out = y->body;
    ht_device *device = out->storage->device;
    ht_reduce_fn kernel = device->backend->kernels.reduce[job->kernel][in->dtype];
    ht_operand operands[3] = {ht__operand(out), {.data = ht__body_data(in)}};
    ht_reduction reduction = {.divisor = job->divisor};

    if (kernel == NULL)
        return ht__kernel_missing(job->name, x);
    if (out->lsize == 0)
        return HT_SUCCESS;
    if (in->lsize == 0)
        return fill_neutral(job->name, out, job->across, job->divisor);
    for (int i = 0; i < plan->ndim; i++)
        operands[1].stride[i] = plan->axis_of[i] < 0 ? 0 : in->stride[plan->axis_of[i]];
    if (job->beside != NULL)
        operands[2] = ht__operand(job->beside->body);
    ht__loop_fill(&reduction.loop, out->ndim, out->lshape, job->beside != NULL ? 3 : 2, operands);
    fill_reduced(&reduction, in, plan);
    if (kernel(device->stream, &reduction) != 0)
        return ht__kernel_failed(out->comm, job->name);
    return HT_SUCCESS;
}

static ht_dtype wide_dtype(ht_dtype dtype)
{
    return ht_dtype_is_complex(dtype) ? HT_COMPLEX128 : HT_FLOAT64;
}

static ht_tensor *new_result(const char *what, const ht_body *x, const reduce_plan *plan,
                             ht_dtype dtype)
{
    return ht__tensor_new(ht__body_new(what, x->comm, x->storage->device, dtype, plan->ndim,
                                       plan->shape, plan->split,
                                       plan->split != HT_NONE ? x->bounds : NULL));
}

/* A sum of all ranks' elements over the divisor, not yet rounded. */
static ht_tensor *sum_wide(const char *what, const reduce_plan *plan, ht_tensor *x,
                           ht_tensor *centre, double divisor)
{
    const reduce_job job = {.name = what,
                            .kernel = centre != NULL ? HT_REDUCE_DEVIATIONS : HT_REDUCE_SUM_WIDE,
                            .across = HT_OP_SUM,
                            .divisor = plan->across ? 1 : divisor,
                            .beside = centre};
    ht_tensor *y = new_result(what, x->body, plan,
                              centre != NULL ? HT_FLOAT64 : wide_dtype(x->body->dtype));

    if (y == NULL || reduce_local(&job, plan, x, y) != HT_SUCCESS ||
        (plan->across && ht__comm_sum(x->body->comm, y, HT_SUM_ALL, divisor, what) != HT_SUCCESS))
        return NULL;
    return y;
}

/* Local positions inside the reduced axes become global ones; in host memory. */
static void make_global(const ht_body *x, const reduce_plan *plan, ht_tensor *index)
{
    int64_t *position = ht__body_data(index->body), inner = 1;

    for (int i = x->split + 1; i < x->ndim; i++)
        inner *= plan->reduced >> i & 1 ? x->shape[i] : 1;

    const int64_t slab = inner * x->lshape[x->split], whole = inner * x->shape[x->split];

    for (int64_t i = 0; i < index->body->lsize && slab > 0; i++)
        position[i] = position[i] / slab * whole + x->split_start * inner + position[i] % slab;
}

/* Of equal extremes on several ranks the first position wins: the extreme by one Allreduce, then
 * the smallest position among the ranks that hold it. On the host, where both have to go. */
static ht_tensor *first_of_ranks(const ht_reduce_row *row, const reduce_plan *plan,
                                 const ht_body *x, ht_tensor *value, ht_tensor *index)
{
    ht_tensor *best, *mine, *nan, *position;

    value = ht__on_host(value, value->body->dtype);
    index = ht__on_host(index, HT_INT64);
    best = ht_copy(value);
    if (index == NULL || best == NULL ||
        ht__comm_allreduce(x->comm, best, best, row->across) != HT_SUCCESS)
        return NULL;
    make_global(x, plan, index);
    mine = ht_eq(value, best);
    nan = ht_mul(ht_ne(value, value), ht_ne(best, best));
    mine = ht_mul_scalar(ht_astype(ht_add(mine, nan), HT_INT64), x->lsize > 0 ? 1 : 0);
    /* 2^62 where this rank has it not */
    position = ht_add(ht_mul(index, mine),
                      ht_mul_scalar(ht_sub_scalar(mine, 1), -(double)((int64_t)1 << 62)));
    if (position == NULL ||
        ht__comm_allreduce(x->comm, position, position, HT_OP_MIN) != HT_SUCCESS)
        return NULL;
    return ht_to_device(position, x->storage->device);
}

static ht_tensor *positions(const ht_reduce_row *row, const reduce_plan *plan, ht_tensor *x)
{
    ht_tensor *dense = ht_contiguous(x); /* positions count in row-major order */
    ht_tensor *value = new_result(row->name, x->body, plan, x->body->dtype);
    ht_tensor *index = new_result(row->name, x->body, plan, HT_INT64);
    const reduce_job job = {row->name, row->kernel, row->across, 1, index};

    if (dense == NULL || value == NULL || index == NULL)
        return NULL;
    if (dense->body->lsize == 0 &&
        ht__fill_local(row->name, index->body, ht__real(0)) != HT_SUCCESS)
        return NULL;
    if (reduce_local(&job, plan, dense, value) != HT_SUCCESS)
        return NULL;
    return plan->across ? first_of_ranks(row, plan, x->body, value, index) : index;
}

static ht_dtype result_dtype(const ht_reduce_row *row, ht_dtype dtype)
{
    if (row->across != HT_OP_SUM || !ht__dtype_is_exact(dtype))
        return dtype;
    return row->kernel == HT_REDUCE_MEAN ? HT_FLOAT32 : HT_INT64;
}

static ht_tensor *values(const ht_reduce_row *row, const reduce_plan *plan, ht_tensor *x)
{
    const reduce_job job = {row->name, row->kernel, row->across,
                            row->kernel == HT_REDUCE_MEAN ? (double)plan->count : 1, NULL};
    ht_dtype dtype = result_dtype(row, x->body->dtype);
    ht_tensor *y;

    if (plan->across && row->across == HT_OP_SUM && dtype != HT_INT64)
        return ht_astype(sum_wide(row->name, plan, x, NULL, job.divisor), dtype);
    y = new_result(row->name, x->body, plan, dtype);
    if (y == NULL || reduce_local(&job, plan, x, y) != HT_SUCCESS)
        return NULL;
    if (plan->across && ht__comm_allreduce(x->body->comm, y, y, row->across) != HT_SUCCESS)
        return NULL;
    return y;
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
    bool was, counts = row->kernel == HT_REDUCE_ARGMAX || row->kernel == HT_REDUCE_ARGMIN;
    ht_comm *outer;
    ht_tensor *y;
    reduce_plan plan;

    if (HT_IS_NULL(x, row->name, "x") || (axis != HT_NONE && !ht__check_axis(row->name, x, &axis)))
        return NULL;
    plan = make_plan(x->body, axis_set(axis), keepdim ? ALL_AXES : 0);
    for (int i = 0; i < x->body->ndim; i++) {
        if (row->needs_elements && (plan.reduced >> i & 1) && x->body->shape[i] == 0) {
            HT_FAIL(x->body->comm, HT_ERR_SHAPE, "%s: x of shape %s has no elements along axis %d",
                    row->name, ht__shape_str(x->body->ndim, x->body->shape), i);
            return NULL;
        }
    }
    was = ht_set_grad_enabled(false);
    outer = ht__together(x->body->comm);
    y = counts ? positions(row, &plan, x) : values(row, &plan, x);
    ht__together_end(outer);
    ht_set_grad_enabled(was);
    return y != NULL ? record(row, x, y, axis, keepdim) : NULL;
}

ht_tensor *ht__mean_wide(const char *what, ht_tensor *x, int axis, bool keepdim, ht_tensor *centre)
{
    reduce_plan plan;

    plan = make_plan(x->body, axis_set(axis), keepdim ? ALL_AXES : 0);
    return sum_wide(what, &plan, x, centre, (double)plan.count);
}

ht_tensor *ht__sum_axis_wide(const char *what, ht_tensor *x, int axis)
{
    const ht_reduce_row row = {.name = what, .kernel = HT_REDUCE_SUM, .across = HT_OP_SUM};
    const reduce_plan plan = make_plan(x->body, axis_set(axis), ALL_AXES);

    return ht__dtype_is_exact(x->body->dtype) ? values(&row, &plan, x)
                                              : sum_wide(what, &plan, x, NULL, 1);
}

ht_tensor *ht__sum_to(const char *what, ht_tensor *x, int ndim, const int64_t shape[])
{
    const ht_reduce_row row = {.name = what, .kernel = HT_REDUCE_SUM, .across = HT_OP_SUM};
    const int leading = x->body->ndim - ndim;
    uint32_t reduced = 0, kept = 0;
    reduce_plan plan;

    for (int i = 0; i < x->body->ndim; i++) {
        if (i < leading)
            reduced |= 1u << i;
        else if (shape[i - leading] == 1 && x->body->shape[i] != 1)
            kept |= 1u << i;
    }
    reduced |= kept;
    if (reduced == 0 || leading < 0)
        return x;
    plan = make_plan(x->body, reduced, kept);
    return values(&row, &plan, x);
}

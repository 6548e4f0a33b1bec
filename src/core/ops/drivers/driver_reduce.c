/* SPDX-License-Identifier: MIT
 *
 * The reduce driver: each rank reduces its part. If the split axis is reduced, the partial results
 * are combined, and every rank has the complete result. Partial sums of floating numbers travel in
 * the accumulator's dtype and are rounded once, after the last addition. */
#include "core/collective/collective.h"
#include "core/ops/drivers/reduce_plan.h"
#include "ht/devices.h"
#include "ht/manipulations.h"
#include "ht/kernels/reduce.h"

#include <math.h>
#include <string.h>

#define ALL_AXES UINT32_MAX

static uint32_t axis_set(int axis)
{
    return axis == HT_NONE ? ALL_AXES : 1u << axis;
}

/* A sum of all ranks' elements over the divisor, not yet rounded. */
static ht_tensor *sum_by(const char *what, ht_kernel kernel, const ht_reduce_plan *plan,
                         ht_tensor *x, double divisor)
{
    const ht_reduce_job job = {
        .name = what, .kernel = kernel, .across = HT_OP_SUM, .divisor = plan->across ? 1 : divisor};
    ht_tensor *y = ht__reduce_result(what, x->body, plan, ht__dtype_wide(x->body->dtype));

    if (y == NULL || ht__reduce_local(&job, plan, x, y) != HT_SUCCESS ||
        (plan->across && ht__comm_sum(x->body->comm, y, HT_SUM_ALL, divisor, what) != HT_SUCCESS))
        return NULL;
    return y;
}

static ht_tensor *sum_wide(const char *what, const ht_reduce_plan *plan, ht_tensor *x,
                           double divisor)
{
    return sum_by(what, HT_KERNEL_SUM_WIDE, plan, x, divisor);
}

/* The first numbers of the records of all outputs. */
static ht_tensor *first_of_records(const ht_reduce_plan *plan, ht_tensor *records, int record)
{
    ht_body *body = ht__body_view(records->body);

    body->ndim = plan->ndim;
    memcpy(body->shape, plan->shape, sizeof plan->shape);
    ht__body_settle(body);
    ht__body_lay_row_major(body);
    for (int i = 0; i < body->ndim; i++) {
        body->stride[i] *= record;
        body->gstride[i] *= record;
    }
    return ht__tensor_view(body);
}

/* For ranks that have parts: each makes records of its own, which are merged. */
static ht_status spread_across(const ht_reduce_job *job, const ht_reduce_plan *plan, ht_tensor *x,
                               ht_tensor *y)
{
    const bool is_complex = ht_dtype_is_complex(x->body->dtype);
    const int record = ht__moments_record(is_complex);
    const int64_t count = y->body->lsize * record;
    ht_tensor *records = ht__tensor_new(ht__body_new(
        job->name, x->body->comm, x->body->storage->device, HT_FLOAT64, 1, &count, HT_NONE, NULL));
    ht_tensor *first = records != NULL ? first_of_records(plan, records, record) : NULL;
    ht_status status;

    if (first == NULL)
        return ht_error_get(NULL);
    status = x->body->lsize > 0 ? ht__reduce_local(job, plan, x, first)
                                : ht__fill_local(job->name, records->body, ht_number_real(0));
    if (status == HT_SUCCESS)
        status = ht__comm_moments(x->body->comm, records, is_complex, job->divisor, job->name);
    return status == HT_SUCCESS ? ht__copy_local(job->name, y->body, first->body) : status;
}

/* The sum of |x - mean|^2 over the divisor, in float64. */
static ht_tensor *spread(const char *what, const ht_reduce_plan *plan, ht_tensor *x, double divisor)
{
    const ht_reduce_job job = {.name = what,
                               .kernel = plan->across ? HT_KERNEL_MOMENTS : HT_KERNEL_SPREAD,
                               .across = HT_OP_SUM,
                               .divisor = divisor};
    ht_tensor *y = ht__reduce_result(what, x->body, plan, HT_FLOAT64);

    if (y == NULL || (plan->across ? spread_across(&job, plan, x, y)
                                   : ht__reduce_local(&job, plan, x, y)) != HT_SUCCESS)
        return NULL;
    return y;
}

/* Local positions inside the reduced axes become global ones; in host memory. */
static void make_global(const ht_body *x, const ht_reduce_plan *plan, ht_tensor *index)
{
    int64_t *position = ht__body_data(index->body), inner = 1;

    for (int i = x->split + 1; i < x->ndim; i++)
        inner *= plan->reduced >> i & 1 ? x->shape[i] : 1;

    const int64_t slab = inner * x->lshape[x->split], whole = inner * x->shape[x->split];

    for (int64_t i = 0; i < index->body->lsize && slab > 0; i++)
        position[i] = position[i] / slab * whole + x->split_start * inner + position[i] % slab;
}

static bool is_best(ht_dtype dtype, const void *value, const void *best, int64_t i)
{
    if (dtype == HT_INT64)
        return ((const int64_t *)value)[i] == ((const int64_t *)best)[i];

    const double a = ((const double *)value)[i], b = ((const double *)best)[i];

    return a == b || (isnan(a) && isnan(b));
}

/* If several ranks have equal extremes the first position wins: the extreme by one Allreduce, then
 * the smallest position among the ranks that have it. On the host, where both must go. */
static ht_tensor *first_of_ranks(const ht_reduce_row *row, const ht_reduce_plan *plan,
                                 const ht_body *x, ht_tensor *value, ht_tensor *index)
{
    const ht_dtype dtype = ht__dtype_is_exact(x->dtype) ? HT_INT64 : HT_FLOAT64;
    ht_tensor *best;
    int64_t *position;

    value = ht__on_host(row->name, value, dtype);
    index = ht__on_host(row->name, index, HT_INT64);
    best = ht_copy(value);
    if (index == NULL || best == NULL ||
        ht__comm_allreduce(x->comm, best, best, row->across) != HT_SUCCESS)
        return NULL;
    make_global(x, plan, index);
    position = ht__body_data(index->body);
    for (int64_t i = 0; i < index->body->lsize; i++) {
        if (x->lsize == 0 ||
            !is_best(dtype, ht__body_data(value->body), ht__body_data(best->body), i))
            position[i] = INT64_MAX;
    }
    if (ht__comm_allreduce(x->comm, index, index, HT_OP_MIN) != HT_SUCCESS)
        return NULL;
    return ht_to_device(index, x->storage->device);
}

static ht_tensor *positions(const ht_reduce_row *row, const ht_reduce_plan *plan, ht_tensor *x)
{
    ht_tensor *dense = ht_contiguous(x); /* positions count in row-major order */
    ht_tensor *value = ht__reduce_result(row->name, x->body, plan, x->body->dtype);
    ht_tensor *index = ht__reduce_result(row->name, x->body, plan, HT_INT64);
    const ht_reduce_job job = {row->name, row->kernel, row->across, 1, index};

    if (dense == NULL || value == NULL || index == NULL)
        return NULL;
    if (dense->body->lsize == 0 &&
        ht__fill_local(row->name, index->body, ht_number_real(0)) != HT_SUCCESS)
        return NULL;
    if (ht__reduce_local(&job, plan, dense, value) != HT_SUCCESS)
        return NULL;
    return plan->across ? first_of_ranks(row, plan, x->body, value, index) : index;
}

static ht_dtype result_dtype(const ht_reduce_row *row, ht_dtype dtype)
{
    if (row->across != HT_OP_SUM && row->across != HT_OP_PROD)
        return dtype;
    if (!ht__dtype_is_exact(dtype))
        return row->wide ? ht__dtype_wide(dtype) : dtype;
    return row->kernel == HT_KERNEL_MEAN ? HT_FLOAT32 : HT_INT64;
}

/* The dtype that the kernel stores, which may be rounded to the result's dtype afterwards. */
static ht_dtype stored_dtype(const ht_reduce_row *row, ht_dtype dtype)
{
    return row->across == HT_OP_PROD && !ht__dtype_is_exact(dtype) ? ht__dtype_wide(dtype)
                                                                   : result_dtype(row, dtype);
}

static ht_tensor *values(const ht_reduce_row *row, const ht_reduce_plan *plan, ht_tensor *x)
{
    const ht_reduce_job job = {row->name, row->kernel, row->across,
                               row->kernel == HT_KERNEL_MEAN ? (double)plan->count : 1, NULL};
    ht_dtype dtype = result_dtype(row, x->body->dtype);
    ht_tensor *y;

    if ((plan->across || row->wide) && row->across == HT_OP_SUM && dtype != HT_INT64)
        return ht_astype(sum_wide(row->name, plan, x, job.divisor), dtype);
    y = ht__reduce_result(row->name, x->body, plan, stored_dtype(row, x->body->dtype));
    if (y == NULL || ht__reduce_local(&job, plan, x, y) != HT_SUCCESS)
        return NULL;
    if (plan->across && ht__comm_allreduce(x->body->comm, y, y, row->across) != HT_SUCCESS)
        return NULL;
    return ht_astype(y, dtype);
}

static ht_tensor *record(const ht_reduce_row *row, ht_tensor *x, ht_tensor *y,
                         const ht_reduce_over *over)
{
    ht_node *node = row->backward != NULL ? ht_node_new(row->name, row->backward, 1, &x) : NULL;

    if (node == NULL)
        return y;
    *(ht_reduce_over *)ht_node_context(node, sizeof *over) = *over;
    if (row->save) {
        ht_node_save(node, x);
        ht_node_save(node, y);
    }
    return ht_node_set_output(node, y);
}

static ht_reduce_plan plan_over(const ht_body *x, const ht_reduce_over *over)
{
    return ht__reduce_plan(x, over->axes, over->keepdims ? ALL_AXES : 0);
}

ht_tensor *ht__reduce_over(const ht_reduce_row *row, ht_tensor *x, const ht_reduce_over *over)
{
    bool was, counts = row->kernel == HT_KERNEL_ARGMAX || row->kernel == HT_KERNEL_ARGMIN;
    ht_comm *outer;
    ht_tensor *y;
    ht_reduce_plan plan;

    if (x == NULL)
        return NULL;
    if (row->needs_order && ht_dtype_is_complex(x->body->dtype)) {
        HT_FAIL(x->body->comm, HT_ERR_DTYPE,
                "%s: x is %s, expected bool, an integer or a floating dtype", row->name,
                ht_dtype_name(x->body->dtype));
        return NULL;
    }
    plan = plan_over(x->body, over);
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
    return y != NULL ? record(row, x, y, over) : NULL;
}

bool ht__reduce_axis(const char *what, const ht_tensor *x, int axis, ht_reduce_over *over)
{
    if (HT_IS_NULL(x, what, "x") || (axis != HT_NONE && !ht__check_axis(what, x, &axis)))
        return false;
    *over = (ht_reduce_over){.axes = axis_set(axis)};
    return true;
}

ht_tensor *ht__reduce(const ht_reduce_row *row, ht_tensor *x, int axis)
{
    ht_reduce_over over;

    return ht__reduce_axis(row->name, x, axis, &over) ? ht__reduce_over(row, x, &over) : NULL;
}

int64_t ht__reduce_count(const ht_body *x, const ht_reduce_over *over)
{
    return plan_over(x, over).count;
}

ht_tensor *ht__mean_wide(const char *what, ht_tensor *x, const ht_reduce_over *over)
{
    const ht_reduce_plan plan = plan_over(x->body, over);

    return sum_wide(what, &plan, x, (double)plan.count);
}

ht_tensor *ht__sum_by(const char *what, ht_kernel kernel, ht_tensor *x, const ht_reduce_over *over)
{
    const ht_reduce_plan plan = plan_over(x->body, over);

    return sum_by(what, kernel, &plan, x, 1);
}

ht_tensor *ht__spread_wide(const char *what, ht_tensor *x, const ht_reduce_over *over,
                           double divisor)
{
    const ht_reduce_plan plan = plan_over(x->body, over);

    return spread(what, &plan, x, divisor);
}

ht_tensor *ht__sum_axis_wide(const char *what, ht_tensor *x, int axis)
{
    const ht_reduce_row row = {.name = what, .kernel = HT_KERNEL_SUM, .across = HT_OP_SUM};
    const ht_reduce_plan plan = ht__reduce_plan(x->body, axis_set(axis), ALL_AXES);

    return ht__dtype_is_exact(x->body->dtype) ? values(&row, &plan, x)
                                              : sum_wide(what, &plan, x, 1);
}

ht_tensor *ht__sum_to(const char *what, ht_tensor *x, int ndim, const int64_t shape[])
{
    const ht_reduce_row row = {.name = what, .kernel = HT_KERNEL_SUM, .across = HT_OP_SUM};
    const int leading = x->body->ndim - ndim;
    uint32_t reduced = 0, kept = 0;
    ht_reduce_plan plan;

    for (int i = 0; i < x->body->ndim; i++) {
        if (i < leading)
            reduced |= 1u << i;
        else if (shape[i - leading] == 1 && x->body->shape[i] != 1)
            kept |= 1u << i;
    }
    reduced |= kept;
    if (reduced == 0 || leading < 0)
        return x;
    plan = ht__reduce_plan(x->body, reduced, kept);
    return values(&row, &plan, x);
}

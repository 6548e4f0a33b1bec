/* SPDX-License-Identifier: MIT
 *
 * The plan of a reduction, and its local part on this rank. */
#include "core/ops/drivers/reduce_plan.h"
#include "ht/kernels/reduce.h"

ht_reduce_plan ht__reduce_plan(const ht_body *x, uint32_t reduced, uint32_t kept)
{
    ht_reduce_plan plan = {.reduced = reduced, .split = HT_NONE, .count = 1};

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
static void fill_reduced(ht_reduction *reduction, const ht_body *x, const ht_reduce_plan *plan)
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
    if (across == HT_OP_SUM) /* of a mean NaN, in both parts of a complex one */
        return ht__fill_local(what, y, ht_number_complex(0 / divisor, 0 / divisor));
    if (across == HT_OP_PROD)
        return ht__fill_local(what, y, ht_number_integer(1));
    return ht__fill_local(what, y, ht__dtype_end(y->dtype, across == HT_OP_MIN));
}

ht_status ht__reduce_local(const ht_reduce_job *job, const ht_reduce_plan *plan, ht_tensor *x,
                           ht_tensor *y)
{
    const ht_body *in = x->body, *out = y->body;
    ht_device *device = out->storage->device;
    ht_operand operands[3] = {ht__operand(out), {.data = ht__body_data(in), .dtype = in->dtype}};
    const int count = job->positions != NULL ? 3 : 2;
    ht_reach beyond[3] = {{0}};
    ht_reduction reduction = {.divisor = job->divisor};

    if (!ht__kernel_is_there(device, job->kernel, in->dtype))
        return ht__kernel_missing(out->comm, device, job->kernel, in->dtype, job->name);
    if (out->lsize == 0)
        return HT_SUCCESS;
    if (in->lsize == 0)
        return fill_neutral(job->name, out, job->across, job->divisor);
    for (int i = 0; i < plan->ndim; i++)
        operands[1].stride[i] = plan->axis_of[i] < 0 ? 0 : in->stride[plan->axis_of[i]];
    if (job->positions != NULL)
        operands[2] = ht__operand(job->positions->body);
    ht__loop_fill(&reduction.loop, out->ndim, out->lshape, count, operands);
    reduction.loop.operand[2].written = true;
    fill_reduced(&reduction, in, plan);
    if (job->kernel == HT_KERNEL_MOMENTS) /* a record of float64 for each output */
        beyond[0].high = ht_dtype_is_complex(in->dtype) ? 5 : 3;
    for (int i = 0; i < reduction.ndim; i++)
        ht__reach_along(&beyond[1], reduction.shape[i], reduction.stride[i]);
    ht__loop_reach(&reduction.loop, device, count, operands, beyond);
    return HT_LAUNCH(out->comm, device, job->kernel, in->dtype, &reduction, job->name);
}

ht_tensor *ht__reduce_result(const char *what, const ht_body *x, const ht_reduce_plan *plan,
                             ht_dtype dtype)
{
    return ht__tensor_new(ht__body_new(what, x->comm, x->storage->device, dtype, plan->ndim,
                                       plan->shape, plan->split,
                                       plan->split != HT_NONE ? x->bounds : NULL));
}

/* SPDX-License-Identifier: MIT
 *
 * The common shape, split and dtype of operands that are combined element by element. */
#include "core/ops/drivers/broadcast_plan.h"

#include "ht/arithmetics.h"
#include "ht/manipulations.h"

const char *ht__broadcast_name(const ht_broadcast_op *op, int k)
{
    static const char *const names[1 + HT_BROADCAST_OPERANDS] = {"mask", "a", "b", "c"};

    return op->names != NULL ? op->names[k] : names[op->masked ? k : k + 1];
}

/* Numbers meet tensors anywhere. */
static bool check_together(const ht_broadcast_op *op, int count, ht_tensor *const in[],
                           ht_broadcast_plan *plan)
{
    int first = -1;

    plan->first = in[0];
    for (int i = 0; i < count; i++) {
        if (ht__is_number(in[i]))
            continue;
        if (first < 0)
            plan->first = in[first = i];
        else if (!ht__check_together_as(op->name, ht__broadcast_name(op, first), in[first],
                                        ht__broadcast_name(op, i), in[i]))
            return false;
    }
    return true;
}

/* Length of an operand along an axis of the result; 1 where it has no such axis. */
static int64_t length_at(const ht_body *x, int ndim, int axis)
{
    int own = axis - (ndim - x->ndim);

    return own >= 0 ? x->shape[own] : 1;
}

/* The shape that all operands have; false where one differs. */
static bool take_shape(int count, ht_tensor *const in[], ht_broadcast_plan *plan)
{
    const ht_body *first = in[0]->body;

    for (int k = 1; k < count; k++) {
        if (!ht__body_same_shape(first, in[k]->body))
            return false;
    }
    plan->ndim = first->ndim;
    for (int i = 0; i < first->ndim; i++)
        plan->shape[i] = first->shape[i];
    return true;
}

static bool broadcast_shapes(const ht_broadcast_op *op, int count, ht_tensor *const in[],
                             ht_broadcast_plan *plan)
{
    plan->ndim = 0;
    for (int k = 0; k < count; k++)
        plan->ndim = in[k]->body->ndim > plan->ndim ? in[k]->body->ndim : plan->ndim;
    for (int i = 0; i < plan->ndim; i++) {
        int by = 0; /* the operand that has the length so far */

        plan->shape[i] = length_at(in[0]->body, plan->ndim, i);
        for (int k = 1; k < count; k++) {
            const int64_t m = plan->shape[i], n = length_at(in[k]->body, plan->ndim, i);

            if (m != n && m != 1 && n != 1) {
                HT_FAIL(plan->first->body->comm, HT_ERR_SHAPE,
                        "%s: %s is %s, %s is %s: lengths %lld and %lld do not broadcast", op->name,
                        ht__broadcast_name(op, by),
                        ht__shape_str(in[by]->body->ndim, in[by]->body->shape),
                        ht__broadcast_name(op, k),
                        ht__shape_str(in[k]->body->ndim, in[k]->body->shape), (long long)m,
                        (long long)n);
                return false;
            }
            if (m == 1 && n != 1) {
                plan->shape[i] = n;
                by = k;
            }
        }
    }
    return true;
}

/* The axis of the result an operand asks to be split along, HT_NONE when it has no say. */
static int split_wish(const ht_body *x, const ht_broadcast_plan *plan)
{
    int axis;

    if (x->split == HT_NONE)
        return HT_NONE;
    axis = x->split + plan->ndim - x->ndim;
    return x->shape[x->split] == plan->shape[axis] ? axis : HT_NONE;
}

static void choose_split(int count, ht_tensor *const in[], ht_broadcast_plan *plan)
{
    plan->split = HT_NONE;
    plan->bounds = NULL;
    for (int k = 0; k < count && plan->split == HT_NONE; k++) {
        plan->split = split_wish(in[k]->body, plan);
        plan->bounds = plan->split != HT_NONE ? in[k]->body->bounds : NULL;
    }
}

/* Combined with a tensor with axes, one without is like a number: it raises the kind, not the size.
 */
static ht_dtype promote_with_number(ht_dtype tensor, ht_dtype number)
{
    int kind = ht__dtype_kind(tensor), other = ht__dtype_kind(number);

    if (other <= kind)
        return tensor;
    if (ht_dtype_is_floating(tensor))
        return tensor == HT_FLOAT64 ? HT_COMPLEX128 : HT_COMPLEX64;
    return ht_promote_types(tensor, number);
}

ht_dtype ht__scalar_dtype(ht_dtype dtype, ht_number value)
{
    if (value.kind == HT_NUMBER_COMPLEX)
        return promote_with_number(dtype, HT_COMPLEX64);
    if (!ht__dtype_is_exact(dtype))
        return dtype;
    if (value.kind == HT_NUMBER_REAL)
        return HT_FLOAT32;
    return dtype == HT_BOOL ? HT_INT64 : dtype;
}

/* HT_DTYPE_COUNT stands for none. */
static ht_dtype promote_if(ht_dtype so_far, ht_dtype dtype)
{
    return so_far == HT_DTYPE_COUNT ? dtype : ht_promote_types(so_far, dtype);
}

static bool have_one_dtype(int count, ht_tensor *const in[])
{
    for (int k = 0; k < count; k++) {
        if (ht__is_number(in[k]) || in[k]->body->dtype != in[0]->body->dtype)
            return false;
    }
    return true;
}

/* Tensors with axes, by those without, by numbers. */
static ht_dtype promote(int count, ht_tensor *const in[])
{
    ht_dtype sized = HT_DTYPE_COUNT, points = HT_DTYPE_COUNT, numbers = HT_DTYPE_COUNT, dtype;

    if (have_one_dtype(count, in))
        return in[0]->body->dtype;
    for (int k = 0; k < count; k++) {
        const ht_body *x = in[k]->body;
        ht_dtype *of = x->number != NULL ? &numbers : x->ndim > 0 ? &sized : &points;

        *of = promote_if(*of, x->dtype);
    }
    if (sized == HT_DTYPE_COUNT)
        dtype = points != HT_DTYPE_COUNT ? points : numbers;
    else
        dtype = points != HT_DTYPE_COUNT ? promote_with_number(sized, points) : sized;
    for (int k = 0; k < count; k++) {
        if (ht__is_number(in[k]))
            dtype = ht__scalar_dtype(dtype, *in[k]->body->number);
    }
    return dtype;
}

ht_dtype ht_result_type(int count, ht_tensor *const xs[])
{
    return ht__check_operands("ht_result_type", count, xs) ? promote(count, xs) : HT_DTYPE_COUNT;
}

ht_dtype ht__binary_dtype(ht_tensor *a, ht_tensor *b)
{
    ht_tensor *const in[2] = {a, b};

    return promote(2, in);
}

static ht_dtype compute_dtype(const ht_broadcast_op *op, int count, ht_tensor *const in[])
{
    ht_dtype dtype = op->masked ? promote(count - 1, in + 1) : promote(count, in);

    return op->result == HT_RESULT_FLOAT && ht__dtype_is_exact(dtype) ? HT_FLOAT32 : dtype;
}

ht_dtype ht__broadcast_dtype(const ht_broadcast_op *op, int k, const ht_broadcast_plan *plan)
{
    return op->masked && k == 0 ? HT_BOOL : plan->dtype;
}

bool ht__broadcast_plan(const ht_broadcast_op *op, int count, ht_tensor *const in[],
                        ht_broadcast_plan *plan)
{
    if (!check_together(op, count, in, plan) ||
        (!take_shape(count, in, plan) && !broadcast_shapes(op, count, in, plan)))
        return false;
    plan->dtype = compute_dtype(op, count, in);
    choose_split(count, in, plan);
    if (ht__kernel_is_there(plan->first->body->storage->device, op->kernel, plan->dtype))
        return true;
    ht__kernel_missing(plan->first->body->comm, plan->first->body->storage->device, op->kernel,
                       plan->dtype, op->name);
    return false;
}

int ht__broadcast_split(const ht_body *x, const ht_broadcast_plan *plan)
{
    int axis;

    if (plan->split == HT_NONE)
        return HT_NONE;
    axis = plan->split - (plan->ndim - x->ndim);
    if (axis < 0 || x->shape[axis] != plan->shape[plan->split])
        return HT_NONE;
    return axis;
}

ht_tensor *ht__broadcast_align(const char *what, ht_tensor *x, const ht_broadcast_plan *plan)
{
    ht_body target;
    int split;

    if (x == NULL || x->body->split == HT_NONE)
        return x;
    split = ht__broadcast_split(x->body, plan);
    if (x->body->split != split) {
        HT_NAMED(what);
        x = ht_resplit(x, split);
    }
    if (x == NULL || split == HT_NONE || x->body->bounds == plan->bounds)
        return x;
    target = *x->body;
    target.bounds = plan->bounds;
    return ht__match_slabs(what, x, &target);
}

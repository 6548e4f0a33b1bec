/* SPDX-License-Identifier: MIT
 *
 * The binary driver: y = f(a, b) with broadcasting. y is split where a is, else where b is; a
 * replicated operand gives its slab for nothing, a differently split one is resplit first. */
#include "core/ops/drivers.h"
#include "ht/factories.h"
#include "ht/manipulations.h"

typedef struct binary_plan {
    int ndim, split;
    int64_t shape[HT_MAX_NDIM];
    ht_bounds *bounds; /* borrowed from the operand that sets the split */
} binary_plan;

/* Length of an operand along an axis of the result; 1 where it has no such axis. */
static int64_t length_at(const ht_body *x, int ndim, int axis)
{
    int own = axis - (ndim - x->ndim);

    return own >= 0 ? x->shape[own] : 1;
}

static bool broadcast_shapes(const char *what, const ht_body *a, const ht_body *b,
                             binary_plan *plan)
{
    plan->ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    for (int i = 0; i < plan->ndim; i++) {
        int64_t m = length_at(a, plan->ndim, i), n = length_at(b, plan->ndim, i);

        if (m != n && m != 1 && n != 1) {
            HT_FAIL(a->comm, HT_ERR_SHAPE,
                    "%s: a is %s, b is %s: lengths %lld and %lld do not broadcast", what,
                    ht__shape_str(a->ndim, a->shape), ht__shape_str(b->ndim, b->shape),
                    (long long)m, (long long)n);
            return false;
        }
        plan->shape[i] = m == 1 ? n : m;
    }
    return true;
}

/* The axis of the result an operand asks to be split along, HT_NONE when it has no say. */
static int split_wish(const ht_body *x, const binary_plan *plan)
{
    int axis;

    if (x->split == HT_NONE)
        return HT_NONE;
    axis = x->split + plan->ndim - x->ndim;
    return x->shape[x->split] == plan->shape[axis] ? axis : HT_NONE;
}

static void choose_split(const ht_body *a, const ht_body *b, binary_plan *plan)
{
    const ht_body *leader = a;

    plan->split = split_wish(a, plan);
    if (plan->split == HT_NONE) {
        leader = b;
        plan->split = split_wish(b, plan);
    }
    plan->bounds = plan->split != HT_NONE ? leader->bounds : NULL;
}

/* The operand's own axis that the plan splits; HT_NONE where it has none or broadcasts along it. */
static int split_of_operand(const ht_body *x, const binary_plan *plan)
{
    int axis;

    if (plan->split == HT_NONE)
        return HT_NONE;
    axis = plan->split - (plan->ndim - x->ndim);
    if (axis < 0 || x->shape[axis] != plan->shape[plan->split])
        return HT_NONE;
    return axis;
}

/* The operand with a split that fits the plan: replicated, or cut into the plan's slabs. */
static ht_tensor *align(const char *what, ht_tensor *x, const binary_plan *plan)
{
    ht_body target;
    int split;

    if (x == NULL || x->body->split == HT_NONE)
        return x;
    split = split_of_operand(x->body, plan);
    if (x->body->split != split)
        x = ht_resplit(x, split);
    if (x == NULL || split == HT_NONE || x->body->bounds == plan->bounds)
        return x;
    target = *x->body;
    target.bounds = plan->bounds;
    return ht__match_slabs(what, x, &target);
}

/* Memory and strides of an operand along the result's axes, in this rank's slab. */
static ht_operand place(const ht_body *x, const ht_body *y)
{
    ht_operand operand = {.data = ht__body_data(x)};
    int shift = y->ndim - x->ndim;

    for (int i = 0; i < x->ndim; i++)
        operand.stride[i + shift] = x->shape[i] == 1 && y->shape[i + shift] != 1 ? 0 : x->stride[i];
    if (x->split == HT_NONE && y->split != HT_NONE && operand.data != NULL) {
        int64_t start = y->split_start * operand.stride[y->split];

        operand.data = (char *)operand.data + (size_t)start * ht_dtype_size(x->dtype);
    }
    return operand;
}

static ht_status run(const ht_binary_op *op, const ht_tensor *a, const ht_tensor *b,
                     const ht_body *y, const ht_beside *beside)
{
    const ht_operand operands[3] = {ht__operand(y), place(a->body, y), place(b->body, y)};

    return ht__elementwise(op->name, op->kernel, a->body->dtype, y, 3, operands, beside);
}

/* Beside a tensor with axes, one without is like a number: it raises the kind, not the size. */
static ht_dtype promote_beside_number(ht_dtype tensor, ht_dtype number)
{
    int kind = ht__dtype_kind(tensor), other = ht__dtype_kind(number);

    if (other <= kind)
        return tensor;
    if (ht_dtype_is_floating(tensor))
        return tensor == HT_FLOAT64 ? HT_COMPLEX128 : HT_COMPLEX64;
    return ht_promote_types(tensor, number);
}

ht_dtype ht__binary_dtype(const ht_body *a, const ht_body *b)
{
    if ((a->ndim == 0) == (b->ndim == 0) || a->dtype == b->dtype)
        return ht_promote_types(a->dtype, b->dtype);
    return a->ndim > 0 ? promote_beside_number(a->dtype, b->dtype)
                       : promote_beside_number(b->dtype, a->dtype);
}

static ht_dtype compute_dtype(const ht_binary_op *op, const ht_body *a, const ht_body *b)
{
    ht_dtype dtype = ht__binary_dtype(a, b);

    return op->result == HT_RESULT_FLOAT && ht__dtype_is_exact(dtype) ? HT_FLOAT32 : dtype;
}

static bool check_dtype(const ht_binary_op *op, const ht_body *a, ht_dtype dtype)
{
    bool refused = (op->no_bool && dtype == HT_BOOL) ||
                   (op->no_complex && ht_dtype_is_complex(dtype));

    if (refused)
        HT_FAIL(a->comm, HT_ERR_DTYPE, "%s: not defined for %s", op->name, ht_dtype_name(dtype));
    return !refused;
}

/* The result's memory: laid out as the operand that has its shape, so that images stay
 * channels-last. */
static ht_body *new_result(const char *what, const ht_tensor *a, const ht_tensor *b,
                           const binary_plan *plan, ht_dtype dtype)
{
    const ht_tensor *both[2] = {a, b};

    for (int i = 0; i < 2; i++) {
        const ht_body *x = both[i]->body;

        if (x->split == plan->split && x->bounds == plan->bounds &&
            ht__same_shape(x->ndim, x->shape, plan->ndim, plan->shape))
            return ht__body_new_as(what, x, dtype);
    }
    return ht__body_new(what, a->body->comm, a->body->storage->device, dtype, plan->ndim,
                        plan->shape, plan->split, plan->bounds);
}

ht_tensor *ht__binary(const ht_binary_op *op, ht_tensor *a, ht_tensor *b)
{
    return ht__binary_with(op, a, b, NULL);
}

ht_tensor *ht__binary_with(const ht_binary_op *op, ht_tensor *a, ht_tensor *b,
                           const ht_beside *beside)
{
    ht_tensor *inputs[2] = {a, b}, *y;
    binary_plan plan = {0};
    ht_dtype dtype;
    ht_node *node;

    if (HT_IS_NULL(a, op->name, "a") || HT_IS_NULL(b, op->name, "b") ||
        !ht__check_together(op->name, a, b) || !broadcast_shapes(op->name, a->body, b->body, &plan))
        return NULL;
    dtype = compute_dtype(op, a->body, b->body);
    if (!check_dtype(op, a->body, dtype))
        return NULL;
    choose_split(a->body, b->body, &plan);

    bool was = ht_set_grad_enabled(false); /* the node below stands for all of it */
    a = align(op->name, ht_astype(a, dtype), &plan);
    b = align(op->name, ht_astype(b, dtype), &plan);
    ht_set_grad_enabled(was);
    if (a == NULL || b == NULL)
        return NULL;

    y = ht__tensor_new(
        new_result(op->name, a, b, &plan, op->result == HT_RESULT_BOOL ? HT_BOOL : dtype));
    if (y == NULL || run(op, a, b, y->body, beside) != HT_SUCCESS)
        return NULL;
    node = op->backward != NULL ? ht_node_new(op->name, op->backward, 2, inputs) : NULL;
    if (node == NULL)
        return y;
    ht__keep_beside(node, beside);
    if (op->save_operands) {
        ht_node_save(node, inputs[0]);
        ht_node_save(node, inputs[1]);
    }
    return ht_node_set_output(node, y);
}

/* Whether the elements of b stand beside those of g, for a result of g's dtype. */
static bool fits(const ht_body *g, const ht_body *b)
{
    return g->dtype == b->dtype && g->comm == b->comm && g->split == b->split &&
           g->bounds == b->bounds && g->storage->device == b->storage->device &&
           ht__body_same_shape(g, b);
}

ht_tensor *ht__binary_over(const ht_binary_op *op, ht_tensor *g, ht_tensor *b,
                           const ht_beside *beside)
{
    if (g == NULL || b == NULL || !ht__may_overwrite(g) || !fits(g->body, b->body))
        return ht__binary_with(op, g, b, beside);
    if (run(op, g, b, g->body, beside) != HT_SUCCESS)
        return NULL;
    ht__storage_touch(g->body->storage);
    return g;
}

ht_dtype ht__scalar_dtype(ht_dtype dtype, ht_number value)
{
    if (value.kind == HT_NUMBER_COMPLEX)
        return promote_beside_number(dtype, HT_COMPLEX64);
    if (!ht__dtype_is_exact(dtype))
        return dtype;
    if (value.kind == HT_NUMBER_REAL)
        return HT_FLOAT32;
    return dtype == HT_BOOL ? HT_INT64 : dtype;
}

static bool is_recorded(const ht_binary_op *op, const ht_tensor *a)
{
    return op->backward != NULL && ht_is_grad_enabled() && ht__needs_grad(a);
}

/* y = f(a, b) of a number that no graph has to keep: it travels among the kernel's arguments. */
static ht_tensor *beside_number(const ht_binary_op *op, ht_tensor *a, ht_number b, ht_dtype dtype)
{
    const ht_beside beside = {.numbers = 1, .number = {b}};
    ht_operand operands[2];
    ht_tensor *y;

    if (op->result == HT_RESULT_FLOAT && ht__dtype_is_exact(dtype))
        dtype = HT_FLOAT32;
    if (!check_dtype(op, a->body, dtype))
        return NULL;
    a = ht_astype(a, dtype);
    y = a != NULL ? ht__empty(op->name, a->body, op->result == HT_RESULT_BOOL ? HT_BOOL : dtype)
                  : NULL;
    if (y == NULL)
        return NULL;
    operands[0] = ht__operand(y->body);
    operands[1] = ht__operand(a->body);
    return ht__elementwise(op->name, op->kernel, dtype, y->body, 2, operands, &beside) == HT_SUCCESS
               ? y
               : NULL;
}

ht_tensor *ht__binary_scalar(const ht_binary_op *op, ht_tensor *a, ht_number b)
{
    ht_dtype dtype;

    if (HT_IS_NULL(a, op->name, "a"))
        return NULL;
    dtype = ht__scalar_dtype(a->body->dtype, b);
    if (op->result == HT_RESULT_FLOAT && !ht__dtype_takes(dtype, b)) {
        b = ht_number_real(b.real); /* no integers are computed: there is nothing to wrap */
        dtype = ht__scalar_dtype(dtype, b);
    }
    if (is_recorded(op, a))
        return ht__binary(op, a, ht__number_beside(op->name, a, b, dtype));
    return beside_number(op, a, b, dtype);
}

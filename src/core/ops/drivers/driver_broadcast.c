/* SPDX-License-Identifier: MIT
 *
 * The broadcasting driver: y = f(a, b) or f(a, b, c). y takes the split of the first operand that
 * is split along one of y's axes. A replicated operand gives its slab without communication, and an
 * operand with another split is resplit first. Numbers (ht_scalar) travel among the kernel's
 * arguments. */
#include "core/ops/drivers/broadcast_plan.h"
#include "ht/manipulations.h"

/* Memory and strides of an operand along the result's axes, in this rank's slab; or its value. */
static void place(ht_operand *operand, const ht_body *x, const ht_body *y)
{
    int shift = y->ndim - x->ndim;

    operand->data = x->number == NULL ? ht__body_data(x) : NULL;
    operand->number = x->number;
    operand->dtype = x->dtype;
    for (int i = 0; i < y->ndim; i++) {
        const bool repeated = i < shift || (x->shape[i - shift] == 1 && y->shape[i] != 1);

        operand->stride[i] = repeated || x->number != NULL ? 0 : x->stride[i - shift];
    }
    if (x->split == HT_NONE && y->split != HT_NONE && operand->data != NULL) {
        int64_t start = y->split_start * operand->stride[y->split];

        operand->data = (char *)operand->data + (size_t)start * ht_dtype_size(x->dtype);
    }
}

/* Whether one axis goes over all elements; fills bodies, y's first. */
static bool lie_alike(int count, ht_tensor *const in[], const ht_body *y, const ht_body *bodies[])
{
    bodies[0] = y;
    for (int k = 0; k < count; k++) {
        bodies[1 + k] = in[k]->body;
        if (in[k]->body->split != y->split || !ht__lies_as(in[k]->body, y))
            return false;
    }
    return ht__body_is_contiguous(y) || ht__body_is_channels_last(y);
}

static ht_status run(const ht_broadcast_op *op, int count, ht_tensor *const in[], ht_dtype dtype,
                     const ht_body *y, const ht_params *params)
{
    const ht_body *bodies[1 + HT_BROADCAST_OPERANDS];
    ht_operand operands[1 + HT_BROADCAST_OPERANDS];

    if (lie_alike(count, in, y, bodies))
        return ht__elementwise_dense(op->name, op->kernel, dtype, 1 + count, bodies, params);
    operands[0] = ht__operand(y);
    for (int k = 0; k < count; k++)
        place(&operands[1 + k], in[k]->body, y);
    return ht__elementwise(op->name, op->kernel, dtype, y, 1 + count, operands, params);
}

/* The result's memory: laid out as an operand that has its shape, so that images stay
 * channels-last. */
static ht_body *new_result(const char *what, int count, ht_tensor *const in[],
                           const ht_broadcast_plan *plan, ht_dtype dtype)
{
    const ht_body *first = plan->first->body;

    for (int k = 0; k < count; k++) {
        const ht_body *x = in[k]->body;

        if (x->number == NULL && x->split == plan->split && x->bounds == plan->bounds &&
            ht__same_shape(x->ndim, x->shape, plan->ndim, plan->shape))
            return ht__body_new_as(what, x, dtype);
    }
    return ht__body_new(what, first->comm, first->storage->device, dtype, plan->ndim, plan->shape,
                        plan->split, plan->bounds);
}

static bool needs_grad(const ht_tensor *x)
{
    return !ht__is_number(x) && ht__needs_grad(x);
}

static bool any_needs_grad(int count, ht_tensor *const in[])
{
    bool any = false;

    if (!ht_is_grad_enabled())
        return false;
    for (int k = 0; k < count; k++)
        any = any || needs_grad(in[k]);
    return any;
}

static int saved_count(const ht_broadcast_op *op, int count)
{
    return !op->save_operands ? 0 : op->masked ? 1 : count;
}

/* A number that the graph keeps is a tensor like the others of its node. */
static bool keep_numbers(const ht_broadcast_op *op, int count, ht_tensor *in[],
                         const ht_broadcast_plan *plan)
{
    for (int k = 0; k < saved_count(op, count); k++) {
        if (ht__is_number(in[k]))
            in[k] = ht__number_like(op->name, plan->first, *in[k]->body->number, plan->dtype);
        if (in[k] == NULL)
            return false;
    }
    return true;
}

/* A mask that is a number becomes a tensor: what travels among the kernel's arguments has the dtype
 * of the others. */
static bool place_mask(const ht_broadcast_op *op, ht_tensor *in[], const ht_broadcast_plan *plan)
{
    if (op->masked && ht__is_number(in[0]))
        in[0] = ht__number_like(op->name, plan->first, *in[0]->body->number, HT_BOOL);
    return in[0] != NULL;
}

/* Whether an operand is what the loop reads, without a conversion or a move. */
static bool is_aligned(const ht_tensor *x, ht_dtype dtype, const ht_broadcast_plan *plan)
{
    const ht_body *body = x->body;

    return ht__is_number(x) ||
           (body->dtype == dtype &&
            (body->split == HT_NONE || (body->split == plan->split && body->ndim == plan->ndim &&
                                        body->shape[body->split] == plan->shape[plan->split] &&
                                        body->bounds == plan->bounds)));
}

static ht_tensor *align(const char *what, ht_tensor *x, ht_dtype dtype,
                        const ht_broadcast_plan *plan)
{
    const bool was = ht_set_grad_enabled(false); /* the node represents all of it */

    x = ht__broadcast_align(what, ht_astype(x, dtype), plan);
    ht_set_grad_enabled(was);
    return x;
}

static bool align_all(const ht_broadcast_op *op, int count, ht_tensor *const in[],
                      const ht_broadcast_plan *plan, ht_tensor *aligned[])
{
    for (int k = 0; k < count; k++) {
        const ht_dtype dtype = ht__broadcast_dtype(op, k, plan);

        aligned[k] = is_aligned(in[k], dtype, plan) ? in[k] : align(op->name, in[k], dtype, plan);
        if (aligned[k] == NULL)
            return false;
    }
    return true;
}

static bool has_null(const ht_broadcast_op *op, int count, ht_tensor *const in[])
{
    for (int k = 0; k < count; k++) {
        if (HT_IS_NULL(in[k], op->name, ht__broadcast_name(op, k)))
            return true;
    }
    return false;
}

static ht_tensor *broadcast(const ht_broadcast_op *op, int count, ht_tensor *const operands[],
                            const ht_params *params)
{
    const bool recorded = op->backward != NULL && any_needs_grad(count, operands);
    ht_tensor *in[HT_BROADCAST_OPERANDS], *aligned[HT_BROADCAST_OPERANDS], *y;
    ht_broadcast_plan plan;
    ht_node *node;

    if (!ht__broadcast_plan(op, count, operands, &plan))
        return NULL;
    for (int k = 0; k < count; k++)
        in[k] = operands[k];
    if (!place_mask(op, in, &plan) || (recorded && !keep_numbers(op, count, in, &plan)) ||
        !align_all(op, count, in, &plan, aligned))
        return NULL;
    y = ht__tensor_new(new_result(op->name, count, aligned, &plan,
                                  op->result == HT_RESULT_BOOL ? HT_BOOL : plan.dtype));
    if (y == NULL || run(op, count, aligned, plan.dtype, y->body, params) != HT_SUCCESS)
        return NULL;
    node = recorded ? ht_node_new(op->name, op->backward, count, in) : NULL;
    if (node == NULL)
        return y;
    ht__keep_params(node, params);
    for (int k = 0; k < saved_count(op, count); k++) {
        const bool same = in[k]->body->dtype == aligned[k]->body->dtype;

        ht_node_save(node, same ? in[k] : aligned[k]); /* slopes are of the computed ones */
    }
    return ht_node_set_output(node, y);
}

ht_tensor *ht__broadcast(const ht_broadcast_op *op, int count, ht_tensor *const in[],
                         const ht_params *params)
{
    return has_null(op, count, in) ? NULL : broadcast(op, count, in, params);
}

ht_tensor *ht__binary(const ht_broadcast_op *op, ht_tensor *a, ht_tensor *b)
{
    ht_tensor *const in[2] = {a, b};

    return ht__broadcast(op, 2, in, NULL);
}

ht_tensor *ht__binary_with(const ht_broadcast_op *op, ht_tensor *a, ht_tensor *b,
                           const ht_params *params)
{
    ht_tensor *const in[2] = {a, b};

    return ht__broadcast(op, 2, in, params);
}

/* Whether the elements of b are aligned with those of g, for a result of g's dtype. */
static bool fits(const ht_body *g, const ht_body *b)
{
    return g->dtype == b->dtype && g->comm == b->comm && g->split == b->split &&
           g->bounds == b->bounds && g->storage->device == b->storage->device &&
           ht__body_same_shape(g, b);
}

ht_tensor *ht__binary_over(const ht_broadcast_op *op, ht_tensor *g, ht_tensor *b,
                           const ht_params *params)
{
    ht_tensor *const in[2] = {g, b};

    if (g == NULL || b == NULL || !ht__may_overwrite(g) || !fits(g->body, b->body))
        return ht__broadcast(op, 2, in, params);
    if (run(op, 2, in, g->body->dtype, g->body, params) != HT_SUCCESS)
        return NULL;
    ht__storage_touch(g->body->storage);
    return g;
}

/* Whether a's own memory can take the result: there is nothing to convert, resplit or record, and
 * no operand would change before it is read. */
static bool runs_in_place(const ht_broadcast_op *op, int count, ht_tensor *const in[],
                          const ht_broadcast_plan *plan)
{
    const ht_body *a = in[0]->body;

    if (op->result == HT_RESULT_BOOL || op->masked || a->dtype != plan->dtype ||
        a->split != plan->split || !ht__same_shape(a->ndim, a->shape, plan->ndim, plan->shape))
        return false;
    for (int k = 0; k < count; k++) {
        const ht_body *x = in[k]->body;

        if (ht_is_grad_enabled() && needs_grad(in[k]))
            return false;
        if (x->number == NULL &&
            (x->dtype != plan->dtype || (x->split != HT_NONE && x->bounds != a->bounds) ||
             x->split != (x->split == HT_NONE ? HT_NONE : ht__broadcast_split(x, plan)) ||
             (x != a && x->storage == a->storage)))
            return false;
    }
    return true;
}

/* A copy of the memory that is to be written, if the graph keeps operands in it. */
static ht_tensor *with_a_copy(const ht_broadcast_op *op, int count, ht_tensor *const operands[],
                              const ht_params *params)
{
    const bool keeps = op->save_operands && op->backward != NULL && any_needs_grad(count, operands);
    ht_tensor *in[HT_BROADCAST_OPERANDS];

    for (int k = 0; k < count; k++) {
        const bool written = operands[k]->body->storage == operands[0]->body->storage;

        in[k] = keeps && written ? ht_copy(operands[k]) : operands[k];
    }
    return ht__broadcast(op, count, in, params);
}

ht_status ht__broadcast_(const ht_broadcast_op *op, int count, ht_tensor *const in[],
                         const ht_params *params)
{
    ht_broadcast_plan plan;
    ht_scope *scope;
    ht_tensor *y;
    ht_status status;

    if (has_null(op, count, in) || !ht__broadcast_plan(op, count, in, &plan))
        return ht_error_get(NULL);
    if (ht__check_in_place(op->name, ht__broadcast_name(op, 0), in[0], NULL) != HT_SUCCESS)
        return HT_ERR_STATE;
    if (runs_in_place(op, count, in, &plan)) {
        ht__storage_touch(in[0]->body->storage);
        status = run(op, count, in, plan.dtype, in[0]->body, params);
        if (status == HT_SUCCESS)
            ht__written(op->name, in[0], NULL);
        return status;
    }
    scope = ht_scope_open();
    y = with_a_copy(op, count, in, params);
    status = ht__check_result(op->name, ht__broadcast_name(op, 0), in[0], y);
    if (status == HT_SUCCESS)
        status = ht__replace_values(op->name, ht__broadcast_name(op, 0), in[0], y);
    ht_scope_close(scope);
    return status;
}

ht_status ht__binary_(const ht_broadcast_op *of, const char *what, ht_tensor *a, ht_tensor *b)
{
    ht_tensor *const in[2] = {a, b};
    ht_broadcast_op op = *of;

    op.name = what;
    return ht__broadcast_(&op, 2, in, NULL);
}

/* A number for one call that keeps nothing: as much of a tensor as the driver looks at. */
typedef struct number_operand {
    ht_tensor handle;
    ht_body body;
} number_operand;

static ht_tensor *borrow_number(number_operand *operand, ht_number *value)
{
    operand->body.number = value;
    operand->body.dtype = ht__number_dtype(*value);
    operand->body.ndim = 0;
    operand->body.split = HT_NONE;
    operand->body.bounds = NULL;
    operand->handle.body = &operand->body;
    operand->handle.node = NULL;
    operand->handle.meta = NULL;
    return &operand->handle;
}

ht_tensor *ht__binary_scalar(const ht_broadcast_op *op, ht_tensor *a, ht_number b)
{
    number_operand operand;
    ht_tensor *in[2] = {a, NULL};

    if (HT_IS_NULL(a, op->name, "a") || !ht__check_kind(op->name, a->body->comm, "b", b))
        return NULL;
    in[1] = any_needs_grad(1, in) ? ht__number(b) : borrow_number(&operand, &b);
    return in[1] != NULL ? broadcast(op, 2, in, NULL) : NULL;
}

ht_status ht__binary_scalar_(const ht_broadcast_op *op, ht_tensor *a, ht_number b)
{
    ht_tensor *in[2] = {a, NULL};
    ht_scope *scope;
    ht_status status;

    if (!ht__check_kind(op->name, a->body->comm, "b", b))
        return HT_ERR_ARGUMENT;
    scope = ht_scope_open();
    in[1] = ht__number(b);
    status = ht__broadcast_(op, 2, in, NULL);
    ht_scope_close(scope);
    return status;
}

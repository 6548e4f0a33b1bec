/* SPDX-License-Identifier: MIT
 *
 * The local driver: y = f(x), element by element. No communication; y has the split and layout of
 * x. */

#include <string.h>

#include "core/ops/drivers/drivers.h"
#include "ht/kernels/elementwise.h"
#include "ht/manipulations.h"

static ht_dtype result_dtype(const ht_unary_op *op, ht_dtype dtype)
{
    return op->result == HT_RESULT_BOOL   ? HT_BOOL
           : op->result == HT_RESULT_REAL ? ht__dtype_real(dtype)
                                          : dtype;
}

static ht_status run(const ht_unary_op *op, const ht_tensor *x, const ht_body *y,
                     const ht_params *params)
{
    ht_operand operands[3] = {ht__operand(y), ht__operand(x->body)};
    int count = 2;

    if (op->twice)
        operands[count++] = operands[1];
    return ht__elementwise(op->name, op->kernel, x->body->dtype, y, count, operands, params);
}

static void save(const ht_unary_op *op, ht_node *node, ht_tensor *x, ht_tensor *y,
                 const ht_params *params)
{
    ht__keep_params(node, params);
    if (op->save == HT_SAVE_INPUT)
        ht_node_save(node, x);
    if (op->save == HT_SAVE_OUTPUT)
        ht_node_save(node, y);
}

/* --- With the slope ------------------------------------------------------------------------------ */

static bool gives_slope(const ht_unary_op *op, const ht_tensor *x)
{
    return op->slope != 0 && ht_is_grad_enabled() && ht__needs_grad(x) &&
           ht__kernel_on_device(x->body->storage->device, op->slope, x->body->dtype);
}

static ht_status run_with_slope(const ht_unary_op *op, const ht_body *x, const ht_body *y,
                                const ht_body *slope)
{
    const ht_operand operands[3] = {ht__operand(y), ht__operand(slope), ht__operand(x)};
    ht_device *device = y->storage->device;
    ht_loop loop;

    if (y->lsize == 0)
        return HT_SUCCESS;
    ht__loop_fill(&loop, y->ndim, y->lshape, 3, operands);
    loop.operand[1].written = true;
    ht__loop_reach(&loop, device, 3, operands, NULL);
    memset(loop.param, 0, sizeof loop.param);
    return HT_LAUNCH(y->comm, device, op->slope, y->dtype, &loop, op->name);
}

static void slope_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    static const ht_broadcast_op times = {.name = "ht_backward", .kernel = HT_KERNEL_MUL};

    gin[0] = ht__binary_over(&times, g, ht_node_saved(node, 0), NULL);
}

/* The graph alone keeps the slope: its memory is free after the backward pass. */
static ht_tensor *unary_with_slope(const ht_unary_op *op, ht_tensor *x)
{
    ht_tensor *y = ht__empty(op->name, x->body, x->body->dtype), *slope;
    ht_scope *scope = ht_scope_open();
    ht_node *node;

    slope = y != NULL ? ht__empty(op->name, x->body, x->body->dtype) : NULL;
    if (slope == NULL || run_with_slope(op, x->body, y->body, slope->body) != HT_SUCCESS) {
        ht_scope_close(scope);
        return NULL;
    }
    node = ht_node_new(op->name, slope_backward, 1, &x);
    ht_node_save(node, slope);
    ht_scope_close(scope);
    return ht_node_set_output(node, y);
}

/* --- The driver ---------------------------------------------------------------------------------- */

ht_tensor *ht__unary(const ht_unary_op *op, ht_tensor *x)
{
    return ht__unary_with(op, x, NULL);
}

ht_tensor *ht__unary_with(const ht_unary_op *op, ht_tensor *x, const ht_params *params)
{
    ht_tensor *y;
    ht_node *node;

    if (HT_IS_NULL(x, op->name, "x"))
        return NULL;
    if (op->result == HT_RESULT_FLOAT && ht__dtype_is_exact(x->body->dtype))
        x = ht_astype(x, HT_FLOAT32);
    if (x != NULL && gives_slope(op, x))
        return unary_with_slope(op, x);
    y = x != NULL ? ht__empty(op->name, x->body, result_dtype(op, x->body->dtype)) : NULL;
    if (y == NULL || run(op, x, y->body, params) != HT_SUCCESS)
        return NULL;
    node = op->backward != NULL ? ht_node_new(op->name, op->backward, 1, &x) : NULL;
    if (node == NULL)
        return y;
    save(op, node, x, y, params);
    return ht_node_set_output(node, y);
}

/* In the memory of x, if the graph does not keep its former content. */
static ht_status overwrite(const ht_unary_op *op, ht_tensor *x, const ht_params *params)
{
    ht_node *node = op->backward != NULL ? ht_node_new(op->name, op->backward, 1, &x) : NULL;

    ht__storage_touch(x->body->storage);
    if (run(op, x, x->body, params) != HT_SUCCESS) {
        ht_release(node);
        return ht_error_get(NULL);
    }
    if (node != NULL) {
        save(op, node, x, x, params);
        ht__written(op->name, x, node);
    }
    return HT_SUCCESS;
}

/* The graph keeps a copy of x. */
static ht_status replace(const ht_unary_op *op, ht_tensor *x, const ht_params *params)
{
    const bool keeps = op->save == HT_SAVE_INPUT && ht_is_grad_enabled() && ht__needs_grad(x) &&
                       !gives_slope(op, x);
    ht_scope *scope = ht_scope_open();
    ht_tensor *y = ht__unary_with(op, keeps ? ht_copy(x) : x, params);
    ht_status status = ht__check_result(op->name, "x", x, y);

    if (status == HT_SUCCESS)
        status = ht__replace_values(op->name, "x", x, y);
    ht_scope_close(scope);
    return status;
}

ht_status ht__unary_(const ht_unary_op *of, const char *what, ht_tensor *x, const ht_params *params)
{
    ht_unary_op op = *of;
    ht_dtype dtype;

    op.name = what;
    if (HT_IS_NULL(x, what, "x"))
        return ht_error_get(NULL);
    if (ht__check_in_place(what, "x", x, NULL) != HT_SUCCESS)
        return HT_ERR_STATE;
    dtype = x->body->dtype;
    if (op.result == HT_RESULT_REAL && ht_dtype_is_complex(dtype))
        return HT_FAIL(x->body->comm, HT_ERR_DTYPE,
                       "%s: x is %s, expected a real dtype like that of the result", what,
                       ht_dtype_name(dtype));
    if (result_dtype(&op, dtype) != dtype ||
        (op.result == HT_RESULT_FLOAT && ht__dtype_is_exact(dtype)) ||
        (op.save == HT_SAVE_INPUT && ht_is_grad_enabled() && ht__needs_grad(x)))
        return replace(&op, x, params);
    if (!ht__kernel_is_there(x->body->storage->device, op.kernel, dtype))
        /* before x counts as written */
        return ht__kernel_missing(x->body->comm, x->body->storage->device, op.kernel, dtype, what);
    return overwrite(&op, x, params);
}

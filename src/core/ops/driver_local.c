/* SPDX-License-Identifier: MIT
 *
 * The local driver: y = f(x) element by element. No communication; y is split and laid out as x. */
#include "core/core.h"

static ht_loop_fn kernel_of(const ht_unary_op *op, const ht_body *y)
{
    return y->storage->device->backend->kernels.unary[op->kernel][y->dtype];
}

static ht_status run(const ht_unary_op *op, const ht_tensor *x, const ht_body *y)
{
    ht_device *device = y->storage->device;
    ht_loop_fn kernel = kernel_of(op, y);
    ht_operand operands[2] = {ht__operand(y), ht__operand(x->body)};
    ht_loop loop;

    if (kernel == NULL)
        return ht__kernel_missing(op->name, x);
    if (y->lsize == 0)
        return HT_SUCCESS;
    ht__loop_fill(&loop, y->ndim, y->lshape, 2, operands);
    if (kernel(device->stream, &loop) != 0)
        return ht__kernel_failed(y->comm, op->name);
    return HT_SUCCESS;
}

static void save(const ht_unary_op *op, ht_node *node, ht_tensor *x, ht_tensor *y)
{
    if (op->save == HT_SAVE_INPUT)
        ht_node_save(node, x);
    if (op->save == HT_SAVE_OUTPUT)
        ht_node_save(node, y);
}

ht_tensor *ht__unary(const ht_unary_op *op, ht_tensor *x)
{
    ht_tensor *y;
    ht_node *node;

    if (HT_IS_NULL(x, op->name, "x"))
        return NULL;
    if (op->result == HT_RESULT_FLOAT && ht__dtype_is_exact(x->body->dtype))
        x = ht_astype(x, HT_FLOAT32);
    y = x != NULL ? ht__empty(op->name, x->body, x->body->dtype) : NULL;
    if (y == NULL || run(op, x, y->body) != HT_SUCCESS)
        return NULL;
    node = ht_node_new(op->name, op->backward, 1, &x);
    if (node == NULL)
        return y;
    save(op, node, x, y);
    return ht_node_set_output(node, y);
}

ht_status ht__unary_(const ht_unary_op *op, ht_tensor *x)
{
    ht_node *node;

    if (HT_IS_NULL(x, op->name, "x"))
        return ht_error_get(NULL);
    if (ht__check_in_place(op->name, x, NULL) != HT_SUCCESS)
        return HT_ERR_STATE;
    if (kernel_of(op, x->body) == NULL) /* before x counts as written */
        return ht__kernel_missing(op->name, x);
    node = ht_node_new(op->name, op->backward, 1, &x);
    ht__storage_touch(x->body->storage);
    if (run(op, x, x->body) != HT_SUCCESS) {
        ht_release(node);
        return ht_error_get(NULL);
    }
    if (node != NULL) {
        save(op, node, x, x);
        ht__written(op->name, x, node);
    }
    return HT_SUCCESS;
}

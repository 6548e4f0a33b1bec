/* SPDX-License-Identifier: MIT
 *
 * The local driver: y = f(x) element by element. No communication; y is split and laid out as x. */

#include "core/ops/drivers.h"

static ht_status run(const ht_unary_op *op, const ht_tensor *x, const ht_body *y,
                     const ht_beside *beside)
{
    ht_operand operands[3] = {ht__operand(y), ht__operand(x->body)};
    int count = 2;

    if (op->twice)
        operands[count++] = operands[1];
    return ht__elementwise(op->name, op->kernel, y->dtype, y, count, operands, beside);
}

static void save(const ht_unary_op *op, ht_node *node, ht_tensor *x, ht_tensor *y,
                 const ht_beside *beside)
{
    ht__keep_beside(node, beside);
    if (op->save == HT_SAVE_INPUT)
        ht_node_save(node, x);
    if (op->save == HT_SAVE_OUTPUT)
        ht_node_save(node, y);
}

ht_tensor *ht__unary(const ht_unary_op *op, ht_tensor *x)
{
    return ht__unary_with(op, x, NULL);
}

ht_tensor *ht__unary_with(const ht_unary_op *op, ht_tensor *x, const ht_beside *beside)
{
    ht_tensor *y;
    ht_node *node;

    if (HT_IS_NULL(x, op->name, "x"))
        return NULL;
    if (op->result == HT_RESULT_FLOAT && ht__dtype_is_exact(x->body->dtype))
        x = ht_astype(x, HT_FLOAT32);
    y = x != NULL ? ht__empty(op->name, x->body, x->body->dtype) : NULL;
    if (y == NULL || run(op, x, y->body, beside) != HT_SUCCESS)
        return NULL;
    node = ht_node_new(op->name, op->backward, 1, &x);
    if (node == NULL)
        return y;
    save(op, node, x, y, beside);
    return ht_node_set_output(node, y);
}

ht_status ht__unary_(const ht_unary_op *op, ht_tensor *x, const ht_beside *beside)
{
    ht_node *node;

    if (HT_IS_NULL(x, op->name, "x"))
        return ht_error_get(NULL);
    if (ht__check_in_place(op->name, x, NULL) != HT_SUCCESS)
        return HT_ERR_STATE;
    if (!ht__kernel_is_there(x->body->storage->device, op->kernel, x->body->dtype))
        /* before x counts as written */
        return ht__kernel_missing(x->body->comm, x->body->storage->device, op->kernel,
                                  x->body->dtype, op->name);
    node = ht_node_new(op->name, op->backward, 1, &x);
    ht__storage_touch(x->body->storage);
    if (run(op, x, x->body, beside) != HT_SUCCESS) {
        ht_release(node);
        return ht_error_get(NULL);
    }
    if (node != NULL) {
        save(op, node, x, x, beside);
        ht__written(op->name, x, node);
    }
    return HT_SUCCESS;
}

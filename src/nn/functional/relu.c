/* SPDX-License-Identifier: MIT
 *
 * y = max(x, 0). The gradient passes where y > 0: the output is all that is kept, so that x itself
 * may be overwritten by it. */
#include "nn/functional/functional.h"

/* grad <- y > 0 ? grad : 0 where it lies. False when the device has no kernel for it. */
static bool mask_in_place(ht_tensor *grad, const ht_tensor *y)
{
    ht_loop_fn kernel = ht__backend_of(grad)->kernels.binary[HT_BINARY_RELU_GRAD][y->body->dtype];
    ht_operand operands[3] = {ht__operand(grad->body), ht__operand(grad->body),
                              ht__operand(y->body)};
    ht_loop loop;

    if (kernel == NULL || grad->body->dtype != y->body->dtype)
        return false;
    ht__loop_fill(&loop, y->body->ndim, y->body->lshape, 3, operands);
    if (y->body->lsize > 0 && kernel(ht__stream_of(grad), &loop) != 0)
        return false;
    ht__storage_touch(grad->body->storage);
    return true;
}

static void relu_backward(ht_node *node, ht_tensor *grad, ht_tensor *grad_inputs[])
{
    static const ht_binary_op row = {.name = "ht_relu", .kernel = HT_BINARY_RELU_GRAD};
    ht_tensor *y = ht_node_saved(node, 0);

    if (y == NULL)
        return;
    if (ht__may_overwrite(grad) && mask_in_place(grad, y))
        grad_inputs[0] = grad;
    else
        grad_inputs[0] = ht__binary(&row, grad, y);
}

static const ht_unary_op relu = {
    .name = "ht_relu",
    .kernel = HT_UNARY_RELU,
    .result = HT_RESULT_SAME,
    .save = HT_SAVE_OUTPUT,
    .backward = relu_backward,
};

ht_tensor *ht_relu(ht_tensor *x)
{
    return ht__unary(&relu, x);
}

static const ht_unary_op relu_in_place = {
    .name = "ht_relu_",
    .kernel = HT_UNARY_RELU,
    .result = HT_RESULT_SAME,
    .save = HT_SAVE_OUTPUT,
    .backward = relu_backward,
};

ht_tensor *ht_relu_(ht_tensor *x)
{
    ht_node *node;

    if (HT_IS_NULL(x, "ht_relu_", "x"))
        return NULL;
    if (ht__records(x) && (x->node == NULL || x->view)) {
        HT_FAIL(x->body->comm, HT_ERR_STATE,
                "ht_relu_: x is a %s that needs a gradient; use ht_relu",
                x->view ? "view" : "leaf");
        return NULL;
    }
    /* The node takes x's own as its input, and becomes x's. */
    node = ht_node_new("ht_relu_", relu_backward, 1, &x);
    if (ht__unary_(&relu_in_place, x) != HT_SUCCESS)
        return ht_node_set_output(node, NULL);
    ht_node_save(node, x);
    return ht_node_set_output(node, x);
}

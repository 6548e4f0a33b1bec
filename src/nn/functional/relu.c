/* SPDX-License-Identifier: MIT
 *
 * y = max(x, 0). The gradient passes where y > 0: the output is all that is kept, so that x itself
 * may be overwritten by it. */
#include "core/ops/drivers/drivers.h"
#include "nn/functional/functional.h"
#include "ht/kernels/elementwise.h"

static const ht_operand_rule rules[] = {{"x", .cast = HT_CAST_NONE}};

static void relu_backward(ht_node *node, ht_tensor *grad, ht_tensor *grad_inputs[])
{
    static const ht_broadcast_op row = {.name = "ht_relu", .kernel = HT_KERNEL_RELU_GRAD};

    grad_inputs[0] = ht__binary_over(&row, grad, ht_node_saved(node, 0), NULL);
}

static const ht_unary_op relu = {
    .name = "ht_relu",
    .kernel = HT_KERNEL_RELU,
    .result = HT_RESULT_SAME,
    .save = HT_SAVE_OUTPUT,
    .backward = relu_backward,
};

ht_tensor *ht_relu(ht_tensor *x)
{
    return HT_PREPARE("ht_relu", rules, &x) ? ht__unary(&relu, x) : NULL;
}

static const ht_unary_op relu_in_place = {
    .name = "ht_relu_",
    .kernel = HT_KERNEL_RELU,
    .result = HT_RESULT_SAME,
    .save = HT_SAVE_OUTPUT,
    .backward = relu_backward,
};

ht_tensor *ht_relu_(ht_tensor *x)
{
    ht_node *node;

    if (!HT_PREPARE("ht_relu_", rules, &x))
        return NULL;
    if (ht__records(x) && (x->node == NULL || x->view)) {
        HT_FAIL(x->body->comm, HT_ERR_STATE,
                "ht_relu_: x is a %s that needs a gradient; use ht_relu",
                x->view ? "view" : "leaf");
        return NULL;
    }
    /* The node takes x's own as its input, and becomes x's. */
    node = ht_node_new("ht_relu_", relu_backward, 1, &x);
    if (ht__unary_(&relu_in_place, "ht_relu_", x, NULL) != HT_SUCCESS)
        return ht_node_set_output(node, NULL);
    ht_node_save(node, x);
    return ht_node_set_output(node, x);
}

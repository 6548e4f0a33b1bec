/* SPDX-License-Identifier: MIT
 *
 * y = x > 0 ? x : slope x, whatever the sign of the slope. One kernel gives it from (x, x), and the
 * gradient from (dy, x), where dy lies if that may be. */
#include "core/ops/drivers/drivers.h"
#include "nn/functional/functional.h"
#include "ht/kernels/elementwise.h"

static const ht_operand_rule rules[] = {
    {"x", NULL, HT_DTYPE_FLOATING, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_NONE, HT_REQUIRED},
};

static void leaky_relu_backward(ht_node *node, ht_tensor *grad, ht_tensor *grad_inputs[])
{
    static const ht_broadcast_op row = {.name = "ht_leaky_relu", .kernel = HT_KERNEL_LEAKY_RELU};

    grad_inputs[0] = ht__binary_over(&row, grad, ht_node_saved(node, 0), ht_node_context(node, 0));
}

static const ht_unary_op leaky_relu = {
    .name = "ht_leaky_relu",
    .kernel = HT_KERNEL_LEAKY_RELU,
    .twice = true,
    .save = HT_SAVE_INPUT,
    .backward = leaky_relu_backward,
};

ht_tensor *ht_leaky_relu(ht_tensor *x, double negative_slope)
{
    if (!HT_PREPARE("ht_leaky_relu", rules, &x))
        return NULL;
    return ht__unary_with(&leaky_relu, x, &(ht_beside){.param = {negative_slope}});
}

/* SPDX-License-Identifier: MIT
 *
 * Activations, by their rows: y = K(x), dx = K_GRAD(dy, x or y), written over dy where that may be.
 * A gradient from the output keeps nothing else, so that x itself may be overwritten by it. Where the
 * slope comes with y, it alone is kept, and dx = dy slope.
 * Functions of several parameters follow their rows. */
#include "core/ops/drivers/drivers.h"
#include "nn/functional/activations.h"
#include "nn/functional/functional.h"
#include "ht/kernels/elementwise.h"

/* clang-format off */
#define KEEPS_INPUT(K)  .save = HT_SAVE_INPUT
#define KEEPS_OUTPUT(K) .save = HT_SAVE_OUTPUT
#define KEEPS_SLOPE(K)  .save = HT_SAVE_INPUT, .slope = HT_KERNEL_##K##_SLOPE
#define ROW(f, K, keeps) \
    static const ht_broadcast_op f##_grad = {.name = "ht_" #f, .kernel = HT_KERNEL_##K##_GRAD}; \
    static void f##_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[]) \
    { gin[0] = ht__binary_over(&f##_grad, g, ht_node_saved(node, 0), ht_node_context(node, 0)); } \
    static const ht_unary_op f##_op = {.name = "ht_" #f, .kernel = HT_KERNEL_##K, \
                                       KEEPS_##keeps(K), .backward = f##_backward};
#define ACTIVATION(f, label, K, keeps) \
    ROW(f, K, keeps) \
    ht_tensor *ht_##f(ht_tensor *x) { return ht__unary(&f##_op, x); }
#define ACTIVATION_WITH_NUMBER(f, label, K, keeps, number, usual) \
    ROW(f, K, keeps) \
    ht_tensor *ht_##f(ht_tensor *x, double number) \
    { return ht__unary_with(&f##_op, x, &(ht_params){.param = {number}}); }
/* clang-format on */

HT_ACTIVATIONS(ACTIVATION)
HT_ACTIVATIONS_WITH_NUMBER(ACTIVATION_WITH_NUMBER)
ROW(elu, ELU, INPUT)
ROW(celu, ELU, INPUT)
ROW(selu, ELU, INPUT)
ROW(softplus, SOFTPLUS, INPUT)

ht_tensor *ht_elu(ht_tensor *x, double alpha)
{
    return ht__unary_with(&elu_op, x, &(ht_params){.param = {alpha, 1, 1}});
}

ht_tensor *ht_celu(ht_tensor *x, double alpha)
{
    if (x != NULL &&
        !ht__check_parameter("ht_celu", x, alpha != 0, "alpha", alpha, "a value other than 0"))
        return NULL;
    return ht__unary_with(&celu_op, x, &(ht_params){.param = {alpha, 1, 1 / alpha}});
}

ht_tensor *ht_selu(ht_tensor *x)
{
    const double alpha = 1.6732632423543772848170, scale = 1.0507009873554804934193;

    return ht__unary_with(&selu_op, x, &(ht_params){.param = {alpha * scale, scale, 1}});
}

ht_tensor *ht_softplus(ht_tensor *x, double beta, double threshold)
{
    return ht__unary_with(&softplus_op, x, &(ht_params){.param = {beta, threshold}});
}

ht_status ht_relu_(ht_tensor *x)
{
    ht_node *node;
    ht_status status;

    if (HT_IS_NULL(x, "ht_relu_", "x"))
        return HT_ERR_ARGUMENT;
    if (ht__records(x) && (x->node == NULL || x->view)) {
        return HT_FAIL(x->body->comm, HT_ERR_STATE,
                       "ht_relu_: x is a %s that needs a gradient; use ht_relu",
                       x->view ? "view" : "leaf");
    }
    /* The node takes x's own as its input, and becomes x's. */
    node = ht_node_new("ht_relu_", relu_backward, 1, &x);
    status = ht__unary_(&relu_op, "ht_relu_", x, NULL);
    if (status == HT_SUCCESS)
        ht_node_save(node, x);
    ht_node_set_output(node, status == HT_SUCCESS ? x : NULL);
    return status;
}

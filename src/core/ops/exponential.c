/* SPDX-License-Identifier: MIT
 *
 * Rows of the exponential functions, each beside its derivative. */
#include "core/ops/drivers.h"
#include "ht/exponential.h"

#include "ht/arithmetics.h"
#include "ht/kernels/elementwise.h"

static void exp_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_mul(g, ht__conj(ht_node_saved(node, 0)));
}

static void log_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_div(g, ht__conj(ht_node_saved(node, 0)));
}

static void sqrt_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_div(ht_mul_scalar(g, 0.5), ht__conj(ht_node_saved(node, 0)));
}

static void expm1_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_mul(g, ht_add_scalar(ht_node_saved(node, 0), 1));
}

static void log1p_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_div(g, ht_add_scalar(ht_node_saved(node, 0), 1));
}

static const ht_binary_op tanh_grad = {.name = "ht_tanh", .kernel = HT_KERNEL_TANH_GRAD};

static void tanh_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht__binary(&tanh_grad, g, ht__conj(ht_node_saved(node, 0)));
}

static const ht_unary_op exp_op = {"ht_exp", HT_KERNEL_EXP, HT_RESULT_FLOAT, HT_SAVE_OUTPUT,
                                   .backward = exp_backward};
static const ht_unary_op log_op = {"ht_log", HT_KERNEL_LOG, HT_RESULT_FLOAT, HT_SAVE_INPUT,
                                   .backward = log_backward};
static const ht_unary_op sqrt_op = {"ht_sqrt", HT_KERNEL_SQRT, HT_RESULT_FLOAT, HT_SAVE_OUTPUT,
                                    .backward = sqrt_backward};
static const ht_unary_op tanh_op = {"ht_tanh", HT_KERNEL_TANH, HT_RESULT_FLOAT, HT_SAVE_OUTPUT,
                                    .backward = tanh_backward};
static const ht_unary_op expm1_op = {"ht_expm1", HT_KERNEL_EXPM1, HT_RESULT_FLOAT, HT_SAVE_OUTPUT,
                                     .backward = expm1_backward};
static const ht_unary_op log1p_op = {"ht_log1p", HT_KERNEL_LOG1P, HT_RESULT_FLOAT, HT_SAVE_INPUT,
                                     .backward = log1p_backward};

ht_tensor *ht_exp(ht_tensor *x)
{
    return ht__unary(&exp_op, x);
}

ht_tensor *ht_log(ht_tensor *x)
{
    return ht__unary(&log_op, x);
}

ht_tensor *ht_sqrt(ht_tensor *x)
{
    return ht__unary(&sqrt_op, x);
}

ht_tensor *ht_tanh(ht_tensor *x)
{
    return ht__unary(&tanh_op, x);
}

ht_tensor *ht_expm1(ht_tensor *x)
{
    return ht__unary(&expm1_op, x);
}

ht_tensor *ht_log1p(ht_tensor *x)
{
    return ht__unary(&log1p_op, x);
}

/* SPDX-License-Identifier: MIT
 *
 * Rows of the exponential functions and their derivatives. */
#include "core/ops/drivers/drivers.h"
#include "ht/exponential.h"

#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/kernels/elementwise.h"

static const double ln2 = 0.693147180559945309417, ln10 = 2.302585092994045684018;

static void exp_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_mul(g, ht__conj(ht_node_saved(node, 0)));
}

static void exp2_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_mul(ht_mul_scalar(g, ln2), ht__conj(ht_node_saved(node, 0)));
}

static void log_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_div(g, ht__conj(ht_node_saved(node, 0)));
}

static void log2_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_div(ht_mul_scalar(g, 1 / ln2), ht__conj(ht_node_saved(node, 0)));
}

static void log10_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_div(ht_mul_scalar(g, 1 / ln10), ht__conj(ht_node_saved(node, 0)));
}

static void sqrt_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_div(ht_mul_scalar(g, 0.5), ht__conj(ht_node_saved(node, 0)));
}

static void square_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_mul(ht_mul_scalar(g, 2), ht__conj(ht_node_saved(node, 0)));
}

static void expm1_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_mul(g, ht_add_scalar(ht_node_saved(node, 0), 1));
}

static void log1p_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_div(g, ht_add_scalar(ht_node_saved(node, 0), 1));
}

/* log(e^a + e^b): that of a is e^a / (e^a + e^b), without what overflows. */
static void logaddexp_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *a = ht_node_saved(node, 0), *b = ht_node_saved(node, 1);

    if (ht_node_needs(node, 0))
        gin[0] = ht_div(g, ht_add_scalar(ht_exp(ht_sub(b, a)), 1));
    if (ht_node_needs(node, 1))
        gin[1] = ht_div(g, ht_add_scalar(ht_exp(ht_sub(a, b)), 1));
}

static void logaddexp2_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *a = ht_node_saved(node, 0), *b = ht_node_saved(node, 1);

    if (ht_node_needs(node, 0))
        gin[0] = ht_div(g, ht_add_scalar(ht_exp2(ht_sub(b, a)), 1));
    if (ht_node_needs(node, 1))
        gin[1] = ht_div(g, ht_add_scalar(ht_exp2(ht_sub(a, b)), 1));
}

/* clang-format off */
#define FLOATING(f, name, saved)                                                              \
    HT_UNARY(f, .kernel = HT_KERNEL_##name, .result = HT_RESULT_FLOAT, .save = saved, .backward = f##_backward)
FLOATING(exp, EXP, HT_SAVE_OUTPUT)
FLOATING(exp2, EXP2, HT_SAVE_OUTPUT)
FLOATING(expm1, EXPM1, HT_SAVE_OUTPUT)
FLOATING(log, LOG, HT_SAVE_INPUT)
FLOATING(log2, LOG2, HT_SAVE_INPUT)
FLOATING(log10, LOG10, HT_SAVE_INPUT)
FLOATING(log1p, LOG1P, HT_SAVE_INPUT)
FLOATING(sqrt, SQRT, HT_SAVE_OUTPUT)
HT_UNARY(square, .kernel = HT_KERNEL_MUL, .twice = true, .save = HT_SAVE_INPUT,
         .backward = square_backward)
HT_BINARY(logaddexp, .kernel = HT_KERNEL_LOGADDEXP, .result = HT_RESULT_FLOAT, .save_operands = true,
          .backward = logaddexp_backward)
HT_BINARY(logaddexp2, .kernel = HT_KERNEL_LOGADDEXP2, .result = HT_RESULT_FLOAT, .save_operands = true,
          .backward = logaddexp2_backward)
/* clang-format on */

/* SPDX-License-Identifier: MIT
 *
 * Rows of the exponential functions, powers and roots, and their derivatives. */
#include "core/ops/drivers/drivers.h"
#include "ht/exponential.h"

#include "ht/arithmetics.h"
#include "ht/complex_math.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/kernels/elementwise.h"
#include "ht/logical.h"
#include "ht/relational.h"

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

/* y + 1 would be 0 where y rounds to -1. */
static void expm1_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_mul(g, ht_exp(ht_node_saved(node, 0)));
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

/* b a^(b - 1), and a^b log a; 0 where the factor is 0, although the other one is infinite. */
static void pow_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *a = ht_node_saved(node, 0), *b = ht_node_saved(node, 1), *zero = ht_scalar(0);
    ht_tensor *slope, *flat;

    if (ht_node_needs(node, 0)) {
        slope = ht_mul(b, ht_pow(a, ht_sub(b, ht_scalar(1))));
        gin[0] = ht_mul(g, ht__conj(ht_where(ht_eq(b, zero), zero, slope)));
    }
    if (ht_node_needs(node, 1)) {
        slope = ht_mul(ht_pow(a, b), ht_log(a));
        flat = ht_logical_and(ht_eq(a, zero), ht_ge(ht_real(b), zero));
        gin[1] = ht_mul(g, ht__conj(ht_where(flat, zero, slope)));
    }
}

/* 0 where both are 0. */
static void hypot_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *a = ht_node_saved(node, 0), *b = ht_node_saved(node, 1), *y = ht_hypot(a, b);

    if (ht_node_needs(node, 0))
        gin[0] = ht__grad_where(ht_mul(g, ht_div(a, y)), ht_ne(y, ht_scalar(0)));
    if (ht_node_needs(node, 1))
        gin[1] = ht__grad_where(ht_mul(g, ht_div(b, y)), ht_ne(y, ht_scalar(0)));
}

/* clang-format off */
#define FLOATING(f, name, saved)                                                              \
    HT_UNARY(f, .kernel = HT_KERNEL_##name, .result = HT_RESULT_FLOAT, .save = saved, .backward = f##_backward)
FLOATING(exp, EXP, HT_SAVE_OUTPUT)
FLOATING(exp2, EXP2, HT_SAVE_OUTPUT)
FLOATING(expm1, EXPM1, HT_SAVE_INPUT)
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
HT_BINARY(pow, .kernel = HT_KERNEL_POW, .save_operands = true, .backward = pow_backward)
HT_BINARY(hypot, .kernel = HT_KERNEL_HYPOT, .result = HT_RESULT_FLOAT, .save_operands = true,
          .backward = hypot_backward)
/* clang-format on */

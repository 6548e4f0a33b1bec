/* SPDX-License-Identifier: MIT
 *
 * Rows of the trigonometric functions and their derivatives. */
#include "core/ops/drivers/drivers.h"
#include "ht/trigonometrics.h"

#include "ht/arithmetics.h"
#include "ht/exponential.h"
#include "ht/factories.h"
#include "ht/kernels/elementwise.h"
#include "ht/relational.h"

static const double pi = 3.14159265358979323846;

/* 1 + sign x^2 */
static ht_tensor *one_and_square(ht_tensor *x, double sign)
{
    return ht_add_scalar(ht_mul_scalar(ht_square(x), sign), 1);
}

static void sin_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_mul(g, ht__conj(ht_cos(ht_node_saved(node, 0))));
}

static void cos_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_neg(ht_mul(g, ht__conj(ht_sin(ht_node_saved(node, 0)))));
}

static void tan_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_mul(g, ht__conj(one_and_square(ht_node_saved(node, 0), 1)));
}

static void asin_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_div(g, ht__conj(ht_sqrt(one_and_square(ht_node_saved(node, 0), -1))));
}

static void acos_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    asin_backward(node, g, gin);
    gin[0] = ht_neg(gin[0]);
}

static void atan_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_div(g, ht__conj(one_and_square(ht_node_saved(node, 0), 1)));
}

static void sinh_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_mul(g, ht__conj(ht_cosh(ht_node_saved(node, 0))));
}

static void cosh_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_mul(g, ht__conj(ht_sinh(ht_node_saved(node, 0))));
}

static const ht_broadcast_op tanh_grad = {.name = "ht_tanh", .kernel = HT_KERNEL_TANH_GRAD};

static void tanh_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht__binary(&tanh_grad, g, ht__conj(ht_node_saved(node, 0)));
}

static void asinh_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_div(g, ht__conj(ht_sqrt(one_and_square(ht_node_saved(node, 0), 1))));
}

/* 1 / (sqrt(x - 1) sqrt(x + 1)): the root of the product has another branch cut. */
static void acosh_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *x = ht_node_saved(node, 0);
    ht_tensor *root = ht_mul(ht_sqrt(ht_sub_scalar(x, 1)), ht_sqrt(ht_add_scalar(x, 1)));

    gin[0] = ht_div(g, ht__conj(root));
}

static void atanh_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_div(g, ht__conj(one_and_square(ht_node_saved(node, 0), -1)));
}

/* y and x are saved. The gradient is 0 where both are 0, because the direction is undefined. */
static void atan2_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *y = ht_node_saved(node, 0), *x = ht_node_saved(node, 1), *far = ht_hypot(x, y);

    g = ht_div(g, far); /* whose square may be out of range */
    if (ht_node_needs(node, 0))
        gin[0] = ht__grad_where(ht_mul(g, ht_div(x, far)), ht_ne(far, ht_scalar(0)));
    if (ht_node_needs(node, 1))
        gin[1] = ht__grad_where(ht_neg(ht_mul(g, ht_div(y, far))), ht_ne(far, ht_scalar(0)));
}

/* clang-format off */
#define FLOATING(f, name, saved)                                                              \
    HT_UNARY(f, .kernel = HT_KERNEL_##name, .result = HT_RESULT_FLOAT, .save = saved, .backward = f##_backward)
FLOATING(sin, SIN, HT_SAVE_INPUT)
FLOATING(cos, COS, HT_SAVE_INPUT)
FLOATING(tan, TAN, HT_SAVE_OUTPUT)
FLOATING(asin, ASIN, HT_SAVE_INPUT)
FLOATING(acos, ACOS, HT_SAVE_INPUT)
FLOATING(atan, ATAN, HT_SAVE_INPUT)
FLOATING(sinh, SINH, HT_SAVE_INPUT)
FLOATING(cosh, COSH, HT_SAVE_INPUT)
FLOATING(tanh, TANH, HT_SAVE_OUTPUT)
FLOATING(asinh, ASINH, HT_SAVE_INPUT)
FLOATING(acosh, ACOSH, HT_SAVE_INPUT)
FLOATING(atanh, ATANH, HT_SAVE_INPUT)
HT_BINARY(atan2, .kernel = HT_KERNEL_ATAN2, .result = HT_RESULT_FLOAT, .save_operands = true,
          .backward = atan2_backward, .names = (const char *const[]){"y", "x"})
/* clang-format on */

/* A factor that 16 bits would round. */
static ht_tensor *scaled(const char *what, ht_tensor *x, double factor);

static void scaled_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = scaled("ht_backward", g, ((const ht_params *)ht_node_context(node, 0))->param[0]);
}

static ht_tensor *scaled(const char *what, ht_tensor *x, double factor)
{
    const ht_unary_op op = {.name = what,
                            .kernel = HT_KERNEL_SCALE,
                            .result = HT_RESULT_FLOAT,
                            .backward = scaled_backward};

    return ht__unary_with(&op, x, &(ht_params){.param = {factor}});
}

ht_tensor *ht_deg2rad(ht_tensor *x)
{
    return scaled("ht_deg2rad", x, pi / 180);
}

ht_tensor *ht_rad2deg(ht_tensor *x)
{
    return scaled("ht_rad2deg", x, 180 / pi);
}

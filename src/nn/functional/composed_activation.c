/* SPDX-License-Identifier: MIT
 *
 * Activations that are a few differentiable operations each. Where PyTorch's gradient is 0 at a
 * bound, a mask chooses the elements, because ht_clip passes the gradient there. */
#include "ht/activations.h"

#include <math.h>

#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/manipulations.h"
#include "ht/relational.h"
#include "ht/rounding.h"
#include "ht/trigonometrics.h"
#include "nn/functional/functional.h"

static const ht_operand_rule rules[] = {
    {"x", .dtype = HT_DTYPE_FLOATING, .cast = HT_CAST_HIGH},
};

static bool prepare(const char *what, ht_tensor **x)
{
    return HT_PREPARE(what, rules, x);
}

/* `low` up to there, `high` from there on. */
static ht_tensor *between(ht_tensor *x, double low, double high)
{
    ht_tensor *cut = ht_where(ht_ge(x, ht_scalar(high)), ht_scalar(high), x);

    return ht_where(ht_le(x, ht_scalar(low)), ht_scalar(low), cut);
}

static ht_tensor *hard_gate(ht_tensor *x)
{
    return ht_div_scalar(between(ht_add_scalar(x, 3), 0, 6), 6);
}

ht_tensor *ht_hardtanh(ht_tensor *x, double min, double max)
{
    if (!prepare("ht_hardtanh", &x) ||
        !ht__check_parameter("ht_hardtanh", x, min <= max, "min", min, "at most max"))
        return NULL;
    return between(x, min, max);
}

ht_tensor *ht_relu6(ht_tensor *x)
{
    return prepare("ht_relu6", &x) ? between(x, 0, 6) : NULL;
}

ht_tensor *ht_hardsigmoid(ht_tensor *x)
{
    return prepare("ht_hardsigmoid", &x) ? hard_gate(x) : NULL;
}

ht_tensor *ht_hardswish(ht_tensor *x)
{
    return prepare("ht_hardswish", &x) ? ht_mul(x, hard_gate(x)) : NULL;
}

ht_tensor *ht_hardshrink(ht_tensor *x, double lambda)
{
    if (!prepare("ht_hardshrink", &x))
        return NULL;
    return ht_where(ht_le(ht_abs(x), ht_scalar(lambda)), ht_scalar(0), x);
}

ht_tensor *ht_softshrink(ht_tensor *x, double lambda)
{
    if (!prepare("ht_softshrink", &x) ||
        !ht__check_parameter("ht_softshrink", x, lambda >= 0, "lambda", lambda, "at least 0"))
        return NULL;
    return ht_sub(x, ht_clip(x, -lambda, lambda));
}

ht_tensor *ht_threshold(ht_tensor *x, double threshold, double value)
{
    if (!prepare("ht_threshold", &x))
        return NULL;
    return ht_where(ht_le(x, ht_scalar(threshold)), ht_scalar(value), x);
}

ht_tensor *ht_softsign(ht_tensor *x)
{
    return prepare("ht_softsign", &x) ? ht_div(x, ht_add_scalar(ht_abs(x), 1)) : NULL;
}

ht_tensor *ht_tanhshrink(ht_tensor *x)
{
    return prepare("ht_tanhshrink", &x) ? ht_sub(x, ht_tanh(x)) : NULL;
}

ht_tensor *ht_logsigmoid(ht_tensor *x)
{
    return prepare("ht_logsigmoid", &x) ? ht_neg(ht_softplus(ht_neg(x), 1, INFINITY)) : NULL;
}

/* (1 + tanh(u)) / 2 = sigmoid(2 u), in float32 for 16 bits: float16 does not hold the square of
 * 256. */
ht_tensor *ht_gelu_tanh(ht_tensor *x)
{
    const double slope = 1.595769121605730711760; /* 2 sqrt(2 / pi) */
    ht_tensor *factor;
    ht_dtype dtype;

    if (!prepare("ht_gelu_tanh", &x))
        return NULL;
    dtype = x->body->dtype;
    x = ht__wide(x);
    factor = ht_add_scalar(ht_mul_scalar(ht_mul(x, x), 0.044715 * slope), slope);
    return ht_astype(ht_mul(x, ht_sigmoid(ht_mul(x, factor))), dtype);
}

ht_tensor *ht_glu(ht_tensor *x, int axis)
{
    ht_tensor *half[2] = {NULL, NULL};

    if (!prepare("ht_glu", &x) || !ht__check_axis("ht_glu", x, &axis))
        return NULL;
    if (x->body->shape[axis] % 2 != 0) {
        HT_FAIL(x->body->comm, HT_ERR_SHAPE,
                "ht_glu: axis %d of x %s is %lld long, expected an even length", axis,
                ht__shape_str(x->body->ndim, x->body->shape), (long long)x->body->shape[axis]);
        return NULL;
    }
    if (ht_split(x, 2, axis, half) != HT_SUCCESS)
        return NULL;
    return ht_mul(half[0], ht_sigmoid(half[1]));
}

/* SPDX-License-Identifier: MIT
 *
 * Losses of each element of x and target, by differentiable operations: a row each. */
#include <math.h>

#include "ht/arithmetics.h"
#include "ht/rounding.h"
#include "nn/functional/functional.h"
#include "nn/functional/losses/losses.h"

/* x and target, of one shape, and the loss's parameter. */
typedef ht_tensor *loss_fn(ht_tensor *x, ht_tensor *target, double number);

typedef struct pointwise_loss {
    const char *name;
    loss_fn *of;
    ht_operand_dtype x_dtype, target_dtype;
    const char *number; /* the parameter's name, or NULL */
    double low;         /* it is finite, and above this or equal to it */
    bool above;         /* not equal to it */
} pointwise_loss;

static ht_tensor *squared_error(ht_tensor *x, ht_tensor *target, double unused)
{
    ht_tensor *difference = ht_sub(x, target);

    (void)unused;
    return ht_mul(difference, difference);
}

static ht_tensor *absolute_error(ht_tensor *x, ht_tensor *target, double unused)
{
    (void)unused;
    return ht_abs(ht_sub(x, target));
}

/* d^2 / 2 up to delta, delta (d - delta / 2) above: with m = min(d, delta), m (d - m / 2). */
static ht_tensor *huber_error(ht_tensor *x, ht_tensor *target, double delta)
{
    ht_tensor *d = ht_abs(ht_sub(x, target)), *m = ht_clip(d, 0, delta);

    return ht_mul(m, ht_sub(d, ht_mul_scalar(m, 0.5)));
}

static ht_tensor *smooth_l1_error(ht_tensor *x, ht_tensor *target, double beta)
{
    return beta > 0 ? ht_div_scalar(huber_error(x, target, beta), beta)
                    : absolute_error(x, target, beta);
}

static bool check_number(const pointwise_loss *loss, const ht_tensor *x, double number)
{
    if (loss->number == NULL ||
        (isfinite(number) && (loss->above ? number > loss->low : number >= loss->low)))
        return true;
    HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: %s is %g, expected a finite value %s %g",
            loss->name, loss->number, number, loss->above ? "above" : "of at least", loss->low);
    return false;
}

/* Operands have any splits, and any dtypes that x_dtype allows, which promote as in ht_sub. */
static ht_tensor *run(const pointwise_loss *loss, ht_tensor *x, ht_tensor *target, double number,
                      ht_reduction_mode reduction)
{
    const ht_operand_rule rules[] = {{"x", .dtype = loss->x_dtype, .cast = HT_CAST_HIGH},
                                     {"target", .dtype = loss->target_dtype, .cast = HT_CAST_HIGH}};
    ht_tensor *in[] = {x, target}, *losses;

    if (!HT_PREPARE(loss->name, rules, in) || !ht__check_reduction(loss->name, in[0], reduction) ||
        !check_number(loss, in[0], number) ||
        !ht__check_one_shape(loss->name, "x", in[0], "target", in[1]))
        return NULL;
    HT_NAMED(loss->name);
    losses = loss->of(in[0], in[1], number);
    return ht__reduce_losses(losses, reduction);
}

/* clang-format off */
/* A row and its public function, of x and target; and of a number in its range. */
#define LOSS(f, error, dtype, target_dtype) \
    static const pointwise_loss f##_row = {"ht_" #f, error, dtype, target_dtype, .number = NULL}; \
    ht_tensor *ht_##f(ht_tensor *x, ht_tensor *target, ht_reduction_mode reduction) \
    { return run(&f##_row, x, target, 0, reduction); }
#define LOSS_WITH(f, error, number, low, above) \
    static const pointwise_loss f##_row = \
        {"ht_" #f, error, HT_DTYPE_FLOATING, HT_DTYPE_REAL, #number, low, above}; \
    ht_tensor *ht_##f(ht_tensor *x, ht_tensor *target, double number, ht_reduction_mode reduction) \
    { return run(&f##_row, x, target, number, reduction); }

LOSS(mse_loss, squared_error, HT_DTYPE_ANY, HT_DTYPE_ANY)
LOSS(l1_loss, absolute_error, HT_DTYPE_ANY, HT_DTYPE_ANY)
LOSS_WITH(smooth_l1_loss, smooth_l1_error, beta, 0, false)
LOSS_WITH(huber_loss, huber_error, delta, 0, true)
/* clang-format on */

/* SPDX-License-Identifier: MIT
 *
 * Adafactor: the variance of a matrix's gradient is the product of the variances of its rows and of
 * its columns. These are its state tensors; further axes at the front are those of a batch of
 * matrices. */
#include "optim/rules/rule.h"

#include "ht/arithmetics.h"
#include "ht/exponential.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/linalg.h"
#include "ht/relational.h"
#include "ht/statistics.h"

enum { ROWS, COLUMNS, ELEMENTS };

static ht_tensor *mean_along(ht_tensor *x, int axis)
{
    ht_reduce_options options = ht_reduce_options_default();

    options.axes = &axis;
    options.count = 1;
    options.keepdims = true;
    return ht_mean_ext(x, &options);
}

static ht_status make_state(ht_tensor *parameter, int state, ht_tensor **made)
{
    const bool factored = ht_tensor_ndim(parameter) > 1;

    *made = NULL;
    if (factored == (state == ELEMENTS))
        return HT_SUCCESS;
    *made = ht_zeros_like(parameter);
    if (factored)
        *made = mean_along(*made, state == ROWS ? -1 : -2);
    return *made != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

/* The greater one; `least` for NaN, as Python's max(least, x). */
static ht_tensor *at_least(ht_tensor *x, double least)
{
    return ht_where(ht_gt(x, ht_scalar(least)), x, ht_scalar(least));
}

/* sqrt(mean of x^2) over all elements. */
static ht_tensor *root_mean_square(ht_tensor *x)
{
    return ht_div_scalar(ht_vector_norm(x, 2, HT_NONE, false), sqrt((double)ht_tensor_size(x)));
}

/* The variance that the new state tensors mean. */
static ht_tensor *variance_of(ht_tensor *const state[], double eps)
{
    if (state[ELEMENTS] != NULL)
        return state[ELEMENTS];
    return ht_div(ht_mul(state[ROWS], state[COLUMNS]),
                  ht_maximum(mean_along(state[ROWS], -2), ht_scalar(eps)));
}

static ht_status update(const ht_whole_step *step)
{
    const ht_update_call *u = step->settings;
    const bool factored = step->state[ELEMENTS] == NULL;
    const double eps = u->eps > 0                                       ? u->eps
                       : ht_tensor_dtype(step->parameter) == HT_FLOAT32 ? FLT_EPSILON
                                                                        : DBL_EPSILON;
    const double weight = pow(step->number, u->beta1);
    ht_tensor *square = ht_square(step->grad), *state[3] = {NULL}, *change, *size;

    if (ht_tensor_size(step->parameter) == 0)
        return HT_SUCCESS;
    for (int s = factored ? ROWS : ELEMENTS; s <= (factored ? COLUMNS : ELEMENTS); s++)
        state[s] = ht__optim_lerp(
            step->state[s], factored ? mean_along(square, s == ROWS ? -1 : -2) : square, weight);
    change = ht_div(step->grad, ht_sqrt(ht_maximum(variance_of(state, eps), ht_scalar(eps * eps))));
    size = ht_div(ht_mul_scalar(at_least(root_mean_square(step->parameter), u->beta2),
                                fmin(u->lr, 1 / sqrt(step->number))),
                  at_least(ht_div_scalar(root_mean_square(change), u->momentum), 1));
    change = ht_sub(ht_mul_scalar(step->parameter, 1 - u->lr * u->weight_decay),
                    ht_mul(change, size));
    if (!factored)
        return ht__optim_set(2, (ht_tensor *[]){step->state[ELEMENTS], step->parameter},
                             (ht_tensor *[]){state[ELEMENTS], change});
    return ht__optim_set(3,
                         (ht_tensor *[]){step->state[ROWS], step->state[COLUMNS], step->parameter},
                         (ht_tensor *[]){state[ROWS], state[COLUMNS], change});
}

static ht_status check(const char *what, const ht_update_call *settings, bool scheduled)
{
    (void)scheduled;
    if (settings->beta1 > 0)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: beta2_decay is %g, expected at most 0", what,
                       settings->beta1);
    return HT_SUCCESS;
}

static const ht_optimizer_type type = {
    .name = "Adafactor",
    .update = update,
    .make_state = make_state,
    .check = check,
    .state_names = {"row_var", "col_var", "variance"},
    .settings = {HT_SETTING_FROM(ht_adafactor_options, beta2_decay, beta1, -DBL_MAX, INFINITY),
                 HT_SETTING(ht_adafactor_options, eps1, eps, INFINITY),
                 HT_SETTING(ht_adafactor_options, eps2, beta2, INFINITY),
                 HT_SETTING_FROM(ht_adafactor_options, d, momentum, 1, INFINITY),
                 HT_SETTING(ht_adafactor_options, weight_decay, weight_decay, INFINITY),
                 HT_FLAG(ht_adafactor_options, maximize, maximize)},
};

ht_adafactor_options ht_adafactor_options_default(void)
{
    return (ht_adafactor_options){
        .size = sizeof(ht_adafactor_options), .beta2_decay = -0.8, .eps2 = 1e-3, .d = 1};
}

HT_OPTIMIZER(adafactor, type)

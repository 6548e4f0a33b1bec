/* SPDX-License-Identifier: MIT
 *
 * Negative logarithms of likelihoods, and divergences of distributions, by differentiable
 * operations. */
#define _GNU_SOURCE /* M_PI */
#include <math.h>

#include "core/ops/ops.h"
#include "ht/arithmetics.h"
#include "ht/exponential.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/logical.h"
#include "ht/manipulations.h"
#include "ht/relational.h"
#include "ht/rounding.h"
#include "nn/functional/functional.h"
#include "nn/functional/losses/losses.h"

static const ht_operand_rule rules[] = {
    {"x", .dtype = HT_DTYPE_FLOATING, .cast = HT_CAST_HIGH},
    {"target", .dtype = HT_DTYPE_REAL, .cast = HT_CAST_HIGH},
    {"var", .dtype = HT_DTYPE_REAL, .cast = HT_CAST_HIGH},
};

/* x and target, checked and cast. */
static bool prepare(const char *what, ht_tensor *in[2], ht_reduction_mode reduction)
{
    return ht__prepare(what, rules, 2, in) && ht__check_reduction(what, in[0], reduction) &&
           ht__check_one_shape(what, "x", in[0], "target", in[1]);
}

ht_poisson_nll_options ht_poisson_nll_options_default(void)
{
    return (ht_poisson_nll_options){.size = sizeof(ht_poisson_nll_options),
                                    .log_input = true,
                                    .eps = 1e-8,
                                    .reduction = HT_MEAN};
}

/* t log t - t + log(2 pi t) / 2 above 1, else 0; of numbers that are not used, 2 is put into the
 * logarithms. */
static ht_tensor *stirling(ht_tensor *target)
{
    ht_tensor *used = ht_gt(target, ht_scalar(1)), *t = ht_where(used, target, ht_scalar(2));
    ht_tensor *power = ht_sub(ht_mul(t, ht_log(t)), t);
    ht_tensor *root = ht_mul_scalar(ht_log(ht_mul_scalar(t, 2 * M_PI)), 0.5);

    return ht_where(used, ht_add(power, root), ht_scalar(0));
}

ht_tensor *ht_poisson_nll_loss(ht_tensor *x, ht_tensor *target,
                               const ht_poisson_nll_options *options)
{
    const char *what = "ht_poisson_nll_loss";
    const ht_poisson_nll_options o = options != NULL ? *options : ht_poisson_nll_options_default();
    ht_tensor *in[] = {x, target}, *loss;
    ht_dtype dtype;

    if (!prepare(what, in, o.reduction) ||
        HT_CHECK_OPTIONS(in[0]->body->comm, what, &o, ht_poisson_nll_options) != HT_SUCCESS ||
        !ht__check_parameter(what, in[0], o.eps >= 0, "eps", o.eps, "at least 0"))
        return NULL;
    dtype = ht_promote_types(in[0]->body->dtype, in[1]->body->dtype);
    x = ht__wide(in[0]), target = ht__wide(in[1]);
    loss = o.log_input ? ht_sub(ht_exp(x), ht_mul(target, x))
                       : ht_sub(x, ht_mul(target, ht_log(ht_add_scalar(x, o.eps))));
    if (o.full)
        loss = ht_add(loss, stirling(target));
    return ht__reduce_losses(ht_astype(loss, dtype), o.reduction);
}

/* Whether y broadcasts to x, along at most `most` of its axes. */
static bool broadcasts(const ht_body *x, const ht_body *y, int most)
{
    const int before = x->ndim - y->ndim;
    int wide = 0;

    for (int i = 0; i < y->ndim && before >= 0; i++) {
        if (y->shape[i] != x->shape[before + i] && y->shape[i] != 1)
            return false;
        wide += y->shape[i] != x->shape[before + i];
    }
    return before >= 0 && wide <= most;
}

/* Whether var is one for each row of x, without an axis for it. */
static bool is_of_rows(const ht_body *x, const ht_body *var)
{
    bool same = var->ndim == x->ndim - 1;

    for (int i = 0; same && i < var->ndim; i++)
        same = var->shape[i] == x->shape[i];
    return same;
}

/* var, which broadcasts to x along one axis at most. */
static ht_tensor *variances(const char *what, const ht_body *x, ht_tensor *var)
{
    if (is_of_rows(x, var->body))
        return ht_expand_dims(var, x->ndim - 1);
    if (var->body->ndim == x->ndim && broadcasts(x, var->body, 1))
        return var;
    HT_FAIL(x->comm, HT_ERR_SHAPE, "%s: var is %s, expected the shape of x %s, or one of its rows",
            what, ht__shape_str(var->body->ndim, var->body->shape),
            ht__shape_str(x->ndim, x->shape));
    return NULL;
}

static bool check_target(const char *what, const ht_body *x, const ht_body *target)
{
    if (broadcasts(x, target, HT_MAX_NDIM))
        return true;
    HT_FAIL(x->comm, HT_ERR_SHAPE,
            "%s: x is %s, target is %s, expected a shape that broadcasts to that of x", what,
            ht__shape_str(x->ndim, x->shape), ht__shape_str(target->ndim, target->shape));
    return false;
}

/* Whether no variance is below 0; every rank learns of it. */
static bool check_positive(const char *what, ht_tensor *var)
{
    double below = 0;

    if (ht__item(what, ht_any(ht_lt(ht_detach(var), ht_scalar(0)), HT_NONE), &below) != HT_SUCCESS)
        return false;
    if (below != 0)
        HT_FAIL(var->body->comm, HT_ERR_ARGUMENT,
                "%s: an element of var is below 0, expected at least 0", what);
    return below == 0;
}

ht_tensor *ht_gaussian_nll_loss(ht_tensor *x, ht_tensor *target, ht_tensor *var, bool full,
                                double eps, ht_reduction_mode reduction)
{
    const char *what = "ht_gaussian_nll_loss";
    ht_tensor *in[] = {x, target, var}, *difference, *losses;
    ht_dtype dtype;

    if (!HT_PREPARE(what, rules, in) || !ht__check_reduction(what, in[0], reduction) ||
        !check_target(what, in[0]->body, in[1]->body) ||
        !ht__check_parameter(what, in[0], eps > 0, "eps", eps, "a value above 0"))
        return NULL;
    var = variances(what, in[0]->body, in[2]);
    if (var == NULL || !check_positive(what, var))
        return NULL;
    dtype = ht_promote_types(in[0]->body->dtype,
                             ht_promote_types(in[1]->body->dtype, var->body->dtype));
    var = ht__wide(var);
    /* max(var, eps), whose gradient is that of var everywhere. */
    var = ht_add(var, ht_sub(ht_clip(ht_detach(var), eps, INFINITY), ht_detach(var)));
    difference = ht_sub(ht__wide(in[0]), ht__wide(in[1]));
    losses = ht_add(ht_log(var), ht_div(ht_mul(difference, difference), var));
    losses = ht_mul_scalar(losses, 0.5);
    if (full)
        losses = ht_add_scalar(losses, 0.5 * log(2 * M_PI));
    return ht__reduce_losses(ht_astype(losses, dtype), reduction);
}

/* t log t, 0 for 0. */
static ht_tensor *entropy(ht_tensor *target)
{
    ht_tensor *zero = ht_eq(target, ht_scalar(0));
    ht_tensor *t = ht_where(zero, ht_scalar(1), target);

    return ht_mul(t, ht_log(t));
}

ht_tensor *ht_kl_div(ht_tensor *x, ht_tensor *target, bool log_target, ht_reduction_mode reduction)
{
    const bool of_batch = reduction == HT_BATCH_MEAN;
    ht_tensor *in[] = {x, target}, *losses, *sum;
    int64_t rows;

    if (!prepare("ht_kl_div", in, of_batch ? HT_SUM : reduction))
        return NULL;
    x = in[0], target = in[1];
    losses = log_target ? ht_mul(ht_exp(target), ht_sub(target, x))
                        : ht_sub(entropy(target), ht_mul(target, x));
    if (!of_batch)
        return ht__reduce_losses(losses, reduction);
    rows = x->body->ndim > 0 ? x->body->shape[0] : 1;
    if (losses == NULL)
        return NULL;
    /* float16 holds neither large sums nor large numbers of rows. */
    sum = ht_div_scalar(ht_sum(ht__wide(losses), HT_NONE), (double)(rows > 0 ? rows : 1));
    return ht_astype(sum, losses->body->dtype);
}

/* SPDX-License-Identifier: MIT
 *
 * Losses of answers that are yes or no, by differentiable operations. */
#include <math.h>

#include "core/ops/ops.h"
#include "ht/activations.h"
#include "ht/arithmetics.h"
#include "ht/exponential.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/relational.h"
#include "ht/rounding.h"
#include "ht/statistics.h"
#include "nn/functional/functional.h"
#include "nn/functional/losses/losses.h"

enum { X, TARGET, WEIGHT, POS_WEIGHT, OPERANDS };

static const ht_operand_rule rules[OPERANDS] = {
    {"x", .dtype = HT_DTYPE_FLOATING, .cast = HT_CAST_HIGH},
    {"target", .dtype = HT_DTYPE_REAL, .cast = HT_CAST_HIGH},
    {"weight", .dtype = HT_DTYPE_REAL, .cast = HT_CAST_HIGH, .presence = HT_OPTIONAL},
    {"pos_weight", .dtype = HT_DTYPE_REAL, .cast = HT_CAST_HIGH, .presence = HT_OPTIONAL},
};

/* The first `count` operands, checked and cast. */
static bool prepare(const char *what, int count, ht_tensor *in[], ht_reduction_mode reduction)
{
    return ht__prepare(what, rules, count, in) && ht__check_reduction(what, in[X], reduction) &&
           ht__check_one_shape(what, "x", in[X], "target", in[TARGET]);
}

/* losses times factor, which broadcasts to the shape of x; or losses, where it is NULL. */
static ht_tensor *times(const char *what, const char *name, ht_tensor *losses, ht_tensor *factor)
{
    const ht_body *body = losses != NULL ? losses->body : NULL;

    if (body == NULL || factor == NULL)
        return losses;
    return ht_mul(losses, ht__broadcast_to(what, name, factor, body->ndim, body->shape));
}

/* The logarithms of x and 1 - x are at least -100. In the gradient, PyTorch divides by at least
 * 1e-12, rounded to float. So the value is computed of a constant, and the gradient comes from a
 * term that is 0. x of 16 bits comes as float32, because float16 lacks 1e-12. */
static ht_tensor *of_probabilities(ht_tensor *x, ht_tensor *target)
{
    ht_tensor *p = ht_detach(x), *no = ht_clip(ht_log1p(ht_neg(p)), -100, INFINITY), *losses;

    losses = ht_sub(ht_mul(ht_sub_scalar(target, 1), no),
                    ht_mul(target, ht_clip(ht_log(p), -100, INFINITY)));
    if (ht__records(x)) {
        ht_tensor *spread = ht_clip(ht_mul(p, ht_sub(ht_scalar(1), p)), 1e-12F, INFINITY);
        ht_tensor *slope = ht_div(ht_sub(p, ht_detach(target)), spread);

        losses = ht_add(losses, ht_mul(ht_sub(x, p), slope));
    }
    return losses;
}

ht_tensor *ht_binary_cross_entropy(ht_tensor *x, ht_tensor *target, ht_tensor *weight,
                                   ht_reduction_mode reduction)
{
    const char *what = "ht_binary_cross_entropy";
    ht_tensor *in[] = {x, target, weight}, *losses;
    ht_dtype dtype;

    if (!prepare(what, 3, in, reduction))
        return NULL;
    dtype = ht_promote_types(in[X]->body->dtype, in[TARGET]->body->dtype);
    losses = ht_astype(of_probabilities(ht__wide(in[X]), in[TARGET]), dtype);
    return ht__reduce_losses(times(what, "weight", losses, in[WEIGHT]), reduction);
}

/* (1 - target) x - log_sigmoid(x), or with the logarithm times (pos_weight - 1) target + 1. */
static ht_tensor *of_logits(const char *what, ht_tensor *x, ht_tensor *target,
                            ht_tensor *pos_weight)
{
    ht_tensor *logarithm = ht_logsigmoid(x);

    if (pos_weight != NULL) {
        ht_tensor *factor = ht__broadcast_to(what, "pos_weight", pos_weight, x->body->ndim,
                                             x->body->shape);

        factor = ht_add_scalar(ht_mul(target, ht_sub_scalar(factor, 1)), 1);
        logarithm = ht_mul(logarithm, factor);
    }
    return ht_sub(ht_mul(ht_sub(ht_scalar(1), target), x), logarithm);
}

ht_tensor *ht_binary_cross_entropy_with_logits(ht_tensor *x, ht_tensor *target, ht_tensor *weight,
                                               ht_tensor *pos_weight, ht_reduction_mode reduction)
{
    const char *what = "ht_binary_cross_entropy_with_logits";
    ht_tensor *in[] = {x, target, weight, pos_weight}, *losses;

    if (!prepare(what, OPERANDS, in, reduction))
        return NULL;
    losses = of_logits(what, in[X], in[TARGET], in[POS_WEIGHT]);
    return ht__reduce_losses(times(what, "weight", losses, in[WEIGHT]), reduction);
}

ht_tensor *ht_soft_margin_loss(ht_tensor *x, ht_tensor *target, ht_reduction_mode reduction)
{
    ht_tensor *in[] = {x, target};

    if (!prepare("ht_soft_margin_loss", 2, in, reduction))
        return NULL;
    return ht__reduce_losses(ht_softplus(ht_neg(ht_mul(in[TARGET], in[X])), 1, INFINITY),
                             reduction);
}

ht_tensor *ht_multilabel_soft_margin_loss(ht_tensor *x, ht_tensor *target, ht_tensor *weight,
                                          ht_reduction_mode reduction)
{
    const char *what = "ht_multilabel_soft_margin_loss";
    ht_tensor *in[] = {x, target, weight}, *losses;

    if (!prepare(what, 3, in, reduction))
        return NULL;
    if (in[X]->body->ndim == 0) {
        HT_FAIL(in[X]->body->comm, HT_ERR_SHAPE, "%s: x is a scalar, expected (C) or (N, C)", what);
        return NULL;
    }
    losses = of_logits(what, in[X], in[TARGET], NULL);
    return ht__reduce_losses(ht_mean(times(what, "weight", losses, in[WEIGHT]), -1), reduction);
}

ht_tensor *ht_hinge_embedding_loss(ht_tensor *x, ht_tensor *target, double margin,
                                   ht_reduction_mode reduction)
{
    ht_tensor *in[] = {x, target}, *near, *far;

    if (!prepare("ht_hinge_embedding_loss", 2, in, reduction))
        return NULL;
    x = in[X], target = in[TARGET];
    near = ht_where(ht_ne(target, ht_scalar(-1)), x, ht_scalar(0));
    far = ht_where(ht_ne(target, ht_scalar(1)), ht_relu(ht_sub(ht_scalar(margin), x)),
                   ht_scalar(0));
    return ht__reduce_losses(ht_add(near, far), reduction);
}

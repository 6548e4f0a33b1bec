/* SPDX-License-Identifier: MIT
 *
 * Kinds of dropout that are a factor: a tensor of ones, dropped out, for whole channels or with
 * the values that keep a self-normalising network's mean and variance. */
#include <math.h>

#include "ht/arithmetics.h"
#include "nn/functional/dropout.h"
#include "nn/functional/functional.h"

#define X_OF(axes, split)                                                             \
    {                                                                                 \
        "x", axes, HT_DTYPE_FLOATING, split, HT_LAYOUT_ANY, HT_CAST_NONE, HT_REQUIRED \
    }

static const ht_operand_rule any[] = {X_OF(NULL, HT_SPLIT_ANY)};
static const ht_operand_rule channels[] = {X_OF("NC*", HT_SPLIT_BATCH)};

/* Zero with probability p, else 1 / (1 - p): (x.shape[0], ..., x.shape[axes - 1], 1, ...). */
static ht_tensor *factor(const char *what, const ht_tensor *x, int axes, double p, uint64_t seed,
                         uint64_t draw)
{
    const bool was = ht_set_grad_enabled(false);
    int64_t shape[HT_MAX_NDIM] = {0};
    ht_tensor *ones;

    for (int i = 0; i < x->body->ndim; i++)
        shape[i] = i < axes ? x->body->shape[i] : 1;
    ones = ht__batch_result(what, x, x->body->dtype, x->body->ndim, shape);
    if (ones != NULL && ht_fill_(ones, 1.0) == HT_SUCCESS)
        ones = ht_dropout(ones, p, seed, draw);
    else
        ones = NULL;
    ht_set_grad_enabled(was);
    return ones;
}

ht_tensor *ht_dropout2d(ht_tensor *x, double p, uint64_t seed, uint64_t draw)
{
    if (!HT_PREPARE("ht_dropout2d", channels, &x) || !ht__check_probability("ht_dropout2d", x, p))
        return NULL;
    return p == 0 ? x : ht_mul(x, factor("ht_dropout2d", x, 2, p, seed, draw));
}

/* Channels before `inner` axes, with an axis of batches before them or without. */
static ht_tensor *drop_channels(const char *what, ht_tensor *x, int inner, double p, uint64_t seed,
                                uint64_t draw)
{
    const char *expected = inner == 1 ? "(N, C, L) or (C, L)" : "(N, C, D, H, W) or (C, D, H, W)";
    int axes;

    if (!HT_PREPARE(what, any, &x) || !ht__check_probability(what, x, p))
        return NULL;
    axes = x->body->ndim - inner;
    if (axes != 1 && axes != 2) {
        HT_FAIL(x->body->comm, HT_ERR_SHAPE, "%s: x is %s, expected %s", what,
                ht__shape_str(x->body->ndim, x->body->shape), expected);
        return NULL;
    }
    if (x->body->split != HT_NONE && x->body->split >= axes) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                "%s: x is split along axis %d, expected a split of batches or channels", what,
                x->body->split);
        return NULL;
    }
    return p == 0 ? x : ht_mul(x, factor(what, x, axes, p, seed, draw));
}

ht_tensor *ht_dropout1d(ht_tensor *x, double p, uint64_t seed, uint64_t draw)
{
    return drop_channels("ht_dropout1d", x, 1, p, seed, draw);
}

ht_tensor *ht_dropout3d(ht_tensor *x, double p, uint64_t seed, uint64_t draw)
{
    return drop_channels("ht_dropout3d", x, 3, p, seed, draw);
}

/* a (x or -alpha) + a alpha p: the limit of SELU at minus infinity takes the place of zero, and a
 * and the sum give the result the mean and variance of x. */
static ht_tensor *drop_alpha(const char *what, ht_tensor *x, int axes, double p, uint64_t seed,
                             uint64_t draw)
{
    const double alpha = 1.7580993408473766, keep = 1 - p;
    const double a = 1 / sqrt((alpha * alpha * p + 1) * keep);
    ht_tensor *kept, *instead;

    if (p == 0 || p == 1)
        return p == 0 ? x : ht_mul_scalar(x, 0);
    kept = ht_mul_scalar(factor(what, x, axes, p, seed, draw), a * keep);
    instead = ht_add_scalar(ht_mul_scalar(kept, alpha), a * alpha * p - a * alpha);
    return ht_add(ht_mul(x, kept), instead);
}

ht_tensor *ht_alpha_dropout(ht_tensor *x, double p, uint64_t seed, uint64_t draw)
{
    if (!HT_PREPARE("ht_alpha_dropout", any, &x) ||
        !ht__check_probability("ht_alpha_dropout", x, p))
        return NULL;
    return drop_alpha("ht_alpha_dropout", x, x->body->ndim, p, seed, draw);
}

ht_tensor *ht_feature_alpha_dropout(ht_tensor *x, double p, uint64_t seed, uint64_t draw)
{
    if (!ht__prepare("ht_feature_alpha_dropout", p == 0 || p == 1 ? any : channels, 1, &x) ||
        !ht__check_probability("ht_feature_alpha_dropout", x, p))
        return NULL;
    return drop_alpha("ht_feature_alpha_dropout", x, 2, p, seed, draw);
}

/* SPDX-License-Identifier: MIT
 *
 * Margins between the classes of a row, by masks of its targets. */
#include "core/ops/ops.h"
#include "ht/activations.h"
#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/logical.h"
#include "ht/manipulations.h"
#include "ht/relational.h"
#include "ht/statistics.h"
#include "nn/functional/functional.h"
#include "nn/functional/losses/losses.h"

enum { X, TARGET, WEIGHT, OPERANDS };

static const ht_operand_rule rules[OPERANDS] = {
    {"x", NULL, HT_DTYPE_FLOATING, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_REQUIRED},
    {"target", NULL, HT_DTYPE_INTEGER, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_INDEX, HT_REQUIRED},
    {"weight", "C", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_OPTIONAL},
};

static bool check_rows(const char *what, const ht_body *x, const ht_body *target, bool per_class)
{
    const int ndim = per_class ? x->ndim : x->ndim - 1;
    bool fits = (x->ndim == 1 || x->ndim == 2) && target->ndim == ndim;

    for (int i = 0; fits && i < ndim; i++)
        fits = target->shape[i] == x->shape[i];
    if (!fits)
        HT_FAIL(x->comm, HT_ERR_SHAPE, "%s: x is %s, target is %s, expected (N, C) and %s", what,
                ht__shape_str(x->ndim, x->shape), ht__shape_str(target->ndim, target->shape),
                per_class ? "(N, C)" : "(N)");
    return fits;
}

/* A scalar is one class. */
static ht_tensor *with_axis(ht_tensor *x)
{
    return x->body->ndim == 0 ? ht_expand_dims(x, 0) : x;
}

/* The targets are classes of x, or from `least` on; every rank learns of it. */
static bool check_classes(const char *what, ht_tensor *target, int64_t least, int64_t classes)
{
    ht_tensor *outside = ht_logical_or(ht_lt(target, ht_scalar_ext(HT_NUM(least))),
                                       ht_ge(target, ht_scalar_ext(HT_NUM(classes))));
    double bad = 0;

    if (ht__item(what, ht_any(outside, HT_NONE), &bad) != HT_SUCCESS)
        return false;
    if (bad != 0)
        HT_FAIL(target->body->comm, HT_ERR_ARGUMENT,
                "%s: target has an element out of range, expected one of %lld classes", what,
                (long long)classes);
    return bad == 0;
}

/* 0, 1, ... on the ranks and the device of x. */
static ht_tensor *classes_of(const ht_body *x, int64_t count)
{
    return ht_arange_ext(HT_NUM(0), HT_NUM(count), HT_NUM(1), HT_INT64, HT_NONE, x->storage->device,
                         x->comm);
}

static ht_tensor *chosen(ht_tensor *mask, ht_tensor *x)
{
    return ht_where(mask, x, ht_scalar(0));
}

/* The classes of x against the target's one, whose mask is `own`. */
static ht_tensor *margins(ht_tensor *x, ht_tensor *own, int p, double margin, ht_tensor *weight)
{
    ht_tensor *at_target = ht_expand_dims(ht_sum(chosen(own, x), -1), -1), *missing;

    missing = ht_relu(ht_add_scalar(ht_sub(x, at_target), margin));
    if (p == 2)
        missing = ht_mul(missing, missing);
    if (weight != NULL)
        missing = ht_mul(missing, ht_expand_dims(ht_sum(chosen(own, weight), -1), -1));
    return ht_where(own, ht_scalar(0), missing);
}

ht_tensor *ht_multi_margin_loss(ht_tensor *x, ht_tensor *target, int p, double margin,
                                ht_tensor *weight, ht_reduction_mode reduction)
{
    const char *what = "ht_multi_margin_loss";
    ht_tensor *in[OPERANDS] = {x, target, weight}, *own, *losses;
    int64_t classes;

    if (!HT_PREPARE(what, rules, in) || !ht__check_reduction(what, in[X], reduction) ||
        !ht__check_parameter(what, in[X], p == 1 || p == 2, "p", p, "1 or 2"))
        return NULL;
    in[X] = with_axis(in[X]);
    if (in[X] != NULL && in[X]->body->ndim == 1 && in[TARGET]->body->ndim == 1 &&
        in[TARGET]->body->shape[0] == 1)
        in[X] = ht_expand_dims(in[X], 0);
    if (in[X] == NULL || !check_rows(what, in[X]->body, in[TARGET]->body, false))
        return NULL;
    classes = in[X]->body->shape[in[X]->body->ndim - 1];
    if (in[WEIGHT] != NULL && in[WEIGHT]->body->shape[0] != classes) {
        HT_FAIL(in[X]->body->comm, HT_ERR_SHAPE, "%s: weight has %lld elements, expected %lld",
                what, (long long)in[WEIGHT]->body->shape[0], (long long)classes);
        return NULL;
    }
    if (!check_classes(what, in[TARGET], 0, classes))
        return NULL;
    own = ht_eq(classes_of(in[X]->body, classes), ht_expand_dims(in[TARGET], -1));
    losses = ht_mean(margins(ht__wide(in[X]), own, p, margin, in[WEIGHT]), -1);
    losses = ht_astype(losses, in[X]->body->dtype);
    return ht__reduce_losses(losses, reduction);
}

/* For rows (N, C): masks (N, j, i) of the classes i that are target j, which count up to the first
 * -1; the sum is over both. */
static ht_tensor *multilabel(ht_tensor *x, ht_tensor *target)
{
    ht_tensor *counts = ht_ge(target, ht_scalar(0)), *is, *any, *at_target, *missing, *counted;

    counts = ht_gt(ht_cumprod(ht_astype(counts, HT_INT64), 1), ht_scalar(0));
    is = ht_eq(ht_expand_dims(target, 2), classes_of(x->body, x->body->shape[1]));
    is = ht_logical_and(is, ht_expand_dims(counts, 2));
    any = ht_expand_dims(ht_any(is, 1), 1);
    at_target = ht_expand_dims(ht_sum(chosen(is, ht_expand_dims(x, 1)), 2), 2);
    missing = ht_relu(ht_sub(ht_scalar(1), ht_sub(at_target, ht_expand_dims(x, 1))));
    counted = ht_logical_and(ht_expand_dims(counts, 2), ht_logical_not(any));
    return ht_mean(ht_sum(chosen(counted, missing), 2), 1);
}

ht_tensor *ht_multilabel_margin_loss(ht_tensor *x, ht_tensor *target, ht_reduction_mode reduction)
{
    const char *what = "ht_multilabel_margin_loss";
    ht_tensor *in[OPERANDS] = {x, target}, *losses;
    bool single;

    if (!ht__prepare(what, rules, 2, in) || !ht__check_reduction(what, in[X], reduction))
        return NULL;
    if (in[X]->body->ndim < 2) {
        in[X] = with_axis(in[X]);
        in[TARGET] = with_axis(in[TARGET]);
    }
    if (in[X] == NULL || in[TARGET] == NULL ||
        !check_rows(what, in[X]->body, in[TARGET]->body, true))
        return NULL;
    single = in[X]->body->ndim == 1;
    if (!check_classes(what, in[TARGET], -1, in[X]->body->shape[single ? 0 : 1]))
        return NULL;
    losses = single ? ht_squeeze(
                          multilabel(ht_expand_dims(in[X], 0), ht_expand_dims(in[TARGET], 0)), 0)
                    : multilabel(in[X], in[TARGET]);
    return ht__reduce_losses(losses, reduction);
}

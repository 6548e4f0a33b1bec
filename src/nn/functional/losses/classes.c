/* SPDX-License-Identifier: MIT
 *
 * Negative log likelihood and cross entropy with weights of classes, ignored samples, smoothed
 * labels, probabilities as targets, and axes behind the classes. Samples become rows, whose losses
 * come from the kernel of nll.c. */
#include "nn/functional/losses/nll.h"

#include "core/ops/ops.h"

#include "ht/activations.h"
#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/manipulations.h"
#include "ht/relational.h"
#include "ht/statistics.h"
#include "nn/functional/functional.h"
#include "nn/functional/losses/losses.h"

enum { X, TARGET, WEIGHT, OPERANDS };

static const ht_operand_rule nll_rules[OPERANDS] = {
    {"log_probs", NULL, HT_DTYPE_FLOATING, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_REQUIRED},
    {"target", NULL, HT_DTYPE_INTEGER, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_INDEX, HT_REQUIRED},
    {"weight", "C", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_OPTIONAL},
};
static const ht_operand_rule entropy_rules[OPERANDS] = {
    {"logits", NULL, HT_DTYPE_FLOATING, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_REQUIRED},
    {"target", NULL, HT_DTYPE_INTEGER, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_INDEX, HT_REQUIRED},
    {"weight", "C", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_OPTIONAL},
};
static const ht_operand_rule probability_rules[OPERANDS] = {
    {"logits", NULL, HT_DTYPE_FLOATING, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_REQUIRED},
    {"target", NULL, HT_DTYPE_FLOATING, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_REQUIRED},
    {"weight", "C", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_OPTIONAL},
};

ht_class_loss_options ht_class_loss_options_default(void)
{
    return (ht_class_loss_options){
        .size = sizeof(ht_class_loss_options), .ignore_index = -100, .reduction = HT_MEAN};
}

/* The axis of the classes: 0 without a batch. */
static int class_axis(const ht_body *x)
{
    return x->ndim > 1 ? 1 : 0;
}

static bool check_weight(const char *what, const ht_operand_rule rules[], ht_tensor *const in[])
{
    const ht_body *x = in[X]->body, *weight = in[WEIGHT] != NULL ? in[WEIGHT]->body : NULL;

    if (x->ndim == 0 || (x->split != HT_NONE && (x->split != 0 || x->ndim == 1))) {
        HT_FAIL(x->comm, x->ndim == 0 ? HT_ERR_SHAPE : HT_ERR_ARGUMENT,
                "%s: %s is %s, split %d, expected (C) or (N, C, ...), split along N or not", what,
                rules[X].name, ht__shape_str(x->ndim, x->shape), x->split);
        return false;
    }
    if (weight == NULL || weight->shape[0] == x->shape[class_axis(x)])
        return true;
    HT_FAIL(x->comm, HT_ERR_SHAPE,
            "%s: weight has %lld elements, expected %lld, a factor for each class", what,
            (long long)weight->shape[0], (long long)x->shape[class_axis(x)]);
    return false;
}

/* The target has an element for each sample: the axes of x but that of the classes. */
static bool check_samples(const char *what, const char *name, const ht_body *x,
                          const ht_body *target)
{
    const int axis = class_axis(x);
    bool fits = target->ndim == x->ndim - 1;

    for (int i = 0; fits && i < target->ndim; i++)
        fits = target->shape[i] == x->shape[i < axis ? i : i + 1];
    if (!fits)
        HT_FAIL(x->comm, HT_ERR_SHAPE,
                "%s: %s is %s, target is %s, expected (N, C, ...) and (N, ...)", what, name,
                ht__shape_str(x->ndim, x->shape), ht__shape_str(target->ndim, target->shape));
    return fits;
}

static bool prepare(const char *what, const ht_operand_rule rules[], ht_tensor *in[],
                    const ht_class_loss_options *o)
{
    return ht__prepare(what, rules, OPERANDS, in) &&
           HT_CHECK_OPTIONS(in[X]->body->comm, what, o, ht_class_loss_options) == HT_SUCCESS &&
           ht__check_reduction(what, in[X], o->reduction) &&
           ht__check_parameter(what, in[X], o->label_smoothing >= 0 && o->label_smoothing <= 1,
                               "label_smoothing", o->label_smoothing, "a number from 0 to 1") &&
           check_weight(what, rules, in);
}

/* x (N, C, d1, ...) as (N d1 ..., C). */
static ht_tensor *as_rows(ht_tensor *x)
{
    const ht_body *body = x->body;
    const int64_t classes = body->shape[class_axis(body)];
    int64_t rows = 1;

    if (body->ndim == 1)
        return ht_expand_dims(x, 0);
    if (body->ndim == 2)
        return x;
    for (int i = 0; i < body->ndim; i++)
        rows *= i != 1 ? body->shape[i] : 1;
    x = ht_moveaxis(x, 1, (int[]){1}, 1, (int[]){-1});
    return ht_reshape(x, HT_SHAPE(rows, classes));
}

/* Samples in a row: their losses, and their weights or NULL if nothing reads them. */
typedef struct samples {
    ht_tensor *losses, *weights;
} samples;

/* The weights of the target's classes, 0 of ignored ones. */
static ht_tensor *sample_weights(ht_tensor *target, ht_tensor *weight, int64_t ignore,
                                 ht_dtype dtype)
{
    ht_tensor *used = ht_ne(target, ht_scalar_ext(HT_NUM(ignore)));

    if (weight == NULL)
        return ht_astype(used, dtype);
    return ht_where(used, ht_take(weight, ht_where(used, target, ht_scalar(0)), 0), ht_scalar(0));
}

/* -sum over the classes of weight x. */
static ht_tensor *class_sums(ht_tensor *rows, ht_tensor *weight)
{
    return ht_neg(ht_sum(weight != NULL ? ht_mul(rows, weight) : rows, -1));
}

static samples of_classes(const char *what, ht_tensor *rows, ht_tensor *target,
                          const ht_class_loss_options *o, ht_tensor *weight)
{
    const double part = o->label_smoothing;
    const int64_t classes = rows->body->shape[1];
    const bool counts = weight != NULL || o->reduction == HT_MEAN; /* else nothing reads weights */
    samples s = {.losses = ht__nll_of_rows(what, rows, target, o->ignore_index)};

    if (s.losses == NULL)
        return s;
    target = ht__match_slabs(what, target, s.losses->body);
    if (counts) {
        s.weights = sample_weights(target, weight, o->ignore_index, rows->body->dtype);
        if (weight != NULL || s.weights == NULL) /* NULL after an error, which the losses pass on */
            s.losses = ht_mul(s.losses, s.weights);
    }
    if (part > 0) {
        ht_tensor *used = ht_ne(target, ht_scalar_ext(HT_NUM(o->ignore_index)));
        ht_tensor *even = ht_where(used, class_sums(rows, weight), ht_scalar(0));

        s.losses = ht_add(ht_mul_scalar(s.losses, 1 - part),
                          ht_mul_scalar(even, part / (double)classes));
    }
    return s;
}

/* The losses in the shape of the samples, or as one number. */
static ht_tensor *reduced(const samples *s, const ht_body *x, ht_reduction_mode reduction)
{
    const int axis = class_axis(x);
    int64_t shape[HT_MAX_NDIM];

    if (s->losses == NULL)
        return NULL;
    if (reduction == HT_NO_REDUCTION) {
        for (int i = 0; i < x->ndim - 1; i++)
            shape[i] = x->shape[i < axis ? i : i + 1];
        return x->ndim == 2 ? s->losses
                            : ht__without_base(ht_reshape(s->losses, x->ndim - 1, shape));
    }
    if (reduction == HT_MEAN && s->weights != NULL && ht_tensor_size(s->losses) > 0)
        return ht_div(ht_sum(s->losses, HT_NONE), ht_sum(s->weights, HT_NONE));
    return ht__reduce_losses(s->losses, reduction);
}

static ht_tensor *nll(const char *name, ht_tensor *log_probs, ht_tensor *const in[],
                      const ht_class_loss_options *o)
{
    const ht_body *x = in[X]->body;
    samples s;

    if (log_probs == NULL ||
        !check_samples(name, in[X] == log_probs ? "log_probs" : "logits", x, in[TARGET]->body))
        return NULL;
    log_probs = as_rows(log_probs);
    if (log_probs == NULL)
        return NULL;
    s = of_classes(name, log_probs, ht_reshape(in[TARGET], 1, &log_probs->body->shape[0]), o,
                   in[WEIGHT]);
    return reduced(&s, x, o->reduction);
}

ht_tensor *ht_nll_loss_ext(ht_tensor *log_probs, ht_tensor *target,
                           const ht_class_loss_options *options)
{
    ht_class_loss_options o = options != NULL ? *options : ht_class_loss_options_default();
    ht_tensor *in[OPERANDS] = {log_probs, target, o.weight};

    if (!prepare("ht_nll_loss_ext", nll_rules, in, &o) ||
        !ht__check_parameter("ht_nll_loss_ext", in[X], o.label_smoothing == 0, "label_smoothing",
                             o.label_smoothing, "0, because only cross entropy smooths labels"))
        return NULL;
    return nll("ht_nll_loss_ext", in[X], in, &o);
}

/* No class is ignored if targets are probabilities. */
static bool check_ignored(const char *what, const ht_body *x, int64_t ignore)
{
    if (ignore < 0)
        return true;
    HT_FAIL(x->comm, HT_ERR_ARGUMENT,
            "%s: ignore_index is %lld, expected a number below 0 when target holds probabilities",
            what, (long long)ignore);
    return false;
}

/* -sum over the classes of weight target log_softmax(logits). */
static ht_tensor *of_probabilities(const char *what, ht_tensor *in[],
                                   const ht_class_loss_options *o)
{
    const ht_body *x = in[X]->body;
    const int64_t classes = x->shape[class_axis(x)];
    ht_tensor *target = in[TARGET], *products;
    samples s = {.losses = NULL};

    if (!ht__check_one_shape(what, "logits", in[X], "target", target) ||
        !check_ignored(what, x, o->ignore_index))
        return NULL;
    if (o->label_smoothing > 0)
        target = ht_add_scalar(ht_mul_scalar(target, 1 - o->label_smoothing),
                               o->label_smoothing / (double)classes);
    products = ht_mul(ht_log_softmax(in[X], class_axis(x)), target);
    if (products == NULL)
        return NULL;
    s.losses = class_sums(as_rows(products), in[WEIGHT]);
    return reduced(&s, x, o->reduction);
}

ht_tensor *ht_cross_entropy_ext(ht_tensor *logits, ht_tensor *target,
                                const ht_class_loss_options *options)
{
    const char *what = "ht_cross_entropy_ext";
    ht_class_loss_options o = options != NULL ? *options : ht_class_loss_options_default();
    ht_tensor *in[OPERANDS] = {logits, target, o.weight};

    if (!HT_IS_NULL(target, what, "target") && ht_dtype_is_floating(target->body->dtype))
        return prepare(what, probability_rules, in, &o) ? of_probabilities(what, in, &o) : NULL;
    if (!prepare(what, entropy_rules, in, &o))
        return NULL;
    return nll(what, ht_log_softmax(in[X], class_axis(in[X]->body)), in, &o);
}

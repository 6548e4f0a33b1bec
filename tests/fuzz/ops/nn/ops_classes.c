/* SPDX-License-Identifier: MIT
 *
 * Losses of classes with weights, ignored samples and smoothed labels; of margins between classes.
 */
#include <string.h>

#include "fuzz/ops/nn/ops_layers.h"

enum { LIKELIHOOD, ENTROPY, MARGIN, LABELS, LOSSES };                        /* n[0] */
enum { WEIGHTED = 1, IGNORED = 2, SMOOTHED = 4, SQUARED = 8 };               /* n[2] */
static const ht_reduction_mode modes[] = {HT_MEAN, HT_SUM, HT_NO_REDUCTION}; /* n[1] */
enum { MOST = 60, IGNORE = 0 };
static const double smoothing = 0.25, margin = 0.75;

struct rows {
    struct run *run;
    const struct statement *s;
    const struct array *x;
    int64_t count, classes, inner; /* samples; inner of them for each of N */
};

static bool has_classes(struct run *run, const struct variable *x)
{
    return (x->a.ndim == 2 || x->a.ndim == 3) && is_tame(run, x, 8) && array_size(&x->a) <= MOST &&
           x->a.shape[1] > 0;
}

static bool generate_classes(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, has_classes);
    if (s->arg[0] < 0)
        return false;
    s->n[0] = random_below(&run->random, array_of(run, s, 0)->ndim == 2 ? LOSSES : MARGIN);
    s->n[1] = random_below(&run->random, 3);
    s->n[2] = random_below(&run->random, 16);
    return true;
}

static bool fits(struct run *run, const struct statement *s)
{
    return has_classes(run, &run->vars[s->arg[0]]) &&
           (s->n[0] < MARGIN || array_of(run, s, 0)->ndim == 2);
}

static struct rows rows_of(struct run *run, const struct statement *s)
{
    const struct array *x = array_of(run, s, 0);
    struct rows r = {.run = run, .s = s, .x = x, .classes = x->shape[1], .inner = 1};

    r.inner = x->ndim == 3 ? x->shape[2] : 1;
    r.count = x->shape[0] * r.inner;
    return r;
}

static struct number logit(const struct rows *r, int64_t row, int64_t c)
{
    return array_at(r->x, (row / r->inner * r->classes + c) * r->inner + row % r->inner);
}

static int64_t class_of(const struct rows *r, int64_t row)
{
    return choice(r->s, (int)(100 + row), r->classes);
}

/* Element c of the targets of a row of labels: classes, then -1 and anything. */
static int64_t label_of(const struct rows *r, int64_t row, int64_t c)
{
    return c < choice(r->s, (int)(300 + row), r->classes + 1) ? (class_of(r, row) + c) % r->classes
                                                              : -1;
}

static double class_weight(const struct rows *r, int64_t c)
{
    return r->s->n[2] & WEIGHTED ? (own_number(r->s, r->x->dtype, 0, c).re + 3) * 0.25 : 1;
}

static struct outcome call_classes(struct run *run, const struct statement *s)
{
    ht_class_loss_options options = ht_class_loss_options_default();
    ht_tensor *x = tensor_of(run, s, 0), *target;
    int64_t classes[MOST], shape[2];
    struct rows r;

    if (!fits(run, s))
        return done(HT_SUCCESS);
    r = rows_of(run, s);
    for (int64_t i = 0; i < r.count; i++)
        classes[i] = class_of(&r, i);
    for (int64_t i = 0; s->n[0] == LABELS && i < r.count * r.classes; i++)
        classes[i] = label_of(&r, i / r.classes, i % r.classes);
    shape[0] = r.x->shape[0];
    shape[1] = s->n[0] == LABELS ? r.classes : r.inner;
    target = ht_array(classes, r.x->ndim - (s->n[0] == LABELS ? 0 : 1), shape, HT_INT64,
                      s->n[2] & IGNORED ? 0 : HT_NONE);
    if (s->n[2] & WEIGHTED)
        options.weight = ht_mul_scalar(ht_add_scalar(own_list(s, r.x->dtype, 0, 1, &r.classes), 3),
                                       0.25);
    options.ignore_index = s->n[2] & IGNORED ? IGNORE : -100;
    options.reduction = modes[s->n[1]];
    options.label_smoothing = s->n[0] == ENTROPY && s->n[2] & SMOOTHED ? smoothing : 0;
    if (s->n[0] == LABELS)
        return made(ht_multilabel_margin_loss(x, target, options.reduction));
    if (s->n[0] == MARGIN)
        return made(ht_multi_margin_loss(x, target, s->n[2] & SQUARED ? 2 : 1, margin,
                                         options.weight, options.reduction));
    return made(s->n[0] == ENTROPY ? ht_cross_entropy_ext(x, target, &options)
                                   : ht_nll_loss_ext(x, target, &options));
}

/* --- One sample --- */

/* log_softmax_at for any place of the classes. */
static struct number log_share(const struct rows *r, int64_t row, int64_t c)
{
    const ht_dtype d = r->x->dtype;
    struct number most = {.re = -INFINITY}, sum = {0}, a;

    for (int64_t k = 0; k < r->classes; k++)
        most.re = fmax(most.re, logit(r, row, k).re);
    for (int64_t k = 0; k < r->classes; k++)
        sum = soft_add(d, sum, soft_exp(d, soft_sub(d, logit(r, row, k), most)));
    a = soft_sub(d, soft_sub(d, logit(r, row, c), most), soft_log(d, sum));
    a.err += 16 * eps_of(d) * (1 + fabs(most.re));
    return a;
}

static struct number entropy_at(const struct rows *r, int64_t row, int64_t class)
{
    const ht_dtype d = r->x->dtype;
    const double even = r->s->n[2] & SMOOTHED ? smoothing / (double)r->classes : 0;
    const double rest = r->s->n[2] & SMOOTHED ? 1 - smoothing : 1;
    struct number sum = {0};

    for (int64_t c = 0; c < r->classes; c++) {
        const double share = class_weight(r, c) * (even + (c == class ? rest : 0));

        if (share > 0)
            sum = soft_add(d, sum, soft_mul(d, log_share(r, row, c), exactly(-share)));
    }
    return sum;
}

/* max(0, a)^p; slope 0 or 1 at 0, which is left open. */
static struct number hinge(const struct rows *r, struct number a)
{
    if (is_unknown(a) || fabs(a.re) <= a.err)
        return number_unknown();
    if (a.re < 0)
        return exactly(0);
    return r->s->n[0] == MARGIN && r->s->n[2] & SQUARED ? soft_mul(r->x->dtype, a, a) : a;
}

static struct number margin_at(const struct rows *r, int64_t row, int64_t class)
{
    const ht_dtype d = r->x->dtype;
    struct number sum = {0};

    for (int64_t c = 0; c < r->classes; c++) {
        struct number a = soft_sub(d, exactly(margin), logit(r, row, class));

        if (c == class)
            continue;
        a = hinge(r, soft_add(d, a, logit(r, row, c)));
        sum = soft_add(d, sum, soft_mul(d, a, exactly(class_weight(r, class))));
    }
    return soft_div(d, sum, exactly((double)r->classes));
}

static struct number labels_at(const struct rows *r, int64_t row)
{
    const ht_dtype d = r->x->dtype;
    struct number sum = {0};
    bool is_target[MOST] = {false};
    int64_t count = 0;

    while (count < r->classes && label_of(r, row, count) >= 0)
        is_target[label_of(r, row, count++)] = true;
    for (int64_t i = 0; i < count; i++)
        for (int64_t c = 0; c < r->classes; c++) {
            struct number a = soft_sub(d, exactly(1), logit(r, row, label_of(r, row, i)));

            if (!is_target[c])
                sum = soft_add(d, sum, hinge(r, soft_add(d, a, logit(r, row, c))));
        }
    return soft_div(d, sum, exactly((double)r->classes));
}

static struct number sample_at(const struct rows *r, int64_t row)
{
    const int64_t class = class_of(r, row);

    if (r->s->n[0] == LABELS)
        return labels_at(r, row);
    if (r->s->n[0] == MARGIN)
        return margin_at(r, row, class);
    if (r->s->n[2] & IGNORED && class == IGNORE)
        return exactly(0);
    if (r->s->n[0] == ENTROPY)
        return entropy_at(r, row, class);
    return soft_mul(r->x->dtype, logit(r, row, class), exactly(-class_weight(r, class)));
}

/* The divisor of the mean. */
static double divisor(const struct rows *r)
{
    double sum = 0;

    if (r->s->n[0] >= MARGIN)
        return (double)r->count;
    for (int64_t row = 0; row < r->count; row++) {
        if (!(r->s->n[2] & IGNORED && class_of(r, row) == IGNORE))
            sum += class_weight(r, class_of(r, row));
    }
    return sum;
}

static int reference_classes(struct run *run, const struct statement *s, struct array *out)
{
    struct total total = total_new();
    struct number sum;
    struct rows r;
    int64_t shape[2];

    if (!fits(run, s))
        return WANT_ANYTHING;
    if (may_refuse(run, s))
        return (int)run->status;
    r = rows_of(run, s);
    shape[0] = r.x->shape[0];
    shape[1] = r.inner;
    *out = array_new(r.x->dtype, s->n[1] == 2 ? r.x->ndim - 1 : 0, shape);
    for (int64_t row = 0; row < r.count; row++) {
        struct number a = sample_at(&r, row);

        total_add(&total, HT_FLOAT64, a);
        if (s->n[1] == 2)
            array_set(out, row, narrow(run, r.x->dtype, a, 0, 1));
    }
    if (s->n[1] == 2)
        return WANT_SUCCESS;
    sum = soft_total(r.x->dtype, &total);
    if (s->n[1] == 0 && r.count > 0)
        sum = divisor(&r) > 0 ? soft_div(r.x->dtype, sum, exactly(divisor(&r))) : exactly(NAN);
    array_set(out, 0, narrow(run, r.x->dtype, sum, 8 * eps_of(r.x->dtype) * total.size, 2));
    return WANT_SUCCESS;
}

const struct op ops_classes[] = {{"loss of classes(%t, loss %n, mode %n, flags %n, seed %x)", 12,
                                  generate_classes, call_classes, reference_classes,
                                  .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
                                 {0}};

/* SPDX-License-Identifier: MIT
 *
 * Losses of each element of x and a target, with all reductions: a row for each loss. */
#include <string.h>

#include "fuzz/ops/nn/ops_layers.h"

enum { TARGET, VARIANCE, FACTOR, POSITIVE }; /* lists of own numbers */
static const ht_reduction_mode modes[] = {HT_MEAN, HT_SUM, HT_NO_REDUCTION, HT_BATCH_MEAN};

/* n[0] a row of the table, n[1] reduction, n[2] a flag of the loss. */
struct criterion {
    const char *name;
    ht_tensor *(*call)(const struct statement *s, ht_tensor *x, ht_tensor *target);
    struct number (*at)(const struct statement *s, ht_dtype d, struct number x, struct number t,
                        int64_t i);
    enum { ANY, SIGNS, SHARES } target; /* numbers, 1 and -1, 0 to 1 */
    bool probability;                   /* x is a sigmoid of the variable */
};

/* --- Operands --- */

static const struct array *input;

/* From 0.25 to 1.25. */
static double positive_at(const struct statement *s, int list, int64_t i)
{
    return (own_number(s, HT_FLOAT64, list, i).re + 3) / 4;
}

static ht_tensor *positives(const struct statement *s, int list)
{
    ht_tensor *own = own_list(s, input->dtype, list, input->ndim, input->shape);

    return ht_mul_scalar(ht_add_scalar(own, 3), 0.25);
}

/* max(0, a), whose slope at 0 is 1. */
static struct number above_zero(struct number a)
{
    if (is_unknown(a) || (a.err > 0 && fabs(a.re) <= a.err))
        return number_unknown();
    return a.re >= 0 ? a : exactly(0);
}

/* log(1 + exp(a)) */
static struct number softplus(ht_dtype d, struct number a)
{
    struct number r = soft_log(d, soft_add(d, exactly(1), soft_exp(d, a)));

    r.err += 16 * eps_of(d) * (1 + fabs(a.re));
    return r;
}

/* --- The losses --- */

static ht_tensor *call_l1(const struct statement *s, ht_tensor *x, ht_tensor *t)
{
    return ht_l1_loss(x, t, modes[s->n[1]]);
}

static struct number l1_at(const struct statement *s, ht_dtype d, struct number x, struct number t,
                           int64_t i)
{
    (void)s;
    (void)i;
    return soft_abs(d, soft_sub(d, x, t));
}

enum { HUBER_LIMIT = 3 }; /* quarters */

static ht_tensor *call_huber(const struct statement *s, ht_tensor *x, ht_tensor *t)
{
    return s->n[2] ? ht_huber_loss(x, t, HUBER_LIMIT / 4.0, modes[s->n[1]])
                   : ht_smooth_l1_loss(x, t, HUBER_LIMIT / 4.0, modes[s->n[1]]);
}

static struct number huber_at(const struct statement *s, ht_dtype d, struct number x,
                              struct number t, int64_t i)
{
    const double limit = HUBER_LIMIT / 4.0;
    struct number a = soft_abs(d, soft_sub(d, x, t));

    (void)i;
    if (is_unknown(a) || (a.err > 0 && fabs(a.re - limit) <= a.err))
        return number_unknown();
    if (a.re <= limit)
        a = soft_mul(d, soft_mul(d, a, a), exactly(0.5));
    else
        a = soft_mul(d, soft_sub(d, a, exactly(limit / 2)), exactly(limit));
    return s->n[2] ? a : soft_div(d, a, exactly(limit));
}

static ht_tensor *call_poisson(const struct statement *s, ht_tensor *x, ht_tensor *t)
{
    ht_poisson_nll_options options = ht_poisson_nll_options_default();

    options.log_input = s->n[2] != 0;
    options.eps = 0.25;
    options.reduction = modes[s->n[1]];
    return ht_poisson_nll_loss(s->n[2] ? x : ht_square(x), t, &options);
}

static struct number poisson_at(const struct statement *s, ht_dtype d, struct number x,
                                struct number t, int64_t i)
{
    struct number log;

    (void)i;
    if (s->n[2])
        return soft_sub(d, soft_exp(d, x), soft_mul(d, t, x));
    x = soft_mul(d, x, x);
    log = soft_log(d, soft_add(d, x, exactly(0.25)));
    return soft_sub(d, x, soft_mul(d, t, log));
}

static ht_tensor *call_gaussian(const struct statement *s, ht_tensor *x, ht_tensor *t)
{
    return ht_gaussian_nll_loss(x, t, positives(s, VARIANCE), s->n[2] != 0, 0.5, modes[s->n[1]]);
}

static struct number gaussian_at(const struct statement *s, ht_dtype d, struct number x,
                                 struct number t, int64_t i)
{
    const struct number v = exactly(fmax(positive_at(s, VARIANCE, i), 0.5));
    struct number r = soft_sub(d, x, t);

    r = soft_add(d, soft_div(d, soft_mul(d, r, r), v), soft_log(d, v));
    r = soft_mul(d, r, exactly(0.5));
    r.err += 8 * eps_of(d);
    return s->n[2] ? soft_add(d, r, exactly(log(2 * acos(-1)) / 2)) : r;
}

static ht_tensor *call_kl(const struct statement *s, ht_tensor *x, ht_tensor *t)
{
    return ht_kl_div(x, t, s->n[2] != 0, modes[s->n[1]]);
}

static struct number kl_at(const struct statement *s, ht_dtype d, struct number x, struct number t,
                           int64_t i)
{
    (void)i;
    if (s->n[2])
        return soft_mul(d, soft_exp(d, t), soft_sub(d, t, x));
    if (t.re == 0)
        return exactly(0);
    return soft_mul(d, t, soft_sub(d, soft_log(d, t), x));
}

static ht_tensor *call_bce(const struct statement *s, ht_tensor *x, ht_tensor *t)
{
    return ht_binary_cross_entropy(x, t, s->n[2] ? positives(s, FACTOR) : NULL, modes[s->n[1]]);
}

static struct number bce_at(const struct statement *s, ht_dtype d, struct number x, struct number t,
                            int64_t i)
{
    struct number yes = soft_mul(d, t, soft_log(d, x));
    struct number no = soft_mul(d, soft_sub(d, exactly(1), t),
                                soft_log(d, soft_sub(d, exactly(1), x)));
    struct number r = soft_sub(d, exactly(0), soft_add(d, yes, no));

    return s->n[2] ? soft_mul(d, r, exactly(positive_at(s, FACTOR, i))) : r;
}

static ht_tensor *call_logits(const struct statement *s, ht_tensor *x, ht_tensor *t)
{
    return ht_binary_cross_entropy_with_logits(x, t, s->n[2] ? positives(s, FACTOR) : NULL,
                                               s->n[2] ? positives(s, POSITIVE) : NULL,
                                               modes[s->n[1]]);
}

static struct number logits_at(const struct statement *s, ht_dtype d, struct number x,
                               struct number t, int64_t i)
{
    struct number yes = soft_mul(d, t, softplus(d, soft_sub(d, exactly(0), x)));
    struct number no = soft_mul(d, soft_sub(d, exactly(1), t), softplus(d, x));

    if (s->n[2])
        yes = soft_mul(d, yes, exactly(positive_at(s, POSITIVE, i)));
    yes = soft_add(d, yes, no);
    return s->n[2] ? soft_mul(d, yes, exactly(positive_at(s, FACTOR, i))) : yes;
}

static ht_tensor *call_soft_margin(const struct statement *s, ht_tensor *x, ht_tensor *t)
{
    return ht_soft_margin_loss(x, t, modes[s->n[1]]);
}

static struct number soft_margin_at(const struct statement *s, ht_dtype d, struct number x,
                                    struct number t, int64_t i)
{
    (void)s;
    (void)i;
    return softplus(d, soft_sub(d, exactly(0), soft_mul(d, t, x)));
}

static ht_tensor *call_hinge(const struct statement *s, ht_tensor *x, ht_tensor *t)
{
    return ht_hinge_embedding_loss(x, t, s->n[2] ? 0.5 : 1, modes[s->n[1]]);
}

static struct number hinge_at(const struct statement *s, ht_dtype d, struct number x,
                              struct number t, int64_t i)
{
    (void)i;
    return t.re == 1 ? x : above_zero(soft_sub(d, exactly(s->n[2] ? 0.5 : 1), x));
}

static ht_tensor *call_ranking(const struct statement *s, ht_tensor *x, ht_tensor *t)
{
    return ht_margin_ranking_loss(x, positives(s, FACTOR), t, s->n[2] ? 0.5 : 0, modes[s->n[1]]);
}

static struct number ranking_at(const struct statement *s, ht_dtype d, struct number x,
                                struct number t, int64_t i)
{
    struct number r = soft_mul(d, t, soft_sub(d, x, exactly(positive_at(s, FACTOR, i))));

    return above_zero(soft_sub(d, exactly(s->n[2] ? 0.5 : 0), r));
}

static const struct criterion criteria[] = {
    {"l1", call_l1, l1_at, ANY, false},
    {"huber", call_huber, huber_at, ANY, false},
    {"poisson", call_poisson, poisson_at, ANY, false},
    {"gaussian", call_gaussian, gaussian_at, ANY, false},
    {"kl", call_kl, kl_at, SHARES, false},
    {"bce", call_bce, bce_at, SHARES, true},
    {"logits", call_logits, logits_at, SHARES, false},
    {"soft margin", call_soft_margin, soft_margin_at, SIGNS, false},
    {"hinge", call_hinge, hinge_at, SIGNS, false},
    {"ranking", call_ranking, ranking_at, SIGNS, false}};
enum { CRITERIA = sizeof criteria / sizeof *criteria, KL = 4 };

/* --- The statement --- */

static bool is_sample(struct run *run, const struct variable *x)
{
    return x->a.ndim <= 4 && is_tame(run, x, 8) && array_size(&x->a) <= 60;
}

static bool generate_criterion(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_sample);
    if (s->arg[0] < 0)
        return false;
    pick_scale(run, s);
    s->n[0] = random_below(&run->random, CRITERIA);
    s->n[1] = random_below(&run->random, s->n[0] == KL && array_of(run, s, 0)->ndim > 0 ? 4 : 3);
    s->n[2] = random_below(&run->random, 2);
    return true;
}

static bool fits(struct run *run, const struct statement *s)
{
    input = array_of(run, s, 0);
    return is_sample(run, &run->vars[s->arg[0]]) && has_good_scale(run, s) &&
           (s->n[1] < 3 || input->ndim > 0);
}

static ht_tensor *target_of(struct run *run, const struct statement *s)
{
    ht_tensor *own;

    switch (criteria[s->n[0]].target) {
    case SIGNS:
        own = own_list(s, input->dtype, TARGET, input->ndim, input->shape);
        return ht_sub_scalar(ht_mul_scalar(ht_astype(ht_gt(own, ht_scalar(0)), input->dtype), 2),
                             1);
    case SHARES:
        own = own_list(s, input->dtype, TARGET, input->ndim, input->shape);
        return ht_mul_scalar(ht_add_scalar(own, 2), 0.25);
    default:
        return weights(run, s, TARGET, input->ndim, input->shape);
    }
}

static struct number target_at(struct run *run, const struct statement *s, int64_t i)
{
    const struct number own = own_number(s, input->dtype, TARGET, i);

    switch (criteria[s->n[0]].target) {
    case SIGNS:
        return exactly(own.re > 0 ? 1 : -1);
    case SHARES:
        return exactly((own.re + 2) * 0.25);
    default:
        return weight_at(run, s, TARGET, i);
    }
}

static struct outcome call_criterion(struct run *run, const struct statement *s)
{
    const struct criterion *c = &criteria[s->n[0]];
    ht_tensor *x = tensor_of(run, s, 0);

    if (!fits(run, s))
        return done(HT_SUCCESS);
    return made(c->call(s, c->probability ? ht_sigmoid(x) : x, target_of(run, s)));
}

static int reference_criterion(struct run *run, const struct statement *s, struct array *out)
{
    const struct criterion *c = &criteria[s->n[0]];
    struct total total = total_new();
    struct number r;
    ht_dtype d;

    if (!fits(run, s))
        return WANT_ANYTHING;
    d = input->dtype;
    *out = array_new(d, s->n[1] == 2 ? input->ndim : 0, input->shape);
    for (int64_t i = 0; i < array_size(input); i++) {
        struct number a = array_at(input, i);

        a = c->probability ? soft_sigmoid(d, a) : a;
        a = c->at(s, d, a, target_at(run, s, i), i);
        total_add(&total, HT_FLOAT64, a);
        if (s->n[1] == 2)
            array_set(out, i, narrow(run, d, a, 0, 1));
    }
    if (s->n[1] == 2)
        return WANT_SUCCESS;
    r = soft_total(d, &total);
    if (s->n[1] == 0 && array_size(input) > 0)
        r = soft_div(d, r, exactly((double)array_size(input)));
    if (s->n[1] == 3 && input->shape[0] > 0)
        r = soft_div(d, r, exactly((double)input->shape[0]));
    array_set(out, 0, narrow(run, d, r, 8 * eps_of(d) * total.size, 2));
    return WANT_SUCCESS;
}

const struct op ops_criteria[] = {{"criterion(%t, %t, loss %n, mode %n, flag %n, seed %x)", 16,
                                   generate_criterion, call_criterion, reference_criterion,
                                   .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
                                  {0}};

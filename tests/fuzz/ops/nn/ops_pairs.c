/* SPDX-License-Identifier: MIT
 *
 * Losses and products of rows (N, D) with weights of their shape; leaky rectifiers with a weight. */
#include <string.h>

#include "fuzz/ops/nn/ops_layers.h"

enum { COSINE, TRIPLET, LABELS, BILINEAR, PRELU, KINDS }; /* n[0] */
enum { SECOND, THIRD, WEIGHT, BIAS };                     /* lists of own numbers */
static const ht_reduction_mode modes[] = {HT_MEAN, HT_SUM, HT_NO_REDUCTION}; /* n[1] */
static const double margin = 0.75;

/* n[2] a flag of the loss, n[3] features of a product. */
struct rows {
    struct run *run;
    const struct statement *s;
    const struct array *x;
    int64_t count, length;
};

static bool is_rows(struct run *run, const struct variable *x)
{
    return x->a.ndim == 2 && is_tame(run, x, 8) && array_size(&x->a) <= 40 && x->a.shape[1] > 0;
}

static bool generate_pair(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_rows);
    if (s->arg[0] < 0)
        return false;
    pick_scale(run, s);
    s->n[0] = random_below(&run->random, KINDS);
    s->n[1] = s->n[0] >= BILINEAR ? 2 : random_below(&run->random, 3);
    s->n[2] = random_below(&run->random, 2);
    s->n[3] = 1 + random_below(&run->random, 2);
    return true;
}

static bool fits(struct run *run, const struct statement *s)
{
    return is_rows(run, &run->vars[s->arg[0]]) && has_good_scale(run, s);
}

static struct rows rows_of(struct run *run, const struct statement *s)
{
    const struct array *x = array_of(run, s, 0);

    return (struct rows){.run = run, .s = s, .x = x, .count = x->shape[0], .length = x->shape[1]};
}

/* --- The call --- */

static ht_tensor *signs(const struct rows *r)
{
    ht_tensor *own = own_list(r->s, r->x->dtype, THIRD, 1, r->x->shape);

    return ht_sub_scalar(ht_mul_scalar(ht_astype(ht_gt(own, ht_scalar(0)), r->x->dtype), 2), 1);
}

static ht_tensor *labels(const struct rows *r)
{
    return ht_astype(ht_gt(own_list(r->s, r->x->dtype, THIRD, 2, r->x->shape), ht_scalar(0)),
                     r->x->dtype);
}

static ht_tensor *call_triplet(const struct rows *r, ht_tensor *x, ht_tensor *second)
{
    ht_triplet_margin_options options = ht_triplet_margin_options_default();

    options.margin = margin;
    options.eps = 0.125;
    options.swap = r->s->n[2];
    options.reduction = modes[r->s->n[1]];
    return ht_triplet_margin_loss(x, second, weights(r->run, r->s, THIRD, 2, r->x->shape),
                                  &options);
}

static struct outcome call_pair(struct run *run, const struct statement *s)
{
    ht_tensor *x = tensor_of(run, s, 0), *second;
    int64_t shape[3];
    struct rows r;

    if (!fits(run, s))
        return done(HT_SUCCESS);
    r = rows_of(run, s);
    second = weights(run, s, SECOND, 2, r.x->shape);
    shape[0] = s->n[3];
    shape[1] = shape[2] = r.length;
    switch (s->n[0]) {
    case COSINE:
        return made(
            ht_cosine_embedding_loss(x, second, signs(&r), s->n[2] ? 0.25 : 0, modes[s->n[1]]));
    case TRIPLET:
        return made(call_triplet(&r, x, second));
    case LABELS:
        return made(ht_multilabel_soft_margin_loss(
            x, labels(&r), s->n[2] ? weights(run, s, WEIGHT, 1, shape + 1) : NULL, modes[s->n[1]]));
    case BILINEAR:
        return made(ht_bilinear(x, second, weights(run, s, WEIGHT, 3, shape),
                                s->n[2] ? weights(run, s, BIAS, 1, shape) : NULL));
    default:
        shape[0] = s->n[2] ? r.length : 1;
        return made(ht_prelu(x, weights(run, s, WEIGHT, 1, shape)));
    }
}

/* --- The reference --- */

static struct number first_at(const struct rows *r, int64_t row, int64_t c)
{
    return array_at(r->x, row * r->length + c);
}

static struct number other_at(const struct rows *r, int list, int64_t row, int64_t c)
{
    return weight_at(r->run, r->s, list, row * r->length + c);
}

static struct number above_zero(struct number a)
{
    if (is_unknown(a) || fabs(a.re) <= a.err)
        return number_unknown();
    return a.re > 0 ? a : exactly(0);
}

static struct number cosine_at(const struct rows *r, int64_t row)
{
    const ht_dtype d = r->x->dtype;
    struct total sum[3] = {total_new(), total_new(), total_new()};
    struct number cos, lengths;

    for (int64_t c = 0; c < r->length; c++) {
        const struct number a = first_at(r, row, c), b = other_at(r, SECOND, row, c);

        total_add_product(&sum[0], d, a, b);
        total_add_product(&sum[1], d, a, a);
        total_add_product(&sum[2], d, b, b);
    }
    lengths = soft_mul(d, soft_add(d, soft_total(d, &sum[1]), exactly(1e-12)),
                       soft_add(d, soft_total(d, &sum[2]), exactly(1e-12)));
    if (is_unknown(lengths) || lengths.re < 1e-6)
        return number_unknown();
    cos = soft_div(d, soft_total(d, &sum[0]), soft_sqrt(d, lengths));
    if (own_number(r->s, d, THIRD, row).re > 0)
        return soft_sub(d, exactly(1), cos);
    return above_zero(soft_sub(d, cos, exactly(r->s->n[2] ? 0.25 : 0)));
}

/* The distance between x, where list is negative, and rows of own numbers. */
static struct number distance(const struct rows *r, int64_t row, int a, int b)
{
    const ht_dtype d = r->x->dtype;
    struct total total = total_new();

    for (int64_t c = 0; c < r->length; c++) {
        struct number x = a < 0 ? first_at(r, row, c) : other_at(r, a, row, c);

        x = soft_add(d, soft_sub(d, x, other_at(r, b, row, c)), exactly(0.125));
        total_add_product(&total, d, x, x);
    }
    return soft_sqrt(d, soft_total(d, &total));
}

static struct number triplet_at(const struct rows *r, int64_t row)
{
    const ht_dtype d = r->x->dtype;
    struct number near = distance(r, row, -1, SECOND), far = distance(r, row, -1, THIRD);

    if (r->s->n[2]) { /* the smaller one */
        const struct number zero = exactly(0);

        far = soft_sub(d, zero,
                       soft_larger(d, soft_sub(d, zero, far),
                                   soft_sub(d, zero, distance(r, row, SECOND, THIRD))));
    }
    return above_zero(soft_add(d, soft_sub(d, near, far), exactly(margin)));
}

static struct number labels_at(const struct rows *r, int64_t row)
{
    const ht_dtype d = r->x->dtype;
    struct number sum = {0};

    for (int64_t c = 0; c < r->length; c++) {
        const bool yes = own_number(r->s, d, THIRD, row * r->length + c).re > 0;
        struct number a = first_at(r, row, c);

        a = soft_exp(d, yes ? soft_sub(d, exactly(0), a) : a);
        a = soft_log(d, soft_add(d, exactly(1), a));
        a.err += 16 * eps_of(d);
        if (r->s->n[2])
            a = soft_mul(d, a, weight_at(r->run, r->s, WEIGHT, c));
        sum = soft_add(d, sum, a);
        sum.err += 8 * eps_of(d) * fabs(a.re);
    }
    return soft_div(d, sum, exactly((double)r->length));
}

static struct number bilinear_at(const struct rows *r, int64_t row, int64_t o)
{
    const ht_dtype d = r->x->dtype;
    struct total total = total_new();

    for (int64_t i = 0; i < r->length * r->length; i++) {
        const struct number w = weight_at(r->run, r->s, WEIGHT, o * r->length * r->length + i);

        total_add_product(&total, d, soft_mul(d, first_at(r, row, i / r->length), w),
                          other_at(r, SECOND, row, i % r->length));
    }
    if (r->s->n[2])
        total_add(&total, d, weight_at(r->run, r->s, BIAS, o));
    return soft_total(d, &total);
}

static struct number prelu_at(const struct rows *r, int64_t row, int64_t c)
{
    const struct number a = first_at(r, row, c);

    if (a.err > 0 && fabs(a.re) <= a.err)
        return number_unknown();
    return a.re > 0 ? a
                    : soft_mul(r->x->dtype, a, weight_at(r->run, r->s, WEIGHT, r->s->n[2] ? c : 0));
}

static int reference_features(struct run *run, const struct statement *s, const struct rows *r,
                              struct array *out)
{
    const int64_t shape[2] = {r->count, s->n[0] == BILINEAR ? s->n[3] : r->length};

    *out = array_new(r->x->dtype, 2, shape);
    for (int64_t i = 0; i < array_size(out); i++) {
        const int64_t row = i / shape[1], c = i % shape[1];

        array_set(out, i,
                  narrow(run, r->x->dtype,
                         s->n[0] == BILINEAR ? bilinear_at(r, row, c) : prelu_at(r, row, c), 0, 1));
    }
    return WANT_SUCCESS;
}

static int reference_pair(struct run *run, const struct statement *s, struct array *out)
{
    struct total total = total_new();
    struct number sum;
    struct rows r;
    ht_dtype d;

    if (!fits(run, s))
        return WANT_ANYTHING;
    if (may_refuse(run, s))
        return (int)run->status;
    r = rows_of(run, s);
    d = r.x->dtype;
    if (s->n[0] >= BILINEAR)
        return reference_features(run, s, &r, out);
    *out = array_new(d, s->n[1] == 2, &r.count);
    for (int64_t row = 0; row < r.count; row++) {
        struct number a = s->n[0] == COSINE    ? cosine_at(&r, row)
                          : s->n[0] == TRIPLET ? triplet_at(&r, row)
                                               : labels_at(&r, row);

        total_add(&total, HT_FLOAT64, a);
        if (s->n[1] == 2)
            array_set(out, row, narrow(run, d, a, 0, 1));
    }
    if (s->n[1] == 2)
        return WANT_SUCCESS;
    sum = soft_total(d, &total);
    if (s->n[1] == 0 && r.count > 0)
        sum = soft_div(d, sum, exactly((double)r.count));
    array_set(out, 0, narrow(run, d, sum, 8 * eps_of(d) * total.size, 2));
    return WANT_SUCCESS;
}

const struct op ops_pairs[] = {
    {"pairs of rows(%t, %t, which %n, mode %n, flag %n, features %n, seed %x)", 10, generate_pair,
     call_pair, reference_pair, .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
    {0}};

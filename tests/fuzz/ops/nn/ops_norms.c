/* SPDX-License-Identifier: MIT
 *
 * Normalisation of rows, groups of channels and neighbouring channels; softmax along any axis. */
#include <string.h>

#include "fuzz/ops/nn/ops_layers.h"

enum { LAYER, ROOT_MEAN_SQUARE, GROUP, INSTANCE, NORMS }; /* n[0] */
enum { WEIGHT, BIAS };                                    /* lists of own numbers */
static const double eps = 0.0625;

/* n[1] axes or groups, n[2] with a weight and a bias. Element k of each of `rows` rows of `size`
 * elements has the parameter (row % groups * size + k) / inner. */
struct norm {
    int64_t rows, size, groups, inner, parameters;
};

static bool is_normal(struct run *run, const struct variable *x)
{
    return x->a.ndim >= 2 && x->a.ndim <= 4 && is_tame(run, x, 16) && array_size(&x->a) <= 60 &&
           array_size(&x->a) > 0;
}

static bool generate_norm(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_normal);
    if (s->arg[0] < 0)
        return false;
    pick_scale(run, s);
    s->n[0] = random_below(&run->random, NORMS);
    s->n[1] = 1 + random_below(&run->random, 3);
    s->n[2] = random_below(&run->random, 2);
    return true;
}

static bool fits(struct run *run, const struct statement *s)
{
    return is_normal(run, &run->vars[s->arg[0]]) && has_good_scale(run, s);
}

static int axes_of(const struct statement *s, const struct array *x)
{
    return s->n[1] < x->ndim ? (int)s->n[1] : 1;
}

static struct norm norm_of(const struct statement *s, const struct array *x)
{
    const int64_t pixels = shape_size(x->ndim - 2, x->shape + 2), c = x->shape[1];
    struct norm n = {.groups = 1, .inner = 1};

    if (s->n[0] <= ROOT_MEAN_SQUARE) {
        const int axes = axes_of(s, x);

        n.size = n.parameters = shape_size(axes, x->shape + x->ndim - axes);
    } else {
        n.groups = s->n[0] == INSTANCE ? c : c % s->n[1] == 0 ? s->n[1] : 1;
        n.size = c / n.groups * pixels;
        n.inner = pixels;
        n.parameters = c;
    }
    n.rows = array_size(x) / n.size;
    return n;
}

static struct outcome call_norm(struct run *run, const struct statement *s)
{
    const struct array *x = array_of(run, s, 0);
    ht_tensor *t = tensor_of(run, s, 0), *weight = NULL, *bias = NULL;
    const int64_t *shape;
    struct norm n;
    int axes;

    if (!fits(run, s))
        return done(HT_SUCCESS);
    n = norm_of(s, x);
    axes = axes_of(s, x);
    shape = x->shape + x->ndim - axes;
    if (s->n[2]) {
        const bool rows = s->n[0] <= ROOT_MEAN_SQUARE;

        weight = weights(run, s, WEIGHT, rows ? axes : 1, rows ? shape : &n.parameters);
        bias = weights(run, s, BIAS, rows ? axes : 1, rows ? shape : &n.parameters);
    }
    switch (s->n[0]) {
    case LAYER:
        return made(ht_layer_norm(t, axes, shape, weight, bias, eps));
    case ROOT_MEAN_SQUARE:
        return made(ht_rms_norm(t, axes, shape, weight, eps));
    case GROUP:
        return made(ht_group_norm(t, n.groups, weight, bias, eps));
    default:
        return made(ht_instance_norm(t, NULL, NULL, weight, bias, true, 0.1, eps));
    }
}

/* Mean of the elements of a row less `less`, or of their squares. */
static struct number mean_of(const struct array *x, int64_t first, int64_t count,
                             struct number less, bool squares)
{
    struct total total = total_new();

    for (int64_t k = first; k < first + count; k++) {
        const struct number a = soft_sub(HT_FLOAT64, array_at(x, k), less);

        total_add_product(&total, HT_FLOAT64, a, squares ? a : exactly(1));
    }
    return soft_div(HT_FLOAT64, total_round(&total, HT_FLOAT64, HT_FLOAT64),
                    exactly((double)count));
}

static int reference_norm(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    const ht_dtype d = x->dtype;
    struct norm n;

    if (!fits(run, s))
        return WANT_ANYTHING;
    n = norm_of(s, x);
    if (run->status != HT_SUCCESS &&
        (may_refuse(run, s) || (s->n[0] <= ROOT_MEAN_SQUARE && axes_of(s, x) == x->ndim)))
        return (int)run->status;
    if ((s->n[0] == INSTANCE && n.size == 1) ||
        (s->n[0] == GROUP && n.size == 1 && x->shape[0] == 1))
        return HT_ERR_SHAPE;
    *out = array_new(d, x->ndim, x->shape);
    for (int64_t i = 0; i < array_size(x); i++) {
        const int64_t row = i / n.size, first = row * n.size;
        const int64_t parameter = (row % n.groups * n.size + i % n.size) / n.inner;
        struct number mean = s->n[0] == ROOT_MEAN_SQUARE
                                 ? exactly(0)
                                 : mean_of(x, first, n.size, exactly(0), false);
        struct number r = mean_of(x, first, n.size, mean, true);

        r = soft_sqrt(d, soft_add(d, r, exactly(eps)));
        r = soft_div(d, soft_sub(d, array_at(x, i), mean), r);
        r.err += 16 * eps_of(d) * (1 + fabs(mean.re) / sqrt(eps));
        if (s->n[2])
            r = soft_mul(d, r, weight_at(run, s, WEIGHT, parameter));
        if (s->n[2] && s->n[0] != ROOT_MEAN_SQUARE)
            r = soft_add(d, r, weight_at(run, s, BIAS, parameter));
        array_set(out, i, narrow(run, d, r, 0, 2));
    }
    return WANT_SUCCESS;
}

/* --- Neighbouring channels: n[0] how many --- */

static bool is_response(struct run *run, const struct variable *x)
{
    return x->a.ndim >= 3 && is_normal(run, x);
}

static bool generate_response(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_response);
    s->n[0] = 1 + random_below(&run->random, 4);
    return s->arg[0] >= 0;
}

static struct outcome call_response(struct run *run, const struct statement *s)
{
    if (!is_response(run, &run->vars[s->arg[0]]))
        return done(HT_SUCCESS);
    return made(ht_local_response_norm(tensor_of(run, s, 0), s->n[0], 0.5, 0.75, 2));
}

static int reference_response(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    const ht_dtype d = x->dtype;
    int64_t at[4];

    if (!is_response(run, &run->vars[s->arg[0]]))
        return WANT_ANYTHING;
    if (may_refuse(run, s))
        return (int)run->status;
    *out = array_new(d, x->ndim, x->shape);
    for (int64_t i = 0; i < array_size(x); i++) {
        struct total total = total_new();
        struct number r;
        int64_t c;

        unravel(i, x->ndim, x->shape, at);
        c = at[1];
        for (at[1] = c - s->n[0] / 2; at[1] < c - s->n[0] / 2 + s->n[0]; at[1]++) {
            if (at[1] >= 0 && at[1] < x->shape[1])
                total_add_product(&total, d, array_at_coords(x, x->ndim, at),
                                  array_at_coords(x, x->ndim, at));
        }
        r = soft_mul(d, soft_total(d, &total), exactly(0.5 / (double)s->n[0]));
        r = soft_log(d, soft_add(d, r, exactly(2)));
        r.err += 8 * eps_of(d);
        r = soft_exp(d, soft_mul(d, r, exactly(-0.75)));
        array_set(out, i, narrow(run, d, soft_mul(d, array_at(x, i), r), 0, 4));
    }
    return WANT_SUCCESS;
}

/* --- Softmax and its kin along an axis: n[0] which, n[1] axis --- */

enum { SOFTMAX, SOFTMIN, LOG_SOFTMAX, GATED };

static bool generate_shares(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_normal);
    if (s->arg[0] < 0)
        return false;
    s->n[1] = random_below(&run->random, array_of(run, s, 0)->ndim);
    s->n[0] = random_below(&run->random, array_of(run, s, 0)->shape[s->n[1]] % 2 == 0 ? 4 : 3);
    return true;
}

static bool has_axis(struct run *run, const struct statement *s)
{
    const struct array *x = array_of(run, s, 0);

    return is_normal(run, &run->vars[s->arg[0]]) && s->n[1] < x->ndim &&
           (s->n[0] != GATED || x->shape[s->n[1]] % 2 == 0);
}

static struct outcome call_shares(struct run *run, const struct statement *s)
{
    static ht_tensor *(*const functions[])(ht_tensor *, int) = {ht_softmax, ht_softmin,
                                                                ht_log_softmax, ht_glu};

    if (!has_axis(run, s))
        return done(HT_SUCCESS);
    return made(functions[s->n[0]](tensor_of(run, s, 0), (int)s->n[1]));
}

/* exp(x[at] - most) / sum along the axis, or its logarithm. */
static struct number share_at(const struct statement *s, const struct array *x, int64_t at[])
{
    const int axis = (int)s->n[1];
    const double sign = s->n[0] == SOFTMIN ? -1 : 1;
    const ht_dtype d = x->dtype;
    struct number most = {.re = -INFINITY}, sum = {0}, own = {0}, a;
    const int64_t here = at[axis];

    for (int pass = 0; pass < 2; pass++)
        for (at[axis] = 0; at[axis] < x->shape[axis]; at[axis]++) {
            a = soft_mul(d, array_at_coords(x, x->ndim, at), exactly(sign));
            if (pass == 0) {
                most.re = fmax(most.re, a.re);
                continue;
            }
            a = soft_sub(d, a, most);
            own = at[axis] == here ? a : own;
            sum = soft_add(d, sum, soft_exp(d, a));
        }
    at[axis] = here;
    if (s->n[0] != LOG_SOFTMAX)
        return soft_div(d, soft_exp(d, own), sum);
    a = soft_sub(d, own, soft_log(d, sum));
    a.err += 8 * eps_of(d) * (1 + fabs(most.re));
    return a;
}

static struct number gated_at(const struct statement *s, const struct array *x, int64_t at[])
{
    const struct number a = array_at_coords(x, x->ndim, at);
    struct number gate;

    at[s->n[1]] += x->shape[s->n[1]] / 2;
    gate = soft_sigmoid(x->dtype, array_at_coords(x, x->ndim, at));
    return soft_mul(x->dtype, a, gate);
}

static int reference_shares(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int64_t shape[4], at[4];

    if (!has_axis(run, s))
        return WANT_ANYTHING;
    memcpy(shape, x->shape, sizeof shape);
    shape[s->n[1]] /= s->n[0] == GATED ? 2 : 1;
    *out = array_new(x->dtype, x->ndim, shape);
    for (int64_t i = 0; i < array_size(out); i++) {
        unravel(i, x->ndim, shape, at);
        array_set(out, i,
                  narrow(run, x->dtype, s->n[0] == GATED ? gated_at(s, x, at) : share_at(s, x, at),
                         0, 2));
    }
    return WANT_SUCCESS;
}

const struct op ops_norms[] = {
    {"norm(%t, %t, which %n, axes or groups %n, weights %n, seed %x)", 10, generate_norm, call_norm,
     reference_norm, .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
    {"ht_local_response_norm(%t, %n)", 4, generate_response, call_response, reference_response,
     .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
    {"shares(%t, which %n, axis %n)", 6, generate_shares, call_shares, reference_shares,
     .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
    {0}};

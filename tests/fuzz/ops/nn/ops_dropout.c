/* SPDX-License-Identifier: MIT
 *
 * Dropout of channels, and dropout that keeps mean and variance: by the mask that ones show. */
#include "fuzz/ops/nn/ops_layers.h"

enum { ONE_AXIS, TWO_AXES, THREE_AXES, ALPHA, FEATURES, KINDS }; /* n[0]; n[1]: the draw */
static const double p = 0.5;

static bool drops(const struct array *x, int64_t kind)
{
    const int axes[] = {3, 4, 5};

    return kind == ALPHA || (kind == FEATURES ? x->ndim >= 3 : x->ndim == axes[kind]);
}

static int64_t wanted;

static bool can_drop(struct run *run, const struct variable *x)
{
    return is_tame(run, x, 64) && drops(&x->a, wanted);
}

static bool generate_dropout(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    wanted = s->n[0] = random_below(&run->random, KINDS);
    s->arg[0] = pick(run, can_drop);
    s->n[1] = random_below(&run->random, 100);
    return s->arg[0] >= 0;
}

static bool fits(struct run *run, const struct statement *s)
{
    wanted = s->n[0];
    return can_drop(run, &run->vars[s->arg[0]]);
}

typedef ht_tensor *dropout(ht_tensor *x, double p, uint64_t seed, uint64_t draw);
static dropout *const functions[] = {ht_dropout1d, ht_dropout2d, ht_dropout3d, ht_alpha_dropout,
                                     ht_feature_alpha_dropout};

static struct outcome call_dropout(struct run *run, const struct statement *s)
{
    if (!fits(run, s))
        return done(HT_SUCCESS);
    return made(functions[s->n[0]](tensor_of(run, s, 0), p, s->seed, (uint64_t)s->n[1]));
}

/* The result for 1: whether it was kept; a channel is kept or dropped as one. */
static bool kept(struct run *run, const struct statement *s, const struct array *ones, int64_t i)
{
    const int64_t plane = ones->ndim > 2 ? shape_size(ones->ndim - 2, ones->shape + 2) : 1;
    const double one = array_at(ones, i).re;

    if (s->n[0] != ALPHA && array_at(ones, i / plane * plane).re != one)
        fail(run, "a part of a channel is dropped");
    return one > 0.5;
}

static int reference_dropout(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    const double limit = -1.0507009873554804934 * 1.6732632423543772848;
    const double a = s->n[0] < ALPHA ? 2 : 1 / sqrt((1 - p) * (1 + p * limit * limit));
    const double b = s->n[0] < ALPHA ? 0 : -a * p * limit;
    struct array ones;

    if (!fits(run, s))
        return WANT_ANYTHING;
    if (run->status != HT_SUCCESS && s->n[0] != ALPHA &&
        ht_tensor_split(tensor_of(run, s, 0)) > (s->n[0] == ONE_AXIS || s->n[0] == THREE_AXES))
        return (int)run->status;
    gather(functions[s->n[0]](ht_ones(x->ndim, x->shape, x->dtype, HT_NONE), p, s->seed,
                              (uint64_t)s->n[1]),
           &ones);
    *out = array_new(x->dtype, x->ndim, x->shape);
    for (int64_t i = 0; i < array_size(x); i++) {
        struct number r = soft_mul(x->dtype, array_at(x, i), exactly(a));

        r = kept(run, s, &ones, i) ? soft_add(x->dtype, r, exactly(b))
                                   : exactly(s->n[0] < ALPHA ? 0 : a * limit + b);
        r.err += 8 * eps_of(x->dtype) * fabs(b);
        array_set(out, i, narrow(run, x->dtype, r, 0, 2));
    }
    return WANT_SUCCESS;
}

const struct op ops_dropout[] = {{"dropout(%t, which %n, draw %n, seed %x)", 5, generate_dropout,
                                  call_dropout, reference_dropout,
                                  .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
                                 {0}};

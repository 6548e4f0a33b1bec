/* SPDX-License-Identifier: MIT
 *
 * Activations with their parameters: a row each, with value and slope in double. */
#include <string.h>

#include "activation_rows.h"
#include "fuzz/ops/nn/ops_layers.h"

/* Value and slope at x; the bends of the function, where a value in doubt may be on either side. */
struct activation {
    const char *name;
    ht_tensor *(*call)(ht_tensor *x);
    double (*value)(double x);
    double (*slope)(double x);
    double bend[2];
};

#define LIMIT 0.75
static ht_tensor *call_elu(ht_tensor *x)
{
    return ht_elu(x, LIMIT);
}
static double elu(double x)
{
    return x > 0 ? x : LIMIT * expm1(x);
}
static double elu_slope(double x)
{
    return x > 0 ? 1 : LIMIT * exp(x);
}

static ht_tensor *call_celu(ht_tensor *x)
{
    return ht_celu(x, LIMIT);
}
static double celu(double x)
{
    return x > 0 ? x : LIMIT * expm1(x / LIMIT);
}
static double celu_slope(double x)
{
    return x > 0 ? 1 : exp(x / LIMIT);
}

static ht_tensor *call_softplus(ht_tensor *x)
{
    return ht_softplus(x, 2, 3);
}
static double softplus(double x)
{
    return 2 * x > 3 ? x : log1p(exp(2 * x)) / 2;
}
static double softplus_slope(double x)
{
    return 2 * x > 3 ? 1 : sigmoid_of(2 * x);
}

static ht_tensor *call_hardtanh(ht_tensor *x)
{
    return ht_hardtanh(x, -LIMIT, 1.5);
}
static double hardtanh(double x)
{
    return fmin(fmax(x, -LIMIT), 1.5);
}
static double hardtanh_slope(double x)
{
    return x > -LIMIT && x < 1.5;
}

static ht_tensor *call_hardshrink(ht_tensor *x)
{
    return ht_hardshrink(x, LIMIT);
}
static double hardshrink(double x)
{
    return fabs(x) > LIMIT ? x : 0;
}
static double hardshrink_slope(double x)
{
    return fabs(x) > LIMIT;
}

static ht_tensor *call_softshrink(ht_tensor *x)
{
    return ht_softshrink(x, LIMIT);
}
static double softshrink(double x)
{
    return x > LIMIT ? x - LIMIT : x < -LIMIT ? x + LIMIT : 0;
}

static ht_tensor *call_threshold(ht_tensor *x)
{
    return ht_threshold(x, LIMIT, -2);
}
static double threshold(double x)
{
    return x > LIMIT ? x : -2;
}
static double threshold_slope(double x)
{
    return x > LIMIT;
}

static ht_tensor *call_rrelu(ht_tensor *x)
{
    return ht_rrelu(x, 0.25, 0.5, false, 0, 0);
}
static double rrelu(double x)
{
    return x > 0 ? x : 0.375 * x;
}
static double rrelu_slope(double x)
{
    return x > 0 ? 1 : 0.375;
}

/* clang-format off */
ACTIVATIONS_OF_X(VALUE_OF_X)
#define ROW_OF_X(f, function, layer, value, slope, ...) {#f, function, f, f##_slope, {__VA_ARGS__}},
/* clang-format on */

/* Without hardswish, whose slope at its bends its header leaves open. */
static const struct activation activations[] = {
    ACTIVATIONS_OF_X(ROW_OF_X){"elu", call_elu, elu, elu_slope, {0, 0}},
    {"celu", call_celu, celu, celu_slope, {0, 0}},
    {"softplus", call_softplus, softplus, softplus_slope, {1.5, 1.5}},
    {"hardtanh", call_hardtanh, hardtanh, hardtanh_slope, {-LIMIT, 1.5}},
    {"hardshrink", call_hardshrink, hardshrink, hardshrink_slope, {-LIMIT, LIMIT}},
    {"softshrink", call_softshrink, softshrink, hardshrink_slope, {-LIMIT, LIMIT}},
    {"threshold", call_threshold, threshold, threshold_slope, {LIMIT, LIMIT}},
    {"rrelu", call_rrelu, rrelu, rrelu_slope, {0, 0}},
};
enum { ACTIVATIONS = sizeof activations / sizeof *activations };

static bool is_active(struct run *run, const struct variable *x)
{
    return is_tame(run, x, 16);
}

static bool generate_activation(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_active);
    s->n[0] = random_below(&run->random, ACTIVATIONS);
    return s->arg[0] >= 0;
}

static struct outcome call_activation(struct run *run, const struct statement *s)
{
    if (!is_active(run, &run->vars[s->arg[0]]))
        return done(HT_SUCCESS);
    return made(activations[s->n[0]].call(tensor_of(run, s, 0)));
}

static struct number active(const struct activation *f, ht_dtype dtype, struct number a)
{
    const double slope = f->slope(a.re);
    struct number r = {.re = f->value(a.re)};

    for (int i = 0; i < 2; i++) {
        if (a.err > 0 && fabs(a.re - f->bend[i]) <= a.err)
            return number_unknown();
    }
    if (a.err > 512 * eps_of(dtype)) /* the slope is in doubt */
        return number_unknown();
    chain(&r, slope, a, 0, NULL);
    for (int k = 0; r.d != NULL && k < MAX_DUALS; k++) /* of terms that may cancel */
        r.d[k].size = a.d[k].size * (1 + fabs(slope));
    r.err = 2 * a.err + 8 * eps_of(dtype) * (1 + fabs(a.re));
    return r;
}

static int reference_activation(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);

    if (!is_active(run, &run->vars[s->arg[0]]))
        return WANT_ANYTHING;
    *out = array_new(x->dtype, x->ndim, x->shape);
    for (int64_t i = 0; i < array_size(x); i++)
        array_set(
            out, i,
            narrow(run, x->dtype, active(&activations[s->n[0]], x->dtype, array_at(x, i)), 0, 2));
    return WANT_SUCCESS;
}

const struct op ops_activations[] = {{"activation(%t, which %n)", 8, generate_activation,
                                      call_activation, reference_activation,
                                      .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
                                     {0}};

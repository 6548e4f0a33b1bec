/* SPDX-License-Identifier: MIT
 *
 * Log-softmax, losses, dropout. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/ops/nn/ops_layers.h"

static const struct array *input;

/* --- Normalisation --- */

static bool has_classes(struct run *run, const struct variable *x)
{
    return is_real(run, x) && x->a.ndim == 2 && x->a.shape[1] > 0;
}

static bool generate_rows(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, has_classes);
    s->n[0] = random_below(&run->random, 3);
    return s->arg[0] >= 0;
}

/* In double. */
struct number log_softmax_at(const struct array *x, int64_t row, int64_t column)
{
    const int64_t columns = x->shape[x->ndim - 1];
    struct number most = {.re = -INFINITY}, sum = {0}, r;

    for (int64_t k = 0; k < columns; k++) {
        struct number a = array_at(x, row * columns + k);

        if (is_unknown(a) || !isfinite(a.re))
            return number_unknown();
        most.re = fmax(most.re, a.re);
    }
    for (int64_t k = 0; k < columns; k++)
        sum = number_add(
            HT_FLOAT64, sum,
            number_exp(HT_FLOAT64, number_sub(HT_FLOAT64, array_at(x, row * columns + k), most)));
    r = number_sub(HT_FLOAT64, array_at(x, row * columns + column), most);
    r = is_unknown(sum) ? sum : number_sub(HT_FLOAT64, r, number_log(HT_FLOAT64, sum));
    if (!is_unknown(r))
        r.err += 16 * eps_of(x->dtype) * (1 + fabs(most.re) + fabs(r.re));
    return r;
}

static struct outcome call_log_softmax(struct run *run, const struct statement *s)
{
    return made(ht_log_softmax(tensor_of(run, s, 0), 1));
}

static int reference_log_softmax(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);

    if (!has_classes(run, &run->vars[s->arg[0]]))
        return WANT_ANYTHING;
    if (may_refuse(run, s))
        return (int)run->status;
    *out = array_new(x->dtype, 2, x->shape);
    for (int64_t i = 0; i < array_size(out); i++)
        array_set(out, i,
                  narrow(run, x->dtype, log_softmax_at(x, i / x->shape[1], i % x->shape[1]), 0, 1));
    return WANT_SUCCESS;
}

static const ht_reduction_mode modes[] = {HT_MEAN, HT_SUM, HT_NO_REDUCTION};

static int64_t class_of(const struct statement *s, int64_t row, int64_t classes)
{
    return (int64_t)(hash_of(s->seed, (uint64_t)row) % (uint64_t)classes);
}

static struct outcome call_cross_entropy(struct run *run, const struct statement *s)
{
    const struct array *x = array_of(run, s, 0);
    int64_t *classes = malloc(sizeof *classes * (size_t)(x->shape[0] + 1)), rows = x->shape[0];
    ht_tensor *target;

    for (int64_t i = 0; has_classes(run, &run->vars[s->arg[0]]) && i < rows; i++)
        classes[i] = class_of(s, i, x->shape[1]);
    target = ht_array(classes, 1, &rows, HT_INT64,
                      ht_tensor_split(tensor_of(run, s, 0)) == 0 ? 0 : HT_NONE);
    free(classes);
    return made(ht_cross_entropy(tensor_of(run, s, 0), target, modes[s->n[0]]));
}

static int reference_cross_entropy(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    struct total total = total_new();
    struct number r, count = {.re = (double)x->shape[0]};

    if (!has_classes(run, &run->vars[s->arg[0]]))
        return WANT_ANYTHING;
    if (run->status != HT_SUCCESS &&
        (may_refuse(run, s) || !ht_tensor_is_balanced(tensor_of(run, s, 0))))
        return (int)run->status;
    *out = array_new(x->dtype, s->n[0] == 2, x->shape);
    for (int64_t i = 0; i < x->shape[0]; i++) {
        struct number a = log_softmax_at(x, i, class_of(s, i, x->shape[1]));

        a = is_unknown(a) ? a : number_neg(HT_FLOAT64, a);
        total_add(&total, HT_FLOAT64, a);
        if (s->n[0] == 2)
            array_set(out, i, narrow(run, x->dtype, a, 0, 1));
    }
    if (s->n[0] == 2)
        return WANT_SUCCESS;
    r = total_round(&total, HT_FLOAT64, HT_FLOAT64);
    if (s->n[0] == 0 && x->shape[0] > 0 && !is_unknown(r))
        r = number_div(HT_FLOAT64, r, count);
    array_set(out, 0, narrow(run, x->dtype, r, eps_of(x->dtype) * total.size * 4, 2));
    return WANT_SUCCESS;
}

static bool same_as_input(struct run *run, const struct variable *x)
{
    (void)run;
    return x->a.dtype == input->dtype && same_shape(&x->a, input);
}

static bool generate_mse(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_real);
    if (s->arg[0] < 0)
        return false;
    input = array_of(run, s, 0);
    s->arg[1] = pick(run, same_as_input);
    s->n[0] = random_below(&run->random, 3);
    return true;
}

static struct outcome call_mse(struct run *run, const struct statement *s)
{
    return made(ht_mse_loss(tensor_of(run, s, 0), tensor_of(run, s, 1), modes[s->n[0]]));
}

static int reference_mse(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0), *y = array_of(run, s, 1);
    struct total total = total_new();
    struct number r, count = {.re = (double)array_size(x)};

    if (!same_shape(x, y))
        return WANT_FAILURE;
    if (x->dtype != y->dtype || kind_of(x->dtype) != KIND_FLOAT)
        return WANT_ANYTHING;
    *out = s->n[0] == 2 ? array_new(x->dtype, x->ndim, x->shape) : array_new(x->dtype, 0, NULL);
    for (int64_t i = 0; i < array_size(x); i++) {
        struct number a = array_at(x, i), b = array_at(y, i);

        a = is_unknown(a) || is_unknown(b) ? number_unknown() : number_sub(x->dtype, a, b);
        a = is_unknown(a) ? a : number_mul(x->dtype, a, a);
        total_add(&total, HT_FLOAT64, a);
        if (s->n[0] == 2)
            array_set(out, i, narrow(run, x->dtype, a, 0, 0));
    }
    if (s->n[0] == 2)
        return WANT_SUCCESS;
    r = total_round(&total, HT_FLOAT64, HT_FLOAT64);
    if (s->n[0] == 0 && array_size(x) > 0 && !is_unknown(r))
        r = number_div(HT_FLOAT64, r, count);
    r = narrow(run, x->dtype, r, (double)total.count * eps_of(x->dtype) * total.size, 4);
    array_set(out, 0, total.size > max_of(x->dtype) / 4 ? number_unknown() : r);
    return WANT_SUCCESS;
}

/* --- Dropout --- */

static bool generate_dropout(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_real);
    s->n[0] = random_below(&run->random, 100);
    return s->arg[0] >= 0;
}

static struct outcome call_dropout(struct run *run, const struct statement *s)
{
    return made(ht_dropout(tensor_of(run, s, 0), 0.5, s->seed, (uint64_t)s->n[0]));
}

/* Whether the mask follows the order of channels-last memory, by the function's header. */
static bool by_layout(ht_tensor *x)
{
    return ht_tensor_split(x) == HT_NONE && ht_tensor_is_channels_last(x) &&
           !ht_tensor_is_contiguous(x);
}

/* The mask is that of a tensor of ones with memory of its own. */
static int reference_dropout(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    bool laid_out = by_layout(tensor_of(run, s, 0));
    struct array mask;
    ht_tensor *ones;

    if (!is_real(run, &run->vars[s->arg[0]]))
        return WANT_ANYTHING;
    ones = ht_ones(x->ndim, x->shape, x->dtype, HT_NONE);
    gather(ht_dropout(laid_out ? ht_channels_last(ones) : ones, 0.5, s->seed, (uint64_t)s->n[0]),
           &mask);
    *out = array_new(x->dtype, x->ndim, x->shape);
    for (int64_t i = 0; i < array_size(x); i++) {
        struct number a = array_at(x, i), m = array_at(&mask, i);

        if (m.re != 0 && m.re != 2)
            fail(run, "dropout gave %g of 1", m.re);
        array_set(out, i,
                  narrow(run, x->dtype,
                         is_unknown(a) ? a
                         : m.re == 0   ? number_real(x->dtype, 0)
                                       : number_mul(x->dtype, a, m),
                         0, 0));
    }
    return WANT_SUCCESS;
}

const struct op ops_losses[] = {
    {"ht_log_softmax(%t)", 5, generate_rows, call_log_softmax, reference_log_softmax,
     .rules = RULE_SMOOTH | RULE_SAVES},
    {"ht_cross_entropy(%t, mode %n, seed %x)", 6, generate_rows, call_cross_entropy,
     reference_cross_entropy, .rules = RULE_SMOOTH | RULE_SAVES},
    {"ht_mse_loss(%t, %t, mode %n)", 6, generate_mse, call_mse, reference_mse,
     .rules = RULE_SMOOTH | RULE_SAVES},
    {"ht_dropout(%t, 0.5, seed %x, draw %n)", 5, generate_dropout, call_dropout, reference_dropout,
     .rules = RULE_SMOOTH | RULE_SAVES},
    {0}};

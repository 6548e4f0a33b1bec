/* SPDX-License-Identifier: MIT
 *
 * Operations on a leaf: gradients set by hand, steps, another body. */
#include <string.h>

#include "fuzz/ops/ops_gradients.h"

/* --- Gradients by hand --- */

enum { SET_NULL, SET_DATA, SET_OTHER_SPLIT, SET_OTHER_SHAPE };

static bool generate_grad(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_leaf);
    s->n[0] = DATA_FRACTION;
    s->n[1] = random_below(&run->random, 4);
    return s->arg[0] >= 0;
}

/* A split that is not x's; where there is none, x's. */
static int other_split(const struct array *x, ht_tensor *t)
{
    return ht_tensor_split(t) != HT_NONE ? HT_NONE : x->ndim > 0 ? 0 : HT_NONE;
}

static struct outcome call_grad(struct run *run, const struct statement *s)
{
    struct variable *x = &run->vars[s->arg[0]];
    ht_tensor *grad = NULL;

    if (x->leaf < 0)
        return done(HT_SUCCESS);
    if (s->n[1] != SET_NULL) {
        int split = ht_tensor_split(x->t);

        grad = data_tensor(s, &x->a, s->n[1] == SET_OTHER_SPLIT ? other_split(&x->a, x->t) : split,
                           s->seed);
        if (s->n[1] == SET_OTHER_SHAPE)
            grad = ht_expand_dims(grad, 0);
    }
    return done(ht_tensor_set_grad(x->t, grad));
}

static int reference_grad(struct run *run, const struct statement *s, struct array *out)
{
    struct variable *x = &run->vars[s->arg[0]];
    struct leaf *leaf;

    (void)out;
    if (x->leaf < 0)
        return WANT_ANYTHING;
    leaf = leaf_of(run, s);
    if (s->n[1] == SET_OTHER_SHAPE)
        return WANT_FAILURE;
    if (s->n[1] == SET_OTHER_SPLIT && other_split(&x->a, x->t) != ht_tensor_split(x->t))
        return WANT_FAILURE;
    if (!ht_tensor_is_balanced(x->t) && run->status != HT_SUCCESS)
        return WANT_FAILURE;
    memset(leaf->grad, 0, sizeof leaf->grad);
    memset(leaf->size, 0, sizeof leaf->size);
    leaf->unknown = false;
    for (int64_t i = 0; s->n[1] != SET_NULL && i < array_size(&x->a); i++) {
        struct number g = data_number((int)s->n[0], x->a.dtype, s->seed, (uint64_t)i);
        int64_t k = i * components(x->a.dtype);

        leaf->grad[k] = g.re;
        leaf->size[k] = fabs(g.re);
        if (components(x->a.dtype) == 2) {
            leaf->grad[k + 1] = g.im;
            leaf->size[k + 1] = fabs(g.im);
        }
    }
    check_gradients(run);
    return WANT_SUCCESS;
}

/* --- Steps --- */

static bool is_real_leaf(struct run *run, const struct variable *x)
{
    return is_leaf(run, x) && kind_of(x->a.dtype) == KIND_FLOAT && !x->a.memory->frozen;
}

static bool generate_step(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_real_leaf);
    return s->arg[0] >= 0;
}

static struct outcome call_step(struct run *run, const struct statement *s)
{
    struct variable *x = &run->vars[s->arg[0]];
    ht_optimizer *optimizer;
    ht_status status;

    if (!is_real_leaf(run, x))
        return done(HT_SUCCESS);
    optimizer = ht_optim_sgd(ht_value_tensors(1, &x->t), 0.5, NULL);
    status = optimizer != NULL ? ht_optimizer_step(optimizer) : ht_error_get(NULL);
    ht_release(optimizer);
    return done(status);
}

static int reference_step(struct run *run, const struct statement *s, struct array *out)
{
    struct variable *x = &run->vars[s->arg[0]];
    const struct leaf *leaf;

    (void)out;
    if (!is_real_leaf(run, x))
        return WANT_ANYTHING;
    leaf = leaf_of(run, s);
    if (run->status != HT_SUCCESS && ht_tensor_split(x->t) != HT_NONE)
        return WANT_ANYTHING; /* optimizers may want process-local parameters */
    run->wrote = run->wrote || x->a.memory->saved;
    for (int64_t i = 0; i < array_size(&x->a); i++) {
        struct number a = array_at(&x->a, i), step = {.re = 0.5 * leaf->grad[i]}, b;

        step.err = leaf->unknown ? INFINITY
                                 : SLACK * fmax(run->eps, eps_of(x->a.dtype)) * leaf->size[i];
        step.re = round_to(x->a.dtype, step.re);
        b = is_unknown(a) || is_unknown(step) || isnan(step.err) ? number_unknown()
                                                                 : number_sub(x->a.dtype, a, step);
        b.d = a.d;
        array_set(&x->a, i, b);
    }
    return WANT_SUCCESS;
}

/* --- Another body --- */

/* Not where ranks may have given its handle several names. */
static bool may_be_set(struct run *run, const struct variable *x)
{
    return is_leaf(run, x) && !x->a.memory->frozen;
}

static bool generate_set(struct run *run, const struct op *op, struct statement *s)
{
    s->arg[0] = pick(run, may_be_set);
    if (s->arg[0] < 0 || !generate_leaf(run, op, s))
        return false;
    if (random_chance(&run->random, 70))
        s->dtype = run->vars[s->arg[0]].a.dtype;
    return run->slots + shape_size(s->ndim, s->shape) * 2 <= MAX_DUALS;
}

static struct outcome call_set(struct run *run, const struct statement *s)
{
    struct array shape = shape_of(s);

    if (!may_be_set(run, &run->vars[s->arg[0]]))
        return done(HT_SUCCESS);
    return done(ht_tensor_set_(run->vars[s->arg[0]].t, data_tensor(s, &shape, s->split, s->seed)));
}

static int reference_set(struct run *run, const struct statement *s, struct array *out)
{
    struct variable *x = &run->vars[s->arg[0]];
    int64_t count = shape_size(s->ndim, s->shape) * components(s->dtype);
    struct leaf *leaf;

    (void)out;
    if (!may_be_set(run, x) || run->status != HT_SUCCESS || run->slots + count > MAX_DUALS)
        return may_be_set(run, x) && run->status == HT_SUCCESS ? WANT_SUCCESS : WANT_ANYTHING;
    leaf = leaf_of(run, s);
    x->a.memory->frozen = true; /* views of the old body have lost what they were views of */
    x->a = array_new(s->dtype, s->ndim, s->shape);
    for (int64_t i = 0; i < array_size(&x->a); i++)
        array_set(&x->a, i, data_number((int)s->n[0], s->dtype, s->seed, (uint64_t)i));
    for (int i = 0; i < run->program->count; i++) { /* other names of this handle */
        if (run->vars[i].alive && run->vars[i].t == x->t)
            run->vars[i].a = x->a;
    }
    give_duals(&x->a, run->slots);
    leaf->slot = run->slots;
    leaf->unknown = true; /* whether a gradient that still fits is kept */
    run->slots += (int)count;
    run->wrote = true;
    end_graphs(run);
    check_gradients(run);
    return WANT_SUCCESS;
}

/* --- The gradient of a cumulative sum: of what comes later, with no digit of what came before ---
 */

static bool generate_later(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->dtype = random_chance(&run->random, 50) ? HT_FLOAT32 : HT_FLOAT64;
    s->n[0] = random_chance(&run->random, 50) ? DATA_SPREAD : DATA_SPECIAL;
    s->n[1] = 1 + random_below(&run->random, 8);
    s->split = random_chance(&run->random, 50) ? 0 : HT_NONE;
    return run->recording;
}

static struct outcome call_later(struct run *run, const struct statement *s)
{
    struct array like = {.dtype = s->dtype, .ndim = 1, .shape = {s->n[1]}};
    ht_tensor *x = ht_ones(1, like.shape, s->dtype, s->split);

    if (!run->recording)
        return done(HT_SUCCESS);
    if (ht_tensor_set_requires_grad(x, true) != HT_SUCCESS ||
        ht_backward_ext(ht_cumsum(x, 0), data_tensor(s, &like, HT_NONE, s->seed), false) !=
            HT_SUCCESS)
        return made(NULL);
    return made(ht_copy(ht_tensor_grad(x)));
}

static int reference_later(struct run *run, const struct statement *s, struct array *out)
{
    if (!run->recording)
        return WANT_ANYTHING;
    *out = array_new(s->dtype, 1, &s->n[1]);
    for (int64_t i = 0; i < s->n[1]; i++) {
        struct total total = total_new();
        struct number a;

        for (int64_t k = i; k < s->n[1]; k++)
            total_add(&total, s->dtype, data_number((int)s->n[0], s->dtype, s->seed, (uint64_t)k));
        a = total_round(&total, s->dtype, accumulator_of(s->dtype));
        if (a.err > 0) /* the running sum is rounded where it is stored */
            a.err += ulp(s->dtype, total.size) * (double)total.count;
        array_set(out, i, a);
    }
    return WANT_SUCCESS;
}

/* --- The gradient of an image one pixel wide, whose strides say nothing of its width --- */

static bool generate_column(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->n[0] = DATA_FRACTION;
    s->n[1] = 1 + random_below(&run->random, 8);
    return run->recording;
}

static struct outcome call_column(struct run *run, const struct statement *s)
{
    const int64_t pair[] = {2, 1}, zero[] = {0, 0}, one[] = {1, 1};
    struct array like = {.dtype = HT_FLOAT64, .ndim = 4, .shape = {1, 1, 1, 2 * s->n[1]}};
    ht_tensor *x = data_tensor(s, &like, HT_NONE, s->seed), *y;

    if (!run->recording)
        return done(HT_SUCCESS);
    if (ht_tensor_set_requires_grad(x, true) != HT_SUCCESS)
        return made(NULL);
    y = ht_max_pool2d_ext(ht_transpose(x, 2, 3), pair, pair, zero, one);
    if (ht_backward(ht_sum(y, HT_NONE)) != HT_SUCCESS)
        return made(NULL);
    return made(ht_copy(ht_tensor_grad(x)));
}

/* 1 at the greater of two elements, or at the first of equal ones. */
static int reference_column(struct run *run, const struct statement *s, struct array *out)
{
    const int64_t shape[] = {1, 1, 1, 2 * s->n[1]};

    if (!run->recording)
        return WANT_ANYTHING;
    *out = array_new(HT_FLOAT64, 4, shape);
    for (int64_t i = 0; i < shape[3]; i += 2) {
        struct number a = data_number((int)s->n[0], HT_FLOAT64, s->seed, (uint64_t)i);
        struct number b = data_number((int)s->n[0], HT_FLOAT64, s->seed, (uint64_t)i + 1);

        array_set(out, i, number_real(HT_FLOAT64, a.re >= b.re));
        array_set(out, i + 1, number_real(HT_FLOAT64, a.re < b.re));
    }
    return WANT_SUCCESS;
}

const struct op ops_leaves[] = {
    {"set_grad(%t, style %n, how %n, seed %x)", 5, generate_grad, call_grad, reference_grad,
     .rules = RULE_SMOOTH | RULE_GRADIENTS},
    {"sgd step(%t, 0.5)", 6, generate_step, call_step, reference_step,
     .rules = RULE_SMOOTH | RULE_GRADIENTS},
    {"ht_tensor_set_(%t, data(style %n, %s, %d, split %p, seed %x))", 5, generate_set, call_set,
     reference_set, .rules = RULE_SMOOTH | RULE_GRADIENTS},
    {"gradient of ht_cumsum(style %n, %n ones, %d, split %p, seed %x)", 2, generate_later,
     call_later, reference_later, .rules = RULE_SMOOTH},
    {"gradient of ht_max_pool2d of a column(style %n, %n pairs, seed %x)", 2, generate_column,
     call_column, reference_column, .rules = RULE_SMOOTH},
    {0}};

/* SPDX-License-Identifier: MIT
 *
 * Optimizers compared with their formulas: a matrix, split or not, whose gradients are random,
 * takes a few steps. L-BFGS finds the minimum of a parabola. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fuzz/train/optimizer_rules.h"

static char failure[256];

static void complain(const char *what, int64_t step, double got, double right)
{
    if (failure[0] == '\0')
        snprintf(failure, sizeof failure, "%s, step %lld: %.12g; %.12g is right", what,
                 (long long)step, got, right);
}

static double normal(uint64_t seed, int64_t i)
{
    return data_number(DATA_NORMAL, HT_FLOAT64, seed, (uint64_t)i).re / 2;
}

static ht_tensor *matrix_of(const double values[], int64_t rows, int64_t columns, ht_dtype dtype,
                            int split)
{
    ht_tensor *t = ht_array(values, HT_SHAPE(rows, columns), HT_FLOAT64, split);

    return ht_astype(t, dtype);
}

static void compare(const struct course *c, const struct rule *rule, ht_tensor *p)
{
    const double eps = eps_of(ht_tensor_dtype(p));
    struct array now;

    gather(p, &now);
    for (int64_t i = 0; i < c->rows * c->columns; i++) {
        const double got = array_at(&now, i).re;
        const double bound = rule->tolerance > 0 ? rule->tolerance * c->lr * (double)c->step
                                                 : 1024 * eps * (double)c->step;

        if (!(fabs(got - c->p[i]) <= bound * (1 + fabs(c->p[i])) + 16 * eps))
            complain(rule->name, c->step, got, c->p[i]);
    }
}

/* The gradient of a step; some rows have none. */
static void draw_gradient(struct course *c)
{
    for (int64_t i = 0; i < c->rows * c->columns; i++) {
        const uint64_t row = hash_of(c->seed + 77, (uint64_t)(c->step * 100 + i / c->columns));

        c->g[i] = row % 4 == 0 ? 0 : normal(c->seed + (uint64_t)c->step, i);
    }
}

static struct course course_of(uint64_t seed, struct random *random)
{
    struct course c = {.seed = seed};

    c.rows = 1 + random_below(random, 6);
    c.columns = 1 + random_below(random, 8);
    c.lr = 0.03125 * (double)(1 + random_below(random, 4));
    c.decay = random_chance(random, 50) ? 0.125 : 0;
    c.eps = random_chance(random, 50) ? 1e-3 : 0.125;
    c.flag = random_chance(random, 50);
    c.maximize = random_chance(random, 30);
    for (int64_t i = 0; i < c.rows * c.columns; i++)
        c.p[i] = (double)(float)normal(seed, i);
    return c;
}

static void run_rule(struct course *c, const struct rule *rule, ht_dtype dtype, int split,
                     int steps)
{
    ht_tensor *p = matrix_of(c->p, c->rows, c->columns, dtype, split), *list[1] = {p};
    ht_value *parameters;
    ht_optimizer *optimizer;
    bool maximize;

    ht_tensor_set_requires_grad(p, true);
    parameters = ht_value_tensors(1, list);
    if (strcmp(rule->name, "muon") == 0) /* it has no such option */
        c->maximize = false;
    maximize = c->maximize;
    optimizer = rule->make(parameters, c);
    for (c->step = 1; c->step <= steps; c->step++) {
        ht_tensor *g;

        draw_gradient(c);
        g = matrix_of(c->g, c->rows, c->columns, dtype, split);
        ht_optimizer_zero_grad(optimizer);
        if (ht_backward(ht_sum(ht_mul(p, g), HT_NONE)) != HT_SUCCESS ||
            ht_optimizer_step(optimizer) != HT_SUCCESS) {
            complain(rule->name, c->step, NAN, 0);
            break;
        }
        for (int64_t i = 0; i < c->rows * c->columns; i++)
            c->g[i] = (maximize ? -1 : 1) *
                      (dtype == HT_FLOAT32 ? (double)(float)c->g[i] : c->g[i]);
        rule->step(c);
        compare(c, rule, p);
    }
    ht_release(optimizer);
}

/* --- L-BFGS: sum a (p - b)^2 / 2 with a from 0.5 to 1.5 --- */

struct parabola {
    ht_optimizer *optimizer;
    ht_tensor *p, *a, *b;
};

static ht_tensor *parabola(void *user)
{
    const struct parabola *f = user;
    ht_tensor *loss;

    ht_optimizer_zero_grad(f->optimizer);
    loss = ht_mul_scalar(ht_sum(ht_mul(f->a, ht_square(ht_sub(f->p, f->b))), HT_NONE), 0.5);
    return ht_backward(loss) == HT_SUCCESS ? loss : NULL;
}

static void run_lbfgs(struct course *c, int split)
{
    ht_lbfgs_options options = ht_lbfgs_options_default();
    double a[MOST_NUMBERS], b[MOST_NUMBERS];
    struct parabola f = {.p = matrix_of(c->p, c->rows, c->columns, HT_FLOAT64, split)};
    ht_tensor *list[1] = {f.p};
    struct array now;

    for (int64_t i = 0; i < c->rows * c->columns; i++) {
        a[i] = 1 + normal(c->seed + 1, i) / 2;
        b[i] = normal(c->seed + 2, i);
    }
    f.a = matrix_of(a, c->rows, c->columns, HT_FLOAT64, split);
    f.b = matrix_of(b, c->rows, c->columns, HT_FLOAT64, split);
    ht_tensor_set_requires_grad(f.p, true);
    options.strong_wolfe = c->flag;
    options.tolerance_change = 0;
    options.history_size = 10;
    f.optimizer = ht_optim_lbfgs(ht_value_tensors(1, list), 1, &options);
    for (c->step = 1; c->step <= 4; c->step++) {
        if (ht_optimizer_step_with(f.optimizer, parabola, &f, NULL) != HT_SUCCESS)
            complain("lbfgs", c->step, NAN, 0);
    }
    gather(f.p, &now);
    for (int64_t i = 0; i < c->rows * c->columns; i++) {
        if (!(fabs(array_at(&now, i).re - b[i]) <= 1e-5))
            complain("lbfgs", c->step, array_at(&now, i).re, b[i]);
    }
    ht_release(f.optimizer);
}

bool family_optimizers(uint64_t seed, bool trace)
{
    struct random random = {hash_of(seed, 4242)};
    const struct rule *rule = optimizer_rules;
    int64_t objects = objects_alive(), count = 0, which;
    ht_scope *scope = ht_scope_open();
    ht_dtype dtype = random_chance(&random, 30) ? HT_FLOAT32 : HT_FLOAT64;
    const int split = (int[]){HT_NONE, HT_LOCAL, 0, 1}[random_below(&random, 4)];
    struct course c;
    int failed;

    failure[0] = '\0';
    ht_set_grad_enabled(true);
    while (optimizer_rules[count].name != NULL)
        count++;
    c = course_of(seed, &random);
    which = random_below(&random, count + 1);
    rule = &optimizer_rules[which];
    if (trace && ht_comm_rank(HT_COMM_WORLD) == 0)
        fprintf(stderr, "  %s of (%lld, %lld) %s, split %d\n", which < count ? rule->name : "lbfgs",
                (long long)c.rows, (long long)c.columns, ht_dtype_name(dtype), split);
    if (which < count)
        run_rule(&c, rule, dtype, split, 1 + (int)random_below(&random, 8));
    else
        run_lbfgs(&c, split == HT_LOCAL ? HT_LOCAL : split);
    ht_error_clear();
    ht_scope_close(scope);
    arrays_free();
    if (objects_alive() != objects)
        complain("objects are left", 0, (double)(objects_alive() - objects), 0);
    failed = failure[0] != '\0';
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (failed && ht_comm_rank(HT_COMM_WORLD) == 0)
        fprintf(stderr, "fuzz: optimizers, seed %llu, %d ranks: %s (%lld, %lld) %s, split %d\n",
                (unsigned long long)seed, ht_comm_size(HT_COMM_WORLD), failure, (long long)c.rows,
                (long long)c.columns, ht_dtype_name(dtype), split);
    return !failed;
}

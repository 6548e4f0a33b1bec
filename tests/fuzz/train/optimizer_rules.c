/* SPDX-License-Identifier: MIT */
#include "fuzz/train/optimizer_rules.h"

#include <math.h>

#define EACH for (int64_t i = 0; i < c->rows * c->columns; i++)
static const double beta1 = 0.75, beta2 = 0.875;

/* g + decay p */
static void add_decay(struct course *c)
{
    EACH c->g[i] += c->decay * c->p[i];
}

static void shrink_weights(struct course *c)
{
    EACH c->p[i] *= 1 - c->lr * c->decay;
}

/* The running means of Adam's kin: state[0] of g, state[1] of g^2. */
static void run_means(struct course *c)
{
    EACH
    {
        c->state[0][i] = beta1 * c->state[0][i] + (1 - beta1) * c->g[i];
        c->state[1][i] = beta2 * c->state[1][i] + (1 - beta2) * c->g[i] * c->g[i];
    }
}

static double unbiased(double mean, double beta, int64_t step)
{
    return mean / (1 - pow(beta, (double)step));
}

/* --- SGD --- */

static ht_optimizer *make_sgd(ht_value *parameters, const struct course *c)
{
    ht_sgd_options o = ht_sgd_options_default();

    o.momentum = beta1;
    o.dampening = c->flag ? 0 : 0.25;
    o.nesterov = c->flag;
    o.weight_decay = c->decay;
    o.maximize = c->maximize;
    return ht_optim_sgd(parameters, c->lr, &o);
}

static void step_sgd(struct course *c)
{
    add_decay(c);
    EACH
    {
        double *v = &c->state[0][i];

        *v = c->step == 1 ? c->g[i] : beta1 * *v + (c->flag ? 1 : 0.75) * c->g[i];
        c->p[i] -= c->lr * (c->flag ? c->g[i] + beta1 * *v : *v);
    }
}

/* --- Adam and its kin --- */

static ht_adam_options adam_options(const struct course *c)
{
    ht_adam_options o = ht_adam_options_default();

    o.beta1 = beta1;
    o.beta2 = beta2;
    o.eps = c->eps;
    o.weight_decay = c->decay;
    o.amsgrad = c->flag;
    o.maximize = c->maximize;
    return o;
}

static ht_optimizer *make_adam(ht_value *parameters, const struct course *c)
{
    ht_adam_options o = adam_options(c);

    return ht_optim_adam(parameters, c->lr, &o);
}

static ht_optimizer *make_adamw(ht_value *parameters, const struct course *c)
{
    ht_adam_options o = adam_options(c);

    return ht_optim_adamw(parameters, c->lr, &o);
}

static void step_moments(struct course *c)
{
    run_means(c);
    EACH
    {
        double v = c->state[1][i];

        c->state[2][i] = fmax(c->state[2][i], v);
        v = unbiased(c->flag ? c->state[2][i] : v, beta2, c->step);
        c->p[i] -= c->lr * unbiased(c->state[0][i], beta1, c->step) / (sqrt(v) + c->eps);
    }
}

static void step_adam(struct course *c)
{
    add_decay(c);
    step_moments(c);
}

static void step_adamw(struct course *c)
{
    shrink_weights(c);
    step_moments(c);
}

static ht_optimizer *make_adamax(ht_value *parameters, const struct course *c)
{
    ht_adamax_options o = ht_adamax_options_default();

    o.beta1 = beta1;
    o.beta2 = beta2;
    o.eps = c->eps;
    o.weight_decay = c->decay;
    o.maximize = c->maximize;
    return ht_optim_adamax(parameters, c->lr, &o);
}

static void step_adamax(struct course *c)
{
    add_decay(c);
    EACH
    {
        double *u = &c->state[1][i];

        c->state[0][i] = beta1 * c->state[0][i] + (1 - beta1) * c->g[i];
        *u = fmax(beta2 * *u, fabs(c->g[i]) + c->eps);
        c->p[i] -= c->lr * unbiased(c->state[0][i], beta1, c->step) / *u;
    }
}

static ht_optimizer *make_nadam(ht_value *parameters, const struct course *c)
{
    ht_nadam_options o = ht_nadam_options_default();

    o.beta1 = beta1;
    o.beta2 = beta2;
    o.eps = c->eps;
    o.weight_decay = c->decay;
    o.decoupled_weight_decay = c->flag;
    o.maximize = c->maximize;
    return ht_optim_nadam(parameters, c->lr, &o);
}

static double nadam_share(int64_t step)
{
    return beta1 * (1 - 0.5 * pow(0.96, (double)step * 4e-3));
}

/* scalar[0]: the product of all shares so far, less 1, so that it starts with 0. */
static void step_nadam(struct course *c)
{
    const double now = nadam_share(c->step), next = nadam_share(c->step + 1);
    const double product = (c->scalar[0] + 1) * now;

    (c->flag ? shrink_weights : add_decay)(c);
    run_means(c);
    EACH
    {
        const double size = sqrt(unbiased(c->state[1][i], beta2, c->step)) + c->eps;

        c->p[i] -= c->lr *
                   ((1 - now) * c->g[i] / (1 - product) +
                    next * c->state[0][i] / (1 - product * next)) /
                   size;
    }
    c->scalar[0] = product - 1;
}

static ht_optimizer *make_radam(ht_value *parameters, const struct course *c)
{
    ht_radam_options o = ht_radam_options_default();

    o.beta1 = beta1;
    o.beta2 = beta2;
    o.eps = c->eps;
    o.weight_decay = c->decay;
    o.decoupled_weight_decay = c->flag;
    o.maximize = c->maximize;
    return ht_optim_radam(parameters, c->lr, &o);
}

static void step_radam(struct course *c)
{
    const double t = (double)c->step, power = pow(beta2, t), most = 2 / (1 - beta2) - 1;
    const double rho = most - 2 * t * power / (1 - power);
    const double r = sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho));

    (c->flag ? shrink_weights : add_decay)(c);
    run_means(c);
    EACH
    {
        const double m = unbiased(c->state[0][i], beta1, c->step);

        c->p[i] -= rho > 5 ? c->lr * m * r * sqrt(1 - power) / (sqrt(c->state[1][i]) + c->eps)
                           : c->lr * m;
    }
}

static ht_optimizer *make_sparse_adam(ht_value *parameters, const struct course *c)
{
    ht_sparse_adam_options o = ht_sparse_adam_options_default();

    o.beta1 = beta1;
    o.beta2 = beta2;
    o.eps = c->eps;
    o.maximize = c->maximize;
    return ht_optim_sparse_adam(parameters, c->lr, &o);
}

static void step_sparse_adam(struct course *c)
{
    const double t = (double)c->step;

    for (int64_t row = 0; row < c->rows; row++) {
        bool any = false;

        for (int64_t i = row * c->columns; i < (row + 1) * c->columns; i++)
            any = any || c->g[i] != 0;
        for (int64_t i = row * c->columns; any && i < (row + 1) * c->columns; i++) {
            c->state[0][i] = beta1 * c->state[0][i] + (1 - beta1) * c->g[i];
            c->state[1][i] = beta2 * c->state[1][i] + (1 - beta2) * c->g[i] * c->g[i];
            c->p[i] -= c->lr * sqrt(1 - pow(beta2, t)) / (1 - pow(beta1, t)) * c->state[0][i] /
                       (sqrt(c->state[1][i]) + c->eps);
        }
    }
}

/* --- Others, element by element --- */

static ht_optimizer *make_adadelta(ht_value *parameters, const struct course *c)
{
    ht_adadelta_options o = ht_adadelta_options_default();

    o.rho = beta2;
    o.eps = c->eps;
    o.weight_decay = c->decay;
    o.maximize = c->maximize;
    return ht_optim_adadelta(parameters, c->lr, &o);
}

static void step_adadelta(struct course *c)
{
    add_decay(c);
    EACH
    {
        double *v = &c->state[0][i], *u = &c->state[1][i], d;

        *v = beta2 * *v + (1 - beta2) * c->g[i] * c->g[i];
        d = sqrt(*u + c->eps) / sqrt(*v + c->eps) * c->g[i];
        *u = beta2 * *u + (1 - beta2) * d * d;
        c->p[i] -= c->lr * d;
    }
}

static ht_optimizer *make_adagrad(ht_value *parameters, const struct course *c)
{
    ht_adagrad_options o = ht_adagrad_options_default();

    o.lr_decay = 0.125;
    o.initial_accumulator_value = c->flag ? 0.5 : 0;
    o.eps = c->eps;
    o.weight_decay = c->decay;
    o.maximize = c->maximize;
    return ht_optim_adagrad(parameters, c->lr, &o);
}

static void step_adagrad(struct course *c)
{
    add_decay(c);
    EACH
    {
        double *v = &c->state[0][i];

        *v += c->g[i] * c->g[i] + (c->step == 1 && c->flag ? 0.5 : 0);
        c->p[i] -= c->lr / (1 + (double)(c->step - 1) * 0.125) * c->g[i] / (sqrt(*v) + c->eps);
    }
}

static ht_optimizer *make_rmsprop(ht_value *parameters, const struct course *c)
{
    ht_rmsprop_options o = ht_rmsprop_options_default();

    o.alpha = beta2;
    o.eps = c->eps;
    o.weight_decay = c->decay;
    o.momentum = 0.5;
    o.centered = c->flag;
    o.maximize = c->maximize;
    return ht_optim_rmsprop(parameters, c->lr, &o);
}

static void step_rmsprop(struct course *c)
{
    add_decay(c);
    EACH
    {
        double *v = &c->state[0][i], *mean = &c->state[1][i], *b = &c->state[2][i];

        *v = beta2 * *v + (1 - beta2) * c->g[i] * c->g[i];
        *mean = beta2 * *mean + (1 - beta2) * c->g[i];
        *b = 0.5 * *b + c->g[i] / (sqrt(fmax(c->flag ? *v - *mean * *mean : *v, 0)) + c->eps);
        c->p[i] -= c->lr * *b;
    }
}

static ht_optimizer *make_rprop(ht_value *parameters, const struct course *c)
{
    ht_rprop_options o = ht_rprop_options_default();

    o.step_size_min = 0.01;
    o.step_size_max = 0.3;
    o.maximize = c->maximize;
    return ht_optim_rprop(parameters, c->lr, &o);
}

static void step_rprop(struct course *c)
{
    EACH
    {
        double *before = &c->state[0][i], *size = &c->state[1][i], g = c->g[i];
        const double sign = g * *before;

        *size = c->step == 1 ? c->lr : *size;
        *size = fmin(fmax(*size * (sign > 0 ? 1.2 : sign < 0 ? 0.5 : 1), 0.01), 0.3);
        g = sign < 0 ? 0 : g;
        c->p[i] -= (g > 0 ? 1 : g < 0 ? -1 : 0) * *size;
        *before = g;
    }
}

static ht_optimizer *make_asgd(ht_value *parameters, const struct course *c)
{
    ht_asgd_options o = ht_asgd_options_default();

    o.lambd = 0.125;
    o.t0 = 1;
    o.weight_decay = c->decay;
    o.maximize = c->maximize;
    return ht_optim_asgd(parameters, c->lr, &o);
}

static void step_asgd(struct course *c)
{
    const double t = (double)(c->step - 1);
    const double eta = t > 0 ? c->lr / pow(1 + 0.125 * c->lr * t, 0.75) : c->lr;

    add_decay(c);
    EACH c->p[i] = (1 - 0.125 * eta) * c->p[i] - eta * c->g[i];
}

/* --- Rules of complete matrices --- */

static ht_optimizer *make_adafactor(ht_value *parameters, const struct course *c)
{
    ht_adafactor_options o = ht_adafactor_options_default();

    o.beta2_decay = -0.5;
    o.eps1 = 0x1p-10;
    o.eps2 = 0.0625;
    o.d = c->flag ? 1.5 : 1;
    o.weight_decay = c->decay;
    o.maximize = c->maximize;
    return ht_optim_adafactor(parameters, c->lr, &o);
}

static double root_mean_square(const double x[], int64_t count)
{
    double sum = 0;

    for (int64_t i = 0; i < count; i++)
        sum += x[i] * x[i];
    return sqrt(sum / (double)count);
}

/* state[0]: mean squares of rows, state[1]: of columns. */
static void step_adafactor(struct course *c)
{
    const double share = pow((double)c->step, -0.5), n = (double)c->columns, m = (double)c->rows;
    const int64_t count = c->rows * c->columns;
    const double a = fmax(0.0625, root_mean_square(c->p, count)) *
                     fmin(c->lr, 1 / sqrt((double)c->step));
    double rows[MOST_NUMBERS] = {0}, columns[MOST_NUMBERS] = {0}, u[MOST_NUMBERS], mean = 0, size;

    EACH
    {
        rows[i / c->columns] += c->g[i] * c->g[i] / n;
        columns[i % c->columns] += c->g[i] * c->g[i] / m;
    }
    for (int64_t i = 0; i < c->rows; i++) {
        c->state[0][i] += share * (rows[i] - c->state[0][i]);
        mean += c->state[0][i] / m;
    }
    for (int64_t i = 0; i < c->columns; i++)
        c->state[1][i] += share * (columns[i] - c->state[1][i]);
    shrink_weights(c);
    EACH
    {
        const double v = c->state[0][i / c->columns] * c->state[1][i % c->columns] /
                         fmax(mean, 0x1p-10);

        u[i] = c->g[i] / sqrt(fmax(v, 0x1p-20));
    }
    size = fmax(1, root_mean_square(u, count) / (c->flag ? 1.5 : 1));
    EACH c->p[i] -= a * u[i] / size;
}

static ht_optimizer *make_muon(ht_value *parameters, const struct course *c)
{
    ht_muon_options o = ht_muon_options_default();

    o.momentum = beta1;
    o.nesterov = c->flag;
    o.weight_decay = c->decay;
    o.ns_steps = 2;
    o.adjust_lr = (int)(c->seed % 3);
    return ht_optim_muon(parameters, c->lr, &o);
}

/* x = a x + (b A + c A A) x with A = x x^T, where x is (m, n) with m <= n. */
static void iterate(double x[], int64_t m, int64_t n)
{
    double a[MOST_NUMBERS] = {0}, b[MOST_NUMBERS] = {0}, y[MOST_NUMBERS];

    for (int64_t i = 0; i < m * m * n; i++)
        a[i / n] += x[i / n / m * n + i % n] * x[i / n % m * n + i % n];
    for (int64_t i = 0; i < m * m * m; i++)
        b[i / m] += 2.0315 * a[i / m / m * m + i % m] * a[i % m * m + i / m % m];
    for (int64_t i = 0; i < m * m; i++)
        b[i] += -4.7750 * a[i];
    for (int64_t i = 0; i < m * n; i++) {
        y[i] = 3.4445 * x[i];
        for (int64_t k = 0; k < m; k++)
            y[i] += b[i / n * m + k] * x[k * n + i % n];
    }
    for (int64_t i = 0; i < m * n; i++)
        x[i] = y[i];
}

static void step_muon(struct course *c)
{
    const double m = (double)c->rows, n = (double)c->columns, most = fmax(m, n);
    const double factors[] = {sqrt(fmax(1, m / n)), 0.2 * sqrt(most), sqrt(m / n)};
    const bool tall = c->rows > c->columns;
    double x[MOST_NUMBERS], norm = 0;

    EACH
    {
        double *v = &c->state[0][i], g = c->g[i];
        const int64_t to = tall ? i % c->columns * c->rows + i / c->columns : i;

        *v = beta1 * *v + (1 - beta1) * g;
        x[to] = c->flag ? (1 - beta1) * g + beta1 * *v : *v;
        norm += x[to] * x[to];
    }
    norm = fmax(sqrt(norm), 1e-7);
    EACH x[i] /= norm;
    for (int k = 0; k < 2; k++)
        iterate(x, tall ? c->columns : c->rows, tall ? c->rows : c->columns);
    shrink_weights(c);
    EACH
    {
        const int64_t from = tall ? i % c->columns * c->rows + i / c->columns : i;

        c->p[i] -= c->lr * factors[c->seed % 3] * x[from];
    }
}

const struct rule optimizer_rules[] = {{"sgd", make_sgd, step_sgd, 0},
                                       {"adam", make_adam, step_adam, 0},
                                       {"adamw", make_adamw, step_adamw, 0},
                                       {"adamax", make_adamax, step_adamax, 0},
                                       {"nadam", make_nadam, step_nadam, 0},
                                       {"radam", make_radam, step_radam, 0},
                                       {"sparse_adam", make_sparse_adam, step_sparse_adam, 0},
                                       {"adadelta", make_adadelta, step_adadelta, 0},
                                       {"adagrad", make_adagrad, step_adagrad, 0},
                                       {"rmsprop", make_rmsprop, step_rmsprop, 0},
                                       {"rprop", make_rprop, step_rprop, 0},
                                       {"asgd", make_asgd, step_asgd, 0},
                                       {"adafactor", make_adafactor, step_adafactor, 0},
                                       {"muon", make_muon, step_muon, 0.125},
                                       {NULL, NULL, NULL, 0}};

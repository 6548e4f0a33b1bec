/* SPDX-License-Identifier: MIT
 *
 * Schedules compared with their formulas, alone and one after another. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fuzz/fuzz.h"

/* Numbers of a schedule, drawn in the same way for all kinds. */
struct course {
    double lr, factor, least, most; /* the first rate; a part of it; others */
    int64_t length, times;          /* epochs; of a period, and a multiple */
    bool flag;
    int mode;
};

struct rule {
    const char *name;
    ht_scheduler *(*make)(ht_optimizer *optimizer, struct course *c);
    double (*rate)(const struct course *c, int64_t epoch);
};

/* --- The schedules --- */

static double cosine(double from, double to, double part)
{
    return to + (from - to) * (1 + cos(acos(-1) * part)) / 2;
}

static double factor_of(int64_t epoch, void *user)
{
    const struct course *c = user;

    return 1 / (1 + c->factor * (double)epoch);
}

static ht_scheduler *make_step(ht_optimizer *optimizer, struct course *c)
{
    return ht_optim_step_lr(optimizer, c->length, c->factor);
}

static double step_rate(const struct course *c, int64_t epoch)
{
    return c->lr * pow(c->factor, (double)(epoch / c->length));
}

static ht_scheduler *make_milestones(ht_optimizer *optimizer, struct course *c)
{
    const int64_t milestones[] = {c->length + 2, c->length, c->length};

    return ht_optim_multi_step_lr(optimizer, 3, milestones, c->factor);
}

static double milestones_rate(const struct course *c, int64_t epoch)
{
    return c->lr * pow(c->factor, 2 * (epoch >= c->length) + (epoch >= c->length + 2));
}

static ht_scheduler *make_exponential(ht_optimizer *optimizer, struct course *c)
{
    return ht_optim_exponential_lr(optimizer, c->factor);
}

static double exponential_rate(const struct course *c, int64_t epoch)
{
    return c->lr * pow(c->factor, (double)epoch);
}

static ht_scheduler *make_cosine(ht_optimizer *optimizer, struct course *c)
{
    return ht_optim_cosine_annealing_lr(optimizer, c->length, c->least);
}

static double cosine_rate(const struct course *c, int64_t epoch)
{
    return cosine(c->lr, c->least, (double)epoch / (double)c->length);
}

/* From a number that rounding made, to 0.75 or to 0. */
static double begin_of_line(const struct course *c)
{
    return c->factor / 3;
}

static double end_of_line(const struct course *c)
{
    return c->flag ? 0.75 : 0;
}

static ht_scheduler *make_linear(ht_optimizer *optimizer, struct course *c)
{
    return ht_optim_linear_lr(optimizer, begin_of_line(c), end_of_line(c), c->length);
}

static double linear_rate(const struct course *c, int64_t epoch)
{
    const double part = fmin(1, (double)epoch / (double)c->length);

    return c->lr * (begin_of_line(c) + (end_of_line(c) - begin_of_line(c)) * part);
}

static ht_scheduler *make_lambda(ht_optimizer *optimizer, struct course *c)
{
    return ht_optim_lambda_lr(optimizer, factor_of, c);
}

static double lambda_rate(const struct course *c, int64_t epoch)
{
    return c->lr / (1 + c->factor * (double)epoch);
}

static ht_scheduler *make_multiplicative(ht_optimizer *optimizer, struct course *c)
{
    return ht_optim_multiplicative_lr(optimizer, factor_of, c);
}

static double multiplicative_rate(const struct course *c, int64_t epoch)
{
    double rate = c->lr;

    for (int64_t e = 1; e <= epoch; e++)
        rate /= 1 + c->factor * (double)e;
    return rate;
}

static ht_scheduler *make_constant(ht_optimizer *optimizer, struct course *c)
{
    return ht_optim_constant_lr(optimizer, c->factor, c->length);
}

static double constant_rate(const struct course *c, int64_t epoch)
{
    return epoch < c->length ? c->lr * c->factor : c->lr;
}

static ht_scheduler *make_polynomial(ht_optimizer *optimizer, struct course *c)
{
    return ht_optim_polynomial_lr(optimizer, c->length, c->flag ? 2 : 1);
}

static double polynomial_rate(const struct course *c, int64_t epoch)
{
    const double rest = fmax(0, 1 - (double)epoch / (double)c->length);

    return c->lr * (c->flag ? rest * rest : rest);
}

static ht_scheduler *make_restarts(ht_optimizer *optimizer, struct course *c)
{
    return ht_optim_cosine_annealing_warm_restarts(optimizer, c->length, c->times, c->least);
}

static double restarts_rate(const struct course *c, int64_t epoch)
{
    int64_t period = c->length;

    while (epoch >= period) {
        epoch -= period;
        period *= c->times;
    }
    return cosine(c->lr, c->least, (double)epoch / (double)period);
}

static ht_scheduler *make_cyclic(ht_optimizer *optimizer, struct course *c)
{
    ht_cyclic_lr_options options = ht_cyclic_lr_options_default();

    options.step_size_up = c->length;
    options.step_size_down = c->flag ? c->times : 0;
    options.mode = (ht_cyclic_mode)c->mode;
    options.gamma = c->factor;
    options.cycle_momentum = false;
    return ht_optim_cyclic_lr(optimizer, c->least, c->most, &options);
}

static double cyclic_rate(const struct course *c, int64_t epoch)
{
    const int64_t up = c->length, down = c->flag ? c->times : up, cycle = epoch / (up + down);
    const int64_t at = epoch % (up + down);
    const double part = at <= up ? (double)at / (double)up : 1 - (double)(at - up) / (double)down;
    const double height[] = {1, pow(0.5, (double)cycle), pow(c->factor, (double)epoch)};

    return c->least + (c->most - c->least) * part * height[c->mode];
}

enum { CYCLE = 12 };

static ht_scheduler *make_one_cycle(ht_optimizer *optimizer, struct course *c)
{
    ht_one_cycle_lr_options options = ht_one_cycle_lr_options_default();

    options.pct_start = 0.25;
    options.linear = c->flag;
    options.cycle_momentum = false;
    options.div_factor = 8;
    options.final_div_factor = 16;
    options.three_phase = c->mode == 1;
    return ht_optim_one_cycle_lr(optimizer, c->most, CYCLE + 1, &options);
}

/* Ends of the phases in steps of the total less 1: up, down, and with three of them, to the end. */
static double one_cycle_rate(const struct course *c, int64_t epoch)
{
    const double first = c->most / 8, total = CYCLE + 1;
    const double rates[] = {first, c->most, c->mode == 1 ? first : first / 16, first / 16};
    const double ends[] = {0, 0.25 * total - 1, c->mode == 1 ? 0.5 * total - 2 : total - 1,
                           total - 1};
    int phase = 0;
    double part;

    while (phase < 2 && (double)epoch > ends[phase + 1])
        phase++;
    part = ((double)epoch - ends[phase]) / (ends[phase + 1] - ends[phase]);
    return c->flag ? rates[phase] + (rates[phase + 1] - rates[phase]) * part
                   : cosine(rates[phase], rates[phase + 1], part);
}

static ht_scheduler *make_swa(ht_optimizer *optimizer, struct course *c)
{
    return ht_optim_swa_lr(optimizer, c->most, c->length, c->flag);
}

static double swa_rate(const struct course *c, int64_t epoch)
{
    const double part = fmin(1, (double)epoch / (double)c->length);

    return c->flag ? c->lr + (c->most - c->lr) * part : cosine(c->lr, c->most, part);
}

/* A warm-up, and then another one. */
static ht_scheduler *make_sequential(ht_optimizer *optimizer, struct course *c)
{
    ht_scheduler *list[2] = {make_constant(optimizer, c), make_exponential(optimizer, c)};
    ht_scheduler *both = ht_optim_sequential_lr(2, list, &c->length);

    ht_release(list[0]);
    ht_release(list[1]);
    return both;
}

static double sequential_rate(const struct course *c, int64_t epoch)
{
    return epoch < c->length ? constant_rate(c, epoch) : exponential_rate(c, epoch - c->length);
}

static ht_scheduler *make_chained(ht_optimizer *optimizer, struct course *c)
{
    ht_scheduler *list[2] = {make_constant(optimizer, c), make_exponential(optimizer, c)};
    ht_scheduler *both = ht_optim_chained_scheduler(2, list);

    ht_release(list[0]);
    ht_release(list[1]);
    return both;
}

static double chained_rate(const struct course *c, int64_t epoch)
{
    return constant_rate(c, epoch) * pow(c->factor, (double)epoch);
}

static ht_scheduler *make_sequential_of_chains(ht_optimizer *optimizer, struct course *c)
{
    ht_scheduler *list[2] = {make_chained(optimizer, c), make_exponential(optimizer, c)};
    ht_scheduler *both = ht_optim_sequential_lr(2, list, &c->length);

    ht_release(list[0]);
    ht_release(list[1]);
    return both;
}

/* A chain inside a sequence inside a sequence. */
static ht_scheduler *make_nested(ht_optimizer *optimizer, struct course *c)
{
    const int64_t milestones[] = {c->times};
    ht_scheduler *list[2] = {make_exponential(optimizer, c),
                             make_sequential_of_chains(optimizer, c)};
    ht_scheduler *both = ht_optim_sequential_lr(2, list, milestones);

    ht_release(list[0]);
    ht_release(list[1]);
    return both;
}

static double nested_rate(const struct course *c, int64_t epoch)
{
    if (epoch < c->times)
        return exponential_rate(c, epoch);
    epoch -= c->times;
    return epoch < c->length ? chained_rate(c, epoch) : exponential_rate(c, epoch - c->length);
}

static const struct rule rules[] = {{"step", make_step, step_rate},
                                    {"multi_step", make_milestones, milestones_rate},
                                    {"exponential", make_exponential, exponential_rate},
                                    {"cosine", make_cosine, cosine_rate},
                                    {"linear", make_linear, linear_rate},
                                    {"lambda", make_lambda, lambda_rate},
                                    {"multiplicative", make_multiplicative, multiplicative_rate},
                                    {"constant", make_constant, constant_rate},
                                    {"polynomial", make_polynomial, polynomial_rate},
                                    {"warm_restarts", make_restarts, restarts_rate},
                                    {"cyclic", make_cyclic, cyclic_rate},
                                    {"one_cycle", make_one_cycle, one_cycle_rate},
                                    {"swa", make_swa, swa_rate},
                                    {"sequential", make_sequential, sequential_rate},
                                    {"chained", make_chained, chained_rate},
                                    {"nested", make_nested, nested_rate}};
enum { RULES = sizeof rules / sizeof *rules };

/* --- The family --- */

/* Whether the rates of the first epochs are right; a state that is loaded changes nothing. */
static bool rates_are_right(const struct rule *rule, const struct course *c,
                            ht_optimizer *optimizer, ht_scheduler *scheduler, char *failure,
                            size_t size)
{
    for (int64_t epoch = 0; epoch <= CYCLE; epoch++) {
        const double right = rule->rate(c, epoch), got = ht_optimizer_lr(optimizer);

        if (!(fabs(got - right) <= 1e-12 * (1 + fabs(right)))) {
            snprintf(failure, size, "%s, epoch %lld: %.17g; %.17g is right", rule->name,
                     (long long)epoch, got, right);
            return false;
        }
        if (epoch == 5 && ht_scheduler_load_state_dict(
                              scheduler, ht_scheduler_state_dict(scheduler)) != HT_SUCCESS) {
            snprintf(failure, size, "%s: its own state does not fit", rule->name);
            return false;
        }
        if (epoch < CYCLE && ht_scheduler_step(scheduler) != HT_SUCCESS) {
            snprintf(failure, size, "%s, epoch %lld: a step failed", rule->name, (long long)epoch);
            return false;
        }
    }
    return true;
}

bool family_schedules(uint64_t seed, bool trace)
{
    struct random random = {hash_of(seed, 5151)};
    const struct rule *rule = &rules[random_below(&random, RULES)];
    struct course c = {.lr = 0.0625 * (double)(1 + random_below(&random, 8)),
                       .factor = 0.125 * (double)(1 + random_below(&random, 7)),
                       .least = 0.0078125 * (double)random_below(&random, 4),
                       .most = 0.25 * (double)(1 + random_below(&random, 4)),
                       .length = 1 + random_below(&random, 6),
                       .times = 1 + random_below(&random, 3),
                       .flag = random_chance(&random, 50),
                       .mode = (int)random_below(&random, 3)};
    const double zero = 0;
    ht_scope *scope = ht_scope_open();
    ht_tensor *p = ht_array(&zero, 0, NULL, HT_FLOAT64, HT_LOCAL);
    ht_optimizer *optimizer = ht_optim_sgd(ht_value_tensors(1, &p), c.lr, NULL);
    ht_scheduler *scheduler = rule->make(optimizer, &c);
    char failure[256] = "";
    bool right = rates_are_right(rule, &c, optimizer, scheduler, failure, sizeof failure);

    ht_release(scheduler);
    ht_release(optimizer);
    ht_scope_close(scope);
    ht_error_clear();
    if ((!right || trace) && ht_comm_rank(HT_COMM_WORLD) == 0)
        fprintf(stderr,
                "fuzz: schedules, seed %llu: %s %s (length %lld, times %lld, flag %d, %d)\n",
                (unsigned long long)seed, rule->name, failure, (long long)c.length,
                (long long)c.times, c.flag, c.mode);
    return right;
}

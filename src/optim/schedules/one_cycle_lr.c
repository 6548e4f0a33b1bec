/* SPDX-License-Identifier: MIT
 *
 * One cycle over a complete training. The learning rate rises to max_lr and falls to far below its
 * first value; the momentum moves in the opposite direction (Smith and Topin 2018). */
#include "optim/optim.h"

#include <math.h>

enum { PHASES = 3 };

/* A phase ends at a step, with a rate and a momentum; the one before is where it begins. */
typedef struct phase {
    double end, lr, momentum;
} phase;

struct one_cycle_lr {
    ht_scheduler base;
    ht_one_cycle_lr_options options;
    int64_t total;
    int count;
    phase phases[1 + PHASES]; /* the first is the beginning */
};

ht_one_cycle_lr_options ht_one_cycle_lr_options_default(void)
{
    return (ht_one_cycle_lr_options){.size = sizeof(ht_one_cycle_lr_options),
                                     .pct_start = 0.3,
                                     .cycle_momentum = true,
                                     .base_momentum = 0.85,
                                     .max_momentum = 0.95,
                                     .div_factor = 25,
                                     .final_div_factor = 1e4};
}

static double between(const struct one_cycle_lr *rule, double begin, double end, double part)
{
    const double pi = 3.14159265358979323846;

    if (rule->options.linear)
        return (end - begin) * part + begin;
    return end + (begin - end) / 2 * (cos(pi * part) + 1);
}

/* The phase of this step, and how much of it is over. A step after the last stays at the end, where
 * PyTorch goes beyond it, to negative rates. */
static const phase *now(const struct one_cycle_lr *rule, double *part)
{
    const double step = (double)rule->base.epoch;
    const phase *p = &rule->phases[1];

    while (step > p->end && p < &rule->phases[rule->count])
        p++;
    *part = fmin((step - p[-1].end) / (p->end - p[-1].end), 1);
    return p;
}

static double one_cycle_lr(const ht_scheduler *scheduler, double lr, double first)
{
    const struct one_cycle_lr *rule = (const struct one_cycle_lr *)scheduler;
    double part;
    const phase *p = now(rule, &part);

    (void)lr;
    (void)first;
    return between(rule, p[-1].lr, p->lr, part);
}

static double momentum(const ht_scheduler *scheduler)
{
    const struct one_cycle_lr *rule = (const struct one_cycle_lr *)scheduler;
    double part;
    const phase *p = now(rule, &part);

    return rule->options.cycle_momentum ? between(rule, p[-1].momentum, p->momentum, part) : NAN;
}

static ht_status check_step(const char *what, ht_scheduler *scheduler, ht_schedule_plan *plan)
{
    const struct one_cycle_lr *rule = (const struct one_cycle_lr *)scheduler;

    (void)plan;
    if (scheduler->epoch <= rule->total)
        return HT_SUCCESS;
    return HT_FAIL(NULL, HT_ERR_STATE, "%s: step %lld of OneCycleLR, expected at most %lld steps",
                   what, (long long)scheduler->epoch, (long long)rule->total);
}

static const ht_scheduler_type type = {.name = "OneCycleLR",
                                       .start = one_cycle_lr,
                                       .lr = one_cycle_lr,
                                       .momentum = momentum,
                                       .advance = check_step};

static void lay_out(struct one_cycle_lr *rule, double max_lr)
{
    const ht_one_cycle_lr_options *o = &rule->options;
    const double first = max_lr / o->div_factor, total = (double)rule->total;

    rule->phases[0] = (phase){0, first, o->max_momentum};
    rule->phases[1] = (phase){o->pct_start * total - 1, max_lr, o->base_momentum};
    rule->count = 2;
    if (o->three_phase)
        rule->phases[rule->count++] = (phase){2 * o->pct_start * total - 2, first, o->max_momentum};
    rule->phases[rule->count] = (phase){total - 1, first / o->final_div_factor, o->max_momentum};
}

static ht_status check(const char *what, const ht_optimizer *optimizer, double max_lr,
                       const ht_one_cycle_lr_options *o)
{
    const struct {
        const char *name;
        double value, below;
    } ranges[] = {
        {"max_lr", max_lr, INFINITY},
        {"pct_start", o->pct_start, nextafter(1, 2)},
        {"div_factor", o->div_factor, INFINITY},
        {"final_div_factor", o->final_div_factor, INFINITY},
        {"base_momentum", o->base_momentum, 1},
        {"max_momentum", o->max_momentum, 1},
    };
    ht_status status = HT_CHECK_OPTIONS(NULL, what, o, ht_one_cycle_lr_options);

    for (size_t i = 0; i < sizeof ranges / sizeof *ranges && status == HT_SUCCESS; i++)
        status = ht__optim_check_range(what, ranges[i].name, ranges[i].value, 0, ranges[i].below);
    if (status == HT_SUCCESS && (o->div_factor == 0 || o->final_div_factor == 0))
        status = HT_FAIL(NULL, HT_ERR_ARGUMENT,
                         "%s: div_factor is %g and final_div_factor is %g, expected neither to "
                         "be 0",
                         what, o->div_factor, o->final_div_factor);
    if (status != HT_SUCCESS || !o->cycle_momentum)
        return status;
    return ht__optim_check_momentum(what, optimizer);
}

ht_scheduler *ht_optim_one_cycle_lr(ht_optimizer *optimizer, double max_lr, int64_t total_steps,
                                    const ht_one_cycle_lr_options *options)
{
    static const char what[] = "ht_optim_one_cycle_lr";
    const ht_one_cycle_lr_options defaults = ht_one_cycle_lr_options_default();
    struct one_cycle_lr *rule;

    options = options != NULL ? options : &defaults;
    if (HT_IS_NULL(optimizer, what, "optimizer") ||
        ht__optim_check_count(what, "total_steps", total_steps, 1) != HT_SUCCESS ||
        check(what, optimizer, max_lr, options) != HT_SUCCESS)
        return NULL;
    rule = ht__scheduler_new(&type, optimizer, sizeof *rule);
    rule->options = *options;
    rule->total = total_steps;
    lay_out(rule, max_lr);
    for (int g = 0; g < optimizer->group_count; g++)
        optimizer->groups[g].initial_lr = rule->phases[0].lr;
    return ht__scheduler_made(what, &rule->base);
}

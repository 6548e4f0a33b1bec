/* SPDX-License-Identifier: MIT
 *
 * From the learning rate of each group to one rate for averaged parameters, which then stays. */
#include "optim/optim.h"

#include <math.h>

struct swa_lr {
    ht_scheduler base;
    double rate;
    int64_t anneal_epochs;
    bool linear;
};

/* The part of the way, from 0 to 1, after `step` steps. */
static double part(const struct swa_lr *rule, int64_t step)
{
    const double pi = 3.14159265358979323846;
    const double epochs = rule->anneal_epochs > 0 ? (double)rule->anneal_epochs : 1;
    const double t = fmax(0, fmin(1, (double)step / epochs));

    return rule->linear ? t : (1 - cos(pi * t)) / 2;
}

/* From the rate of the step before, the one that the way began with; the program may change it. */
static double anneal(const ht_scheduler *scheduler, double lr, double first)
{
    const struct swa_lr *rule = (const struct swa_lr *)scheduler;
    const int64_t step = rule->anneal_epochs == 0 && scheduler->epoch == 0 ? 1 : scheduler->epoch;
    const double before = part(rule, step - 1), now = part(rule, step);
    const double begin = before == 1 ? rule->rate : (lr - before * rule->rate) / (1 - before);

    (void)first;
    return rule->rate * now + begin * (1 - now);
}

static const ht_scheduler_type type = {.name = "SWALR", .start = anneal, .lr = anneal};

ht_scheduler *ht_optim_swa_lr(ht_optimizer *optimizer, double swa_lr, int64_t anneal_epochs,
                              bool linear)
{
    static const char what[] = "ht_optim_swa_lr";
    struct swa_lr *rule;

    if (HT_IS_NULL(optimizer, what, "optimizer") ||
        ht__optim_check_range(what, "swa_lr", swa_lr, 0, INFINITY) != HT_SUCCESS ||
        ht__optim_check_count(what, "anneal_epochs", anneal_epochs, 0) != HT_SUCCESS)
        return NULL;
    rule = ht__scheduler_new(&type, optimizer, sizeof *rule);
    rule->rate = swa_lr;
    rule->anneal_epochs = anneal_epochs;
    rule->linear = linear;
    return ht__scheduler_made(what, &rule->base);
}

/* SPDX-License-Identifier: MIT
 *
 * The learning rate times gamma after every step_size epochs. */
#include "optim/optim.h"

#include <math.h>

struct step_lr {
    ht_scheduler base;
    int64_t step_size;
    double gamma;
};

static double step_lr(const ht_scheduler *scheduler, double lr, double first)
{
    const struct step_lr *rule = (const struct step_lr *)scheduler;

    (void)first;
    return scheduler->epoch % rule->step_size == 0 ? lr * rule->gamma : lr;
}

static const ht_scheduler_type type = {.name = "StepLR", .lr = step_lr};

ht_scheduler *ht_optim_step_lr(ht_optimizer *optimizer, int64_t step_size, double gamma)
{
    static const char what[] = "ht_optim_step_lr";
    struct step_lr *rule;

    if (HT_IS_NULL(optimizer, "ht_optim_step_lr", "optimizer") ||
        ht__optim_check_count(what, "step_size", step_size, 1) != HT_SUCCESS ||
        ht__optim_check_range(what, "gamma", gamma, 0, INFINITY) != HT_SUCCESS)
        return NULL;
    rule = ht__scheduler_new(&type, optimizer, sizeof *rule);
    rule->step_size = step_size;
    rule->gamma = gamma;
    return &rule->base;
}

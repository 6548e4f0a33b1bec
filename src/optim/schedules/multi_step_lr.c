/* SPDX-License-Identifier: MIT
 *
 * The learning rate times gamma at each of a list of epochs. */
#include "optim/optim.h"

#include <math.h>
#include <string.h>

struct multi_step_lr {
    ht_scheduler base;
    double gamma;
    int count;
    int64_t milestones[]; /* in any order; one that stands twice counts twice */
};

static double multi_step_lr(const ht_scheduler *scheduler, double lr, double first)
{
    const struct multi_step_lr *rule = (const struct multi_step_lr *)scheduler;
    int times = 0;

    (void)first;
    for (int i = 0; i < rule->count; i++)
        times += rule->milestones[i] == scheduler->epoch;
    return times > 0 ? lr * pow(rule->gamma, times) : lr;
}

static const ht_scheduler_type type = {.name = "MultiStepLR", .lr = multi_step_lr};

ht_scheduler *ht_optim_multi_step_lr(ht_optimizer *optimizer, int count, const int64_t milestones[],
                                     double gamma)
{
    static const char what[] = "ht_optim_multi_step_lr";
    struct multi_step_lr *rule;

    if (HT_IS_NULL(optimizer, what, "optimizer") ||
        (count > 0 && HT_IS_NULL(milestones, what, "milestones")) ||
        ht__optim_check_count(what, "count", count, 0) != HT_SUCCESS ||
        ht__optim_check_range(what, "gamma", gamma, 0, INFINITY) != HT_SUCCESS)
        return NULL;
    for (int i = 0; i < count; i++) {
        if (ht__optim_check_count(what, "a milestone", milestones[i], 1) != HT_SUCCESS)
            return NULL;
    }
    rule = ht__scheduler_new(&type, optimizer,
                             sizeof *rule + (size_t)count * sizeof *rule->milestones);
    rule->gamma = gamma;
    rule->count = count;
    if (count > 0)
        memcpy(rule->milestones, milestones, (size_t)count * sizeof *milestones);
    return &rule->base;
}

/* SPDX-License-Identifier: MIT
 *
 * Half a cosine from the first learning rate down to eta_min, then a restart. Each period is t_mult
 * times as long as the one before. */
#include "optim/optim.h"

#include <math.h>

struct warm_restarts {
    ht_scheduler base;
    double eta_min;
    double t_mult;
    double t_cur, t_i; /* epochs since the last restart, and until the next one */
};

static double warm_restarts(const ht_scheduler *scheduler, double lr, double first)
{
    const struct warm_restarts *rule = (const struct warm_restarts *)scheduler;
    const double pi = 3.14159265358979323846;

    (void)lr;
    return rule->eta_min + (first - rule->eta_min) * (1 + cos(pi * rule->t_cur / rule->t_i)) / 2;
}

static ht_status advance(const char *what, ht_scheduler *scheduler, ht_schedule_plan *plan)
{
    struct warm_restarts *rule = (struct warm_restarts *)scheduler;

    (void)what;
    (void)plan;
    rule->t_cur++;
    if (rule->t_cur >= rule->t_i) {
        rule->t_cur = fmod(rule->t_cur, rule->t_i);
        rule->t_i *= rule->t_mult;
    }
    return HT_SUCCESS;
}

static const ht_scheduler_type type = {
    .name = "CosineAnnealingWarmRestarts",
    .start = warm_restarts,
    .lr = warm_restarts,
    .advance = advance,
    .numbers = {{"t_cur", offsetof(struct warm_restarts, t_cur), true},
                {"t_i", offsetof(struct warm_restarts, t_i), true}},
};

ht_scheduler *ht_optim_cosine_annealing_warm_restarts(ht_optimizer *optimizer, int64_t t_0,
                                                      int64_t t_mult, double eta_min)
{
    static const char what[] = "ht_optim_cosine_annealing_warm_restarts";
    struct warm_restarts *rule;

    if (HT_IS_NULL(optimizer, what, "optimizer") ||
        ht__optim_check_count(what, "t_0", t_0, 1) != HT_SUCCESS ||
        ht__optim_check_count(what, "t_mult", t_mult, 1) != HT_SUCCESS ||
        ht__optim_check_range(what, "eta_min", eta_min, 0, INFINITY) != HT_SUCCESS)
        return NULL;
    rule = ht__scheduler_new(&type, optimizer, sizeof *rule);
    rule->eta_min = eta_min;
    rule->t_mult = (double)t_mult;
    rule->t_i = (double)t_0;
    return ht__scheduler_made(what, &rule->base);
}

/* SPDX-License-Identifier: MIT
 *
 * Half a cosine from the first learning rate down to eta_min in t_max epochs, then up again; this
 * is repeated. */
#include "optim/optim.h"

#include <float.h>
#include <math.h>

struct cosine_annealing_lr {
    ht_scheduler base;
    int64_t t_max;
    double eta_min;
};

static const double pi = 3.14159265358979323846;

static double height(double epoch, double t_max)
{
    return 1 + cos(pi * epoch / t_max);
}

/* The ratio of two heights of the curve; where it touches its floor there is none, and the way up
 * begins from the first rate. A curve from below its floor comes back to where it began: to 0. There
 * rounding, which grows as the square of t_max, must not make the rate negative. */
static double cosine_annealing_lr(const ht_scheduler *scheduler, double lr, double first)
{
    const struct cosine_annealing_lr *rule = (const struct cosine_annealing_lr *)scheduler;
    double floor = rule->eta_min, t_max = (double)rule->t_max, epoch = (double)scheduler->epoch;
    const double rounding = 8 * DBL_EPSILON * t_max * t_max * floor;
    double rate;

    if ((scheduler->epoch - 1 - rule->t_max) % (2 * rule->t_max) == 0)
        return lr + (first - floor) * (1 - cos(pi / t_max)) / 2;
    rate = height(epoch, t_max) / height(epoch - 1, t_max) * (lr - floor) + floor;
    return rate < 0 && rate >= -rounding ? 0 : rate;
}

static const ht_scheduler_type type = {.name = "CosineAnnealingLR", .lr = cosine_annealing_lr};

ht_scheduler *ht_optim_cosine_annealing_lr(ht_optimizer *optimizer, int64_t t_max, double eta_min)
{
    static const char what[] = "ht_optim_cosine_annealing_lr";
    struct cosine_annealing_lr *rule;

    if (HT_IS_NULL(optimizer, "ht_optim_cosine_annealing_lr", "optimizer") ||
        ht__optim_check_count(what, "t_max", t_max, 1) != HT_SUCCESS ||
        ht__optim_check_range(what, "eta_min", eta_min, 0, INFINITY) != HT_SUCCESS)
        return NULL;
    rule = ht__scheduler_new(&type, optimizer, sizeof *rule);
    rule->t_max = t_max;
    rule->eta_min = eta_min;
    return &rule->base;
}

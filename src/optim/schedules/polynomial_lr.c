/* SPDX-License-Identifier: MIT
 *
 * The learning rate falls to 0 in total_iters epochs as (1 - epoch / total_iters)^power. */
#include "optim/optim.h"

#include <math.h>

struct polynomial_lr {
    ht_scheduler base;
    int64_t total;
    double power;
};

/* The ratio of the curve's heights at this epoch and the one before. */
static double polynomial_lr(const ht_scheduler *scheduler, double lr, double first)
{
    const struct polynomial_lr *rule = (const struct polynomial_lr *)scheduler;
    const double total = (double)rule->total, epoch = (double)scheduler->epoch;

    (void)first;
    if (scheduler->epoch > rule->total)
        return lr;
    return lr * pow((1 - epoch / total) / (1 - (epoch - 1) / total), rule->power);
}

static const ht_scheduler_type type = {.name = "PolynomialLR", .lr = polynomial_lr};

ht_scheduler *ht_optim_polynomial_lr(ht_optimizer *optimizer, int64_t total_iters, double power)
{
    static const char what[] = "ht_optim_polynomial_lr";
    struct polynomial_lr *rule;

    if (HT_IS_NULL(optimizer, what, "optimizer") ||
        ht__optim_check_count(what, "total_iters", total_iters, 1) != HT_SUCCESS ||
        ht__optim_check_range(what, "power", power, 0, INFINITY) != HT_SUCCESS)
        return NULL;
    rule = ht__scheduler_new(&type, optimizer, sizeof *rule);
    rule->total = total_iters;
    rule->power = power;
    return &rule->base;
}

/* SPDX-License-Identifier: MIT
 *
 * The learning rate times gamma after every epoch. */
#include "optim/optim.h"

#include <math.h>

struct exponential_lr {
    ht_scheduler base;
    double gamma;
};

static double exponential_lr(const ht_scheduler *scheduler, double lr, double first)
{
    (void)first;
    return lr * ((const struct exponential_lr *)scheduler)->gamma;
}

static const ht_scheduler_type type = {.name = "ExponentialLR", .lr = exponential_lr};

ht_scheduler *ht_optim_exponential_lr(ht_optimizer *optimizer, double gamma)
{
    struct exponential_lr *rule;

    if (HT_IS_NULL(optimizer, "ht_optim_exponential_lr", "optimizer") ||
        ht__optim_check_range("ht_optim_exponential_lr", "gamma", gamma, 0, INFINITY) != HT_SUCCESS)
        return NULL;
    rule = ht__scheduler_new(&type, optimizer, sizeof *rule);
    rule->gamma = gamma;
    return &rule->base;
}

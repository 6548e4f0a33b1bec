/* SPDX-License-Identifier: MIT
 *
 * Learning rates by a function of the epoch: a factor of the first rate, or of the one before. */
#include "optim/optim.h"

struct lambda_lr {
    ht_scheduler base;
    ht_lr_factor_fn *factor;
    void *user; /* not owned */
};

static double factor_of(const ht_scheduler *scheduler)
{
    const struct lambda_lr *rule = (const struct lambda_lr *)scheduler;

    return rule->factor(scheduler->epoch, rule->user);
}

static double times_first(const ht_scheduler *scheduler, double lr, double first)
{
    (void)lr;
    return first * factor_of(scheduler);
}

static double times_last(const ht_scheduler *scheduler, double lr, double first)
{
    (void)first;
    return lr * factor_of(scheduler);
}

static const ht_scheduler_type lambda = {
    .name = "LambdaLR", .start = times_first, .lr = times_first};
static const ht_scheduler_type multiplicative = {.name = "MultiplicativeLR", .lr = times_last};

static ht_scheduler *make(const char *what, const ht_scheduler_type *type, ht_optimizer *optimizer,
                          ht_lr_factor_fn *factor, void *user)
{
    struct lambda_lr *rule;

    if (HT_IS_NULL(optimizer, what, "optimizer") || HT_IS_NULL(factor, what, "factor"))
        return NULL;
    rule = ht__scheduler_new(type, optimizer, sizeof *rule);
    rule->factor = factor;
    rule->user = user;
    return ht__scheduler_made(what, &rule->base);
}

ht_scheduler *ht_optim_lambda_lr(ht_optimizer *optimizer, ht_lr_factor_fn *factor, void *user)
{
    return make("ht_optim_lambda_lr", &lambda, optimizer, factor, user);
}

ht_scheduler *ht_optim_multiplicative_lr(ht_optimizer *optimizer, ht_lr_factor_fn *factor,
                                         void *user)
{
    return make("ht_optim_multiplicative_lr", &multiplicative, optimizer, factor, user);
}

/* SPDX-License-Identifier: MIT
 *
 * The learning rate times a factor in the first total_iters epochs. */
#include "optim/optim.h"

struct constant_lr {
    ht_scheduler base;
    double factor;
    int64_t total;
};

static double start(const ht_scheduler *scheduler, double lr, double first)
{
    (void)first;
    return lr * ((const struct constant_lr *)scheduler)->factor;
}

static double constant_lr(const ht_scheduler *scheduler, double lr, double first)
{
    const struct constant_lr *rule = (const struct constant_lr *)scheduler;

    (void)first;
    return scheduler->epoch == rule->total ? lr * (1 / rule->factor) : lr;
}

static const ht_scheduler_type type = {.name = "ConstantLR", .start = start, .lr = constant_lr};

ht_scheduler *ht_optim_constant_lr(ht_optimizer *optimizer, double factor, int64_t total_iters)
{
    static const char what[] = "ht_optim_constant_lr";
    struct constant_lr *rule;

    if (HT_IS_NULL(optimizer, what, "optimizer") ||
        ht__optim_check_count(what, "total_iters", total_iters, 1) != HT_SUCCESS)
        return NULL;
    if (!(factor > 0 && factor <= 1)) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: factor is %g, expected 0 < factor <= 1", what, factor);
        return NULL;
    }
    rule = ht__scheduler_new(&type, optimizer, sizeof *rule);
    rule->factor = factor;
    rule->total = total_iters;
    return ht__scheduler_made(what, &rule->base);
}

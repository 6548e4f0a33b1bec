/* SPDX-License-Identifier: MIT
 *
 * A line from start_factor to end_factor times the learning rate in total_iters epochs: a warm-up,
 * or a decay. */
#include "optim/optim.h"

#include <math.h>

struct linear_lr {
    ht_scheduler base;
    double start, slope; /* slope: end - start */
    int64_t total;
};

/* The ratio of the line's heights at this epoch and the one before. At the end of a line to 0,
 * rounding alone could make it negative. */
static double linear_lr(const ht_scheduler *scheduler, double lr, double first)
{
    const struct linear_lr *rule = (const struct linear_lr *)scheduler;
    double before = (double)rule->total * rule->start +
                    (double)(scheduler->epoch - 1) * rule->slope;

    (void)first;
    return scheduler->epoch > rule->total ? lr : lr * fmax(0, 1 + rule->slope / before);
}

static double start(const ht_scheduler *scheduler, double lr, double first)
{
    (void)first;
    return lr * ((const struct linear_lr *)scheduler)->start;
}

static const ht_scheduler_type type = {.name = "LinearLR", .start = start, .lr = linear_lr};

ht_scheduler *ht_optim_linear_lr(ht_optimizer *optimizer, double start_factor, double end_factor,
                                 int64_t total_iters)
{
    static const char what[] = "ht_optim_linear_lr";
    struct linear_lr *rule;

    if (HT_IS_NULL(optimizer, "ht_optim_linear_lr", "optimizer") ||
        ht__optim_check_count(what, "total_iters", total_iters, 1) != HT_SUCCESS)
        return NULL;
    if (!(start_factor > 0 && start_factor <= 1) || !(end_factor >= 0 && end_factor <= 1)) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT,
                "%s: the factors are %g and %g, expected 0 < start_factor <= 1 and 0 <= end_factor "
                "<= 1",
                what, start_factor, end_factor);
        return NULL;
    }
    rule = ht__scheduler_new(&type, optimizer, sizeof *rule);
    rule->start = start_factor;
    rule->slope = end_factor - start_factor;
    rule->total = total_iters;
    return ht__scheduler_made(what, &rule->base);
}

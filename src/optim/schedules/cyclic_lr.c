/* SPDX-License-Identifier: MIT
 *
 * The learning rate up from base_lr to max_lr and down again, cycle after cycle, and the momentum
 * in the opposite direction (Smith 2017). */
#include "optim/optim.h"

#include <math.h>

struct cyclic_lr {
    ht_scheduler base;
    ht_cyclic_lr_options options;
    double base_lr, max_lr;
};

ht_cyclic_lr_options ht_cyclic_lr_options_default(void)
{
    return (ht_cyclic_lr_options){.size = sizeof(ht_cyclic_lr_options),
                                  .step_size_up = 2000,
                                  .gamma = 1,
                                  .cycle_momentum = true,
                                  .base_momentum = 0.8,
                                  .max_momentum = 0.9};
}

/* How far a cycle of this range is from its lower end at this step, scaled as its mode says.
 * Multiplied in torch's order, for its bits. */
static double height(const struct cyclic_lr *rule, double range)
{
    const ht_cyclic_lr_options *o = &rule->options;
    const double up = (double)o->step_size_up, down = (double)o->step_size_down;
    const double total = up + (o->step_size_down > 0 ? down : up), ratio = up / total;
    const double step = (double)rule->base.epoch, cycle = floor(1 + step / total);
    const double x = 1 + step / total - cycle;
    const double line = x <= ratio ? x / ratio : (x - 1) / (ratio - 1);

    switch (o->mode) {
    case HT_CYCLIC_TRIANGULAR2:
        return range * line / pow(2, cycle - 1);
    case HT_CYCLIC_EXP_RANGE:
        return range * line * pow(o->gamma, step);
    default:
        return range * line;
    }
}

static double cyclic_lr(const ht_scheduler *scheduler, double lr, double first)
{
    const struct cyclic_lr *rule = (const struct cyclic_lr *)scheduler;

    (void)lr;
    (void)first;
    return rule->base_lr + height(rule, rule->max_lr - rule->base_lr);
}

static double momentum(const ht_scheduler *scheduler)
{
    const struct cyclic_lr *rule = (const struct cyclic_lr *)scheduler;
    const ht_cyclic_lr_options *o = &rule->options;

    if (!o->cycle_momentum)
        return NAN;
    return o->max_momentum - height(rule, o->max_momentum - o->base_momentum);
}

static const ht_scheduler_type type = {
    .name = "CyclicLR", .start = cyclic_lr, .lr = cyclic_lr, .momentum = momentum};

static ht_status check(const char *what, const ht_optimizer *optimizer,
                       const ht_cyclic_lr_options *o)
{
    ht_status status = HT_CHECK_OPTIONS(NULL, what, o, ht_cyclic_lr_options);

    if (status == HT_SUCCESS)
        status = ht__optim_check_count(what, "step_size_up", o->step_size_up, 1);
    if (status == HT_SUCCESS)
        status = ht__optim_check_count(what, "step_size_down", o->step_size_down, 0);
    if (status == HT_SUCCESS && (o->mode < HT_CYCLIC_TRIANGULAR || o->mode > HT_CYCLIC_EXP_RANGE))
        status = HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: mode is %d, expected an ht_cyclic_mode", what,
                         (int)o->mode);
    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "gamma", o->gamma, 0, INFINITY);
    if (status != HT_SUCCESS || !o->cycle_momentum)
        return status;
    status = ht__optim_check_range(what, "base_momentum", o->base_momentum, 0, 1);
    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "max_momentum", o->max_momentum, 0, 1);
    return status == HT_SUCCESS ? ht__optim_check_momentum(what, optimizer) : status;
}

ht_scheduler *ht_optim_cyclic_lr(ht_optimizer *optimizer, double base_lr, double max_lr,
                                 const ht_cyclic_lr_options *options)
{
    static const char what[] = "ht_optim_cyclic_lr";
    const ht_cyclic_lr_options defaults = ht_cyclic_lr_options_default();
    struct cyclic_lr *rule;

    options = options != NULL ? options : &defaults;
    if (HT_IS_NULL(optimizer, what, "optimizer") ||
        ht__optim_check_range(what, "base_lr", base_lr, 0, INFINITY) != HT_SUCCESS ||
        ht__optim_check_range(what, "max_lr", max_lr, 0, INFINITY) != HT_SUCCESS ||
        check(what, optimizer, options) != HT_SUCCESS)
        return NULL;
    rule = ht__scheduler_new(&type, optimizer, sizeof *rule);
    rule->options = *options;
    rule->base_lr = base_lr;
    rule->max_lr = max_lr;
    return ht__scheduler_made(what, &rule->base);
}

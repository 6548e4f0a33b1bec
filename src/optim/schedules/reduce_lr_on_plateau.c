/* SPDX-License-Identifier: MIT
 *
 * The learning rate times a factor when a metric has not improved for more than `patience` epochs.
 */
#include "optim/optim.h"

#include <math.h>

struct plateau {
    ht_scheduler base;
    ht_reduce_lr_on_plateau_options options;
    double best;
    double bad;     /* epochs since the best */
    double resting; /* epochs of the cooldown that are left */
};

ht_reduce_lr_on_plateau_options ht_reduce_lr_on_plateau_options_default(void)
{
    return (ht_reduce_lr_on_plateau_options){.size = sizeof(ht_reduce_lr_on_plateau_options),
                                             .factor = 0.1,
                                             .patience = 10,
                                             .threshold = 1e-4,
                                             .eps = 1e-8};
}

/* A metric that is not a number never improves. */
static bool is_better(const struct plateau *rule, double metric)
{
    const ht_reduce_lr_on_plateau_options *o = &rule->options;

    if (o->maximize)
        return metric > (o->absolute ? rule->best + o->threshold : rule->best * (o->threshold + 1));
    return metric < (o->absolute ? rule->best - o->threshold : rule->best * (1 - o->threshold));
}

static bool observe(ht_scheduler *scheduler, double metric)
{
    struct plateau *rule = (struct plateau *)scheduler;
    const ht_reduce_lr_on_plateau_options *o = &rule->options;

    if (is_better(rule, metric)) {
        rule->best = metric;
        rule->bad = 0;
    } else {
        rule->bad++;
    }
    if (rule->resting > 0) {
        rule->resting--;
        rule->bad = 0;
    }
    if (rule->bad <= (double)o->patience)
        return false;
    rule->resting = (double)o->cooldown;
    rule->bad = 0;
    return true;
}

static double reduced(const ht_scheduler *scheduler, double lr, double first)
{
    const ht_reduce_lr_on_plateau_options *o = &((const struct plateau *)scheduler)->options;
    double lower = fmax(lr * o->factor, o->min_lr);

    (void)first;
    return lr - lower > o->eps ? lower : lr;
}

static const ht_scheduler_type type = {
    .name = "ReduceLROnPlateau",
    .lr = reduced,
    .observe = observe,
    .numbers = {{"best", offsetof(struct plateau, best), false},
                {"num_bad_epochs", offsetof(struct plateau, bad), true},
                {"cooldown_counter", offsetof(struct plateau, resting), true}},
};

static ht_status check(const char *what, const ht_reduce_lr_on_plateau_options *o)
{
    ht_status status = HT_CHECK_OPTIONS(NULL, what, o, ht_reduce_lr_on_plateau_options);

    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "factor", o->factor, 0, 1);
    if (status == HT_SUCCESS)
        status = ht__optim_check_count(what, "patience", o->patience, 0);
    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "threshold", o->threshold, 0, INFINITY);
    if (status == HT_SUCCESS)
        status = ht__optim_check_count(what, "cooldown", o->cooldown, 0);
    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "min_lr", o->min_lr, 0, INFINITY);
    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "eps", o->eps, 0, INFINITY);
    return status;
}

ht_scheduler *ht_optim_reduce_lr_on_plateau(ht_optimizer *optimizer,
                                            const ht_reduce_lr_on_plateau_options *options)
{
    ht_reduce_lr_on_plateau_options o = options != NULL ? *options
                                                        : ht_reduce_lr_on_plateau_options_default();
    struct plateau *rule;

    if (HT_IS_NULL(optimizer, "ht_optim_reduce_lr_on_plateau", "optimizer") ||
        check("ht_optim_reduce_lr_on_plateau", &o) != HT_SUCCESS)
        return NULL;
    rule = ht__scheduler_new(&type, optimizer, sizeof *rule);
    rule->options = o;
    rule->best = o.maximize ? -INFINITY : INFINITY;
    return &rule->base;
}

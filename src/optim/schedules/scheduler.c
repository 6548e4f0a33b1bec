/* SPDX-License-Identifier: MIT
 *
 * What all schedules share: the optimizer, the epoch, and their state. */
#include <math.h>

#include "optim/optim.h"

static void destroy(void *object)
{
    ht_scheduler *scheduler = object;

    ht_release(scheduler->optimizer);
    ht__object_fini(scheduler);
    ht__free(scheduler);
}

static ht_kind kind = {.name = "scheduler", .destroy = destroy};

ht_status ht__optim_check_count(const char *what, const char *name, int64_t value, int64_t low)
{
    if (value >= low)
        return HT_SUCCESS;
    return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: %s is %lld, expected at least %lld", what, name,
                   (long long)value, (long long)low);
}

void *ht__scheduler_new(const ht_scheduler_type *type, ht_optimizer *optimizer, size_t size)
{
    ht_scheduler *scheduler = ht__alloc(size);

    ht__object_init(scheduler, &kind);
    scheduler->type = type;
    scheduler->optimizer = ht_retain(optimizer);
    for (int g = 0; g < optimizer->group_count; g++) {
        if (isnan(optimizer->groups[g].initial_lr))
            optimizer->groups[g].initial_lr = optimizer->groups[g].lr;
    }
    return scheduler;
}

static ht_status apply(ht_scheduler *scheduler)
{
    ht_optimizer *optimizer = scheduler->optimizer;
    ht_status status = HT_SUCCESS;

    for (int g = 0; g < optimizer->group_count && status == HT_SUCCESS; g++) {
        const ht_optimizer_group *group = &optimizer->groups[g];

        status = ht_optimizer_set_group_lr(
            optimizer, g, scheduler->type->lr(scheduler, group->lr, group->initial_lr));
    }
    return status;
}

ht_status ht_scheduler_step(ht_scheduler *scheduler)
{
    if (HT_IS_NULL(scheduler, "ht_scheduler_step", "the scheduler"))
        return ht_error_get(NULL);
    if (scheduler->type->observe != NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "ht_scheduler_step: %s looks at a metric; call ht_scheduler_step_metric",
                       scheduler->type->name);
    scheduler->epoch++;
    return apply(scheduler);
}

ht_status ht_scheduler_step_metric(ht_scheduler *scheduler, double metric)
{
    if (HT_IS_NULL(scheduler, "ht_scheduler_step_metric", "the scheduler"))
        return ht_error_get(NULL);
    if (scheduler->type->observe == NULL)
        return ht_scheduler_step(scheduler);
    scheduler->epoch++;
    return scheduler->type->observe(scheduler, metric) ? apply(scheduler) : HT_SUCCESS;
}

int64_t ht_scheduler_epoch(const ht_scheduler *scheduler)
{
    return HT_IS_THERE(scheduler) ? scheduler->epoch : 0;
}

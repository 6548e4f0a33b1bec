/* SPDX-License-Identifier: MIT
 *
 * What all schedules share: the optimizer, the epoch, and their state. */
#include <math.h>

#include "optim_impl.h"

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
    if (isnan(optimizer->initial_lr))
        optimizer->initial_lr = optimizer->lr;
    scheduler->base_lr = optimizer->initial_lr;
    return scheduler;
}

ht_status ht_scheduler_step(ht_scheduler *scheduler)
{
    double lr;

    if (scheduler == NULL)
        return HT_ERR_ARGUMENT;
    if (scheduler->type->lr == NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "ht_scheduler_step: %s looks at a metric; call ht_scheduler_step_metric",
                       scheduler->type->name);
    scheduler->epoch++;
    lr = scheduler->type->lr(scheduler, ht_optimizer_lr(scheduler->optimizer));
    return ht_optimizer_set_lr(scheduler->optimizer, lr);
}

ht_status ht_scheduler_step_metric(ht_scheduler *scheduler, double metric)
{
    double lr;

    if (scheduler == NULL)
        return HT_ERR_ARGUMENT;
    if (scheduler->type->observe == NULL)
        return ht_scheduler_step(scheduler);
    scheduler->epoch++;
    lr = scheduler->type->observe(scheduler, ht_optimizer_lr(scheduler->optimizer), metric);
    return ht_optimizer_set_lr(scheduler->optimizer, lr);
}

int64_t ht_scheduler_epoch(const ht_scheduler *scheduler)
{
    return scheduler != NULL ? scheduler->epoch : 0;
}

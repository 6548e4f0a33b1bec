/* SPDX-License-Identifier: MIT
 *
 * Shared parts of all schedules: the optimizer, the epoch, and their state. */
#include <math.h>

#include "optim/optim.h"

static void destroy(void *object)
{
    ht_scheduler *scheduler = object;

    for (int i = 0; i < scheduler->part_count; i++)
        ht_release(scheduler->parts[i]);
    ht__free(scheduler->parts);
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

static bool fits(const char *what, const ht_scheduler *first, const ht_scheduler *part, int index)
{
    if (part == NULL || part->type->observe != NULL) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: schedule %d is %s, expected one without a metric", what,
                index, part == NULL ? "NULL" : part->type->name);
        return false;
    }
    if (part->optimizer == first->optimizer)
        return true;
    HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: schedule %d is of another optimizer than schedule 0", what,
            index);
    return false;
}

void *ht__scheduler_of(const char *what, const ht_scheduler_type *type, int count,
                       ht_scheduler *const schedulers[], size_t size)
{
    ht_scheduler *scheduler;

    if (ht__optim_check_count(what, "count", count, 1) != HT_SUCCESS ||
        HT_IS_NULL(schedulers, what, "the list of schedules"))
        return NULL;
    for (int i = 0; i < count; i++) {
        if (!fits(what, schedulers[0], schedulers[i], i))
            return NULL;
    }
    scheduler = ht__scheduler_new(type, schedulers[0]->optimizer, size);
    scheduler->parts = ht__alloc((size_t)count * sizeof(ht_scheduler *));
    for (int i = 0; i < count; i++)
        scheduler->parts[scheduler->part_count++] = ht_retain(schedulers[i]);
    return scheduler;
}

static ht_status apply_momentum(ht_scheduler *scheduler)
{
    const ht_scheduler_type *type = scheduler->type;
    const double momentum = type->momentum != NULL ? type->momentum(scheduler) : NAN;

    return isnan(momentum) ? HT_SUCCESS : ht__optim_set_momentum(scheduler->optimizer, momentum);
}

ht_status ht__scheduler_begin(ht_scheduler *scheduler, bool afresh)
{
    const ht_scheduler_type *type = scheduler->type;

    scheduler->epoch = 0;
    for (int g = 0; g < scheduler->optimizer->group_count; g++) {
        ht_optimizer_group *group = &scheduler->optimizer->groups[g];

        group->lr = afresh ? group->initial_lr : group->lr;
        if (type->start != NULL)
            group->lr = type->start(scheduler, group->lr, group->initial_lr);
    }
    return apply_momentum(scheduler);
}

ht_scheduler *ht__scheduler_made(ht_scheduler *scheduler)
{
    if (ht__scheduler_begin(scheduler, false) == HT_SUCCESS)
        return scheduler;
    ht_release(scheduler);
    return NULL;
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
    return status == HT_SUCCESS ? apply_momentum(scheduler) : status;
}

ht_status ht_scheduler_step(ht_scheduler *scheduler)
{
    ht_status status;

    if (HT_IS_NULL(scheduler, "ht_scheduler_step", "the scheduler"))
        return ht_error_get(NULL);
    if (scheduler->type->observe != NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "ht_scheduler_step: %s needs a metric; call ht_scheduler_step_metric",
                       scheduler->type->name);
    scheduler->epoch++;
    status = scheduler->type->advance != NULL ? scheduler->type->advance(scheduler) : HT_SUCCESS;
    if (status != HT_SUCCESS)
        scheduler->epoch--;
    return status == HT_SUCCESS && scheduler->type->lr != NULL ? apply(scheduler) : status;
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

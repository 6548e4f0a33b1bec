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
    scheduler->is_first = optimizer->group_count > 0 && isnan(optimizer->groups[0].initial_lr);
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
        HT_IS_NULL(schedulers, what, "schedulers"))
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

static ht_schedule_plan new_plan(const ht_optimizer *optimizer)
{
    ht_schedule_plan plan = {.momentum = NAN};

    plan.lr = ht__alloc((size_t)optimizer->group_count * sizeof *plan.lr);
    for (int g = 0; g < optimizer->group_count; g++)
        plan.lr[g] = optimizer->groups[g].lr;
    return plan;
}

/* The end of a plan, which is carried out unless there was an error. */
static ht_status carry_out(ht_schedule_plan *plan, ht_optimizer *optimizer, ht_status status)
{
    if (status == HT_SUCCESS && !isnan(plan->momentum))
        ht__optim_set_momentum(optimizer, plan->momentum);
    for (int g = 0; g < optimizer->group_count && status == HT_SUCCESS; g++)
        optimizer->groups[g].lr = plan->lr[g];
    ht__free(plan->lr);
    return status;
}

/* A change of a schedule and the rates; after an error, both are as before. */
typedef struct schedule_change {
    ht_schedule_plan plan;
    ht_scheduler *scheduler;
    ht_scope *scope;
    const ht_value *before; /* the state */
} schedule_change;

static schedule_change new_change(ht_scheduler *scheduler)
{
    schedule_change change = {.plan = new_plan(scheduler->optimizer), .scheduler = scheduler};

    change.scope = ht_scope_open();
    change.before = ht_scheduler_state_dict(scheduler);
    return change;
}

static ht_status end_change(schedule_change *change, ht_status status)
{
    status = carry_out(&change->plan, change->scheduler->optimizer, status);
    if (status != HT_SUCCESS)
        ht_scheduler_load_state_dict(change->scheduler, change->before);
    ht_scope_close(change->scope);
    return status;
}

/* The rates by `rule` (NULL: as they are), and the momentum. */
static ht_status plan_epoch(const char *what, const ht_scheduler *scheduler,
                            double (*rule)(const ht_scheduler *scheduler, double lr, double first),
                            ht_schedule_plan *plan)
{
    const ht_optimizer *optimizer = scheduler->optimizer;
    const double momentum = scheduler->type->momentum != NULL ? scheduler->type->momentum(scheduler)
                                                              : NAN;
    ht_status status = HT_SUCCESS;

    for (int g = 0; g < optimizer->group_count && rule != NULL && status == HT_SUCCESS; g++) {
        plan->lr[g] = rule(scheduler, plan->lr[g], optimizer->groups[g].initial_lr);
        status = ht__optim_check_range(what, "lr", plan->lr[g], 0, INFINITY);
    }
    plan->momentum = isnan(momentum) ? plan->momentum : momentum;
    return status;
}

ht_status ht__scheduler_start(const char *what, ht_scheduler *scheduler, ht_schedule_plan *plan)
{
    const ht_scheduler_type *type = scheduler->type;

    scheduler->epoch = 0;
    return type->begin != NULL ? type->begin(what, scheduler, plan)
                               : plan_epoch(what, scheduler, type->start, plan);
}

ht_status ht__scheduler_begin(const char *what, ht_scheduler *scheduler, ht_schedule_plan *plan)
{
    for (int g = 0; g < scheduler->optimizer->group_count; g++)
        plan->lr[g] = scheduler->optimizer->groups[g].initial_lr;
    return ht__scheduler_start(what, scheduler, plan);
}

ht_status ht__scheduler_begin_now(const char *what, ht_scheduler *scheduler)
{
    schedule_change change = new_change(scheduler);

    return end_change(&change, ht__scheduler_begin(what, scheduler, &change.plan));
}

ht_scheduler *ht__scheduler_made(const char *what, ht_scheduler *scheduler)
{
    ht_optimizer *optimizer = scheduler->optimizer;
    ht_schedule_plan plan = new_plan(optimizer);
    ht_status status = plan_epoch(what, scheduler, scheduler->type->start, &plan);

    status = carry_out(&plan, optimizer, status);
    if (status == HT_SUCCESS)
        return scheduler;
    for (int g = 0; g < optimizer->group_count && scheduler->is_first; g++)
        optimizer->groups[g].initial_lr = NAN;
    ht_release(scheduler);
    return NULL;
}

ht_status ht__scheduler_advance(const char *what, ht_scheduler *scheduler, ht_schedule_plan *plan)
{
    const ht_scheduler_type *type = scheduler->type;
    ht_status status = HT_SUCCESS;

    scheduler->epoch++;
    if (type->advance != NULL)
        status = type->advance(what, scheduler, plan);
    return status == HT_SUCCESS && type->lr != NULL ? plan_epoch(what, scheduler, type->lr, plan)
                                                    : status;
}

/* Observes the metric, where the schedule does, and sets the rates; or changes nothing. */
static ht_status step(const char *what, ht_scheduler *scheduler, double metric)
{
    schedule_change change = new_change(scheduler);
    ht_status status = HT_SUCCESS;

    if (scheduler->type->observe == NULL || scheduler->type->observe(scheduler, metric))
        status = ht__scheduler_advance(what, scheduler, &change.plan);
    else
        scheduler->epoch++;
    return end_change(&change, status);
}

ht_status ht_scheduler_step(ht_scheduler *scheduler)
{
    if (HT_IS_NULL(scheduler, "ht_scheduler_step", "scheduler"))
        return ht_error_get(NULL);
    if (scheduler->type->observe != NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "ht_scheduler_step: %s needs a metric; call ht_scheduler_step_metric",
                       scheduler->type->name);
    return step("ht_scheduler_step", scheduler, NAN);
}

ht_status ht_scheduler_step_metric(ht_scheduler *scheduler, double metric)
{
    if (HT_IS_NULL(scheduler, "ht_scheduler_step_metric", "scheduler"))
        return ht_error_get(NULL);
    return step("ht_scheduler_step_metric", scheduler, metric);
}

int64_t ht_scheduler_epoch(const ht_scheduler *scheduler)
{
    return HT_IS_THERE(scheduler) ? scheduler->epoch : 0;
}

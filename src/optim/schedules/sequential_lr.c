/* SPDX-License-Identifier: MIT
 *
 * Schedules one after another, and several schedules that are all stepped each time. */
#include "optim/optim.h"

#include <string.h>

struct sequential_lr {
    ht_scheduler base;
    int64_t milestones[]; /* one less than there are schedules, ascending */
};

/* The current schedule continues, or begins afresh at its milestone. */
static ht_status advance_one(const char *what, ht_scheduler *scheduler, ht_schedule_plan *plan)
{
    const struct sequential_lr *rule = (const struct sequential_lr *)scheduler;
    int turn = 0;

    while (turn < scheduler->part_count - 1 && rule->milestones[turn] <= scheduler->epoch)
        turn++;
    if (turn == 0 || rule->milestones[turn - 1] != scheduler->epoch)
        return ht__scheduler_advance(what, scheduler->parts[turn], plan);
    return ht__scheduler_begin(what, scheduler->parts[turn], plan);
}

/* From the rates of the plan, which a schedule before it in a chain may have set. */
static ht_status begin_first(const char *what, ht_scheduler *scheduler, ht_schedule_plan *plan)
{
    return ht__scheduler_start(what, scheduler->parts[0], plan);
}

static const ht_scheduler_type sequential = {
    .name = "SequentialLR", .begin = begin_first, .advance = advance_one};

ht_scheduler *ht_optim_sequential_lr(int count, ht_scheduler *const schedulers[],
                                     const int64_t milestones[])
{
    static const char what[] = "ht_optim_sequential_lr";
    struct sequential_lr *rule;

    if (count > 1 && HT_IS_NULL(milestones, what, "milestones"))
        return NULL;
    for (int i = 0; i < count - 1; i++) {
        if (ht__optim_check_count(what, "a milestone", milestones[i],
                                  i > 0 ? milestones[i - 1] + 1 : 1) != HT_SUCCESS)
            return NULL;
    }
    rule = ht__scheduler_of(what, &sequential, count, schedulers,
                            sizeof *rule + (size_t)count * sizeof *rule->milestones);
    if (rule == NULL)
        return NULL;
    if (count > 1)
        memcpy(rule->milestones, milestones, (size_t)(count - 1) * sizeof *milestones);
    if (ht__scheduler_begin_now(what, schedulers[0]) == HT_SUCCESS)
        return &rule->base;
    ht_release(rule);
    return NULL;
}

static ht_status advance_all(const char *what, ht_scheduler *scheduler, ht_schedule_plan *plan)
{
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < scheduler->part_count && status == HT_SUCCESS; i++)
        status = ht__scheduler_advance(what, scheduler->parts[i], plan);
    return status;
}

static ht_status begin_all(const char *what, ht_scheduler *scheduler, ht_schedule_plan *plan)
{
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < scheduler->part_count && status == HT_SUCCESS; i++)
        status = ht__scheduler_start(what, scheduler->parts[i], plan);
    return status;
}

static const ht_scheduler_type chained = {
    .name = "ChainedScheduler", .begin = begin_all, .advance = advance_all};

ht_scheduler *ht_optim_chained_scheduler(int count, ht_scheduler *const schedulers[])
{
    return ht__scheduler_of("ht_optim_chained_scheduler", &chained, count, schedulers,
                            sizeof(ht_scheduler));
}

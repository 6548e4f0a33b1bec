/* SPDX-License-Identifier: MIT
 *
 * What all schedules share: the optimizer and the epoch. */
#include "optim_impl.h"

static void destroy(void *object)
{
    ht_scheduler *scheduler = object;

    ht_release(scheduler->optimizer);
    ht__object_fini(scheduler);
    ht__free(scheduler);
}

static ht_kind kind = {.name = "scheduler", .destroy = destroy};

ht_scheduler *ht__scheduler_new(const ht_scheduler_type *type, ht_optimizer *optimizer)
{
    ht_scheduler *scheduler = ht__alloc(sizeof *scheduler);

    ht__object_init(scheduler, &kind);
    scheduler->type = type;
    scheduler->optimizer = ht_retain(optimizer);
    return scheduler;
}

ht_status ht_scheduler_step(ht_scheduler *scheduler)
{
    if (scheduler == NULL)
        return HT_ERR_ARGUMENT;
    scheduler->epoch++;
    return ht_optimizer_set_lr(scheduler->optimizer,
                               scheduler->type->lr(scheduler, scheduler->epoch));
}

int64_t ht_scheduler_epoch(const ht_scheduler *scheduler)
{
    return scheduler != NULL ? scheduler->epoch : 0;
}

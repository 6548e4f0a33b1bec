/* SPDX-License-Identifier: MIT
 *
 * The state of schedules as values, to keep and to go on from: torch's state_dict, without what is
 * the optimizer's. */
#include <math.h>

#include "optim/optim.h"

static double number(const ht_value *map, const char *key)
{
    return ht_value_as_number(ht_value_get(map, key));
}

static double *remembered(ht_scheduler *scheduler, int index)
{
    return (double *)(void *)((char *)scheduler + scheduler->type->numbers[index].at);
}

ht_value *ht_scheduler_state_dict(ht_scheduler *scheduler)
{
    ht_value *map;

    if (HT_IS_NULL(scheduler, "ht_scheduler_state_dict", "the scheduler"))
        return NULL;
    map = ht_value_map();
    ht_value_set(map, "last_epoch", ht_value_number((double)scheduler->epoch));
    for (int i = 0; i < HT_SCHEDULER_NUMBERS && scheduler->type->numbers[i].name != NULL; i++)
        ht_value_set(map, scheduler->type->numbers[i].name,
                     ht_value_number(*remembered(scheduler, i)));
    return map;
}

ht_status ht_scheduler_load_state_dict(ht_scheduler *scheduler, const ht_value *state)
{
    static const char what[] = "ht_scheduler_load_state_dict";
    static const ht_optim_number epoch = {.name = "last_epoch", .counts = true};
    ht_status status;

    if (HT_IS_NULL(scheduler, "ht_scheduler_load_state_dict", "the scheduler") ||
        HT_IS_NULL(state, "ht_scheduler_load_state_dict", "the state"))
        return ht_error_get(NULL);
    status = ht__optim_check_state(what, state, &epoch);
    for (int i = 0; i < HT_SCHEDULER_NUMBERS && status == HT_SUCCESS; i++) {
        if (scheduler->type->numbers[i].name != NULL)
            status = ht__optim_check_state(what, state, &scheduler->type->numbers[i]);
    }
    if (status != HT_SUCCESS)
        return status;
    scheduler->epoch = (int64_t)number(state, "last_epoch");
    for (int i = 0; i < HT_SCHEDULER_NUMBERS && scheduler->type->numbers[i].name != NULL; i++)
        *remembered(scheduler, i) = number(state, scheduler->type->numbers[i].name);
    return HT_SUCCESS;
}

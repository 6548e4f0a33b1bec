/* SPDX-License-Identifier: MIT
 *
 * The state of schedules as values, for saving and resuming: torch's state_dict, without the
 * optimizer's values. */
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

static ht_value *parts_state(ht_scheduler *scheduler)
{
    ht_value *list = ht_value_list();

    for (int i = 0; i < scheduler->part_count; i++)
        ht_value_append(list, ht_scheduler_state_dict(scheduler->parts[i]));
    return list;
}

ht_value *ht_scheduler_state_dict(ht_scheduler *scheduler)
{
    ht_value *map;

    if (HT_IS_NULL(scheduler, "ht_scheduler_state_dict", "scheduler"))
        return NULL;
    map = ht_value_map();
    ht_value_set(map, "last_epoch", ht_value_number((double)scheduler->epoch));
    for (int i = 0; i < HT_SCHEDULER_NUMBERS && scheduler->type->numbers[i].name != NULL; i++)
        ht_value_set(map, scheduler->type->numbers[i].name,
                     ht_value_number(*remembered(scheduler, i)));
    if (scheduler->part_count > 0)
        ht_value_set(map, "schedulers", parts_state(scheduler));
    return map;
}

/* The state of the schedule and of those that it steps. */
static ht_status check(const char *what, const ht_scheduler *scheduler, const ht_value *state)
{
    static const ht_optim_number epoch = {.name = "last_epoch", .counts = true};
    const ht_value *parts = ht_value_get(state, "schedulers");
    ht_status status = ht__optim_check_state(what, state, &epoch);

    for (int i = 0; i < HT_SCHEDULER_NUMBERS && status == HT_SUCCESS; i++) {
        if (scheduler->type->numbers[i].name != NULL)
            status = ht__optim_check_state(what, state, &scheduler->type->numbers[i]);
    }
    if (status == HT_SUCCESS && ht_value_count(parts) != scheduler->part_count)
        return HT_FAIL(NULL, HT_ERR_FORMAT,
                       "%s: the state has %d schedules inside, expected %d of %s", what,
                       ht_value_count(parts), scheduler->part_count, scheduler->type->name);
    for (int i = 0; i < scheduler->part_count && status == HT_SUCCESS; i++)
        status = check(what, scheduler->parts[i], ht_value_at(parts, i));
    return status;
}

static void load(ht_scheduler *scheduler, const ht_value *state)
{
    scheduler->epoch = (int64_t)number(state, "last_epoch");
    for (int i = 0; i < HT_SCHEDULER_NUMBERS && scheduler->type->numbers[i].name != NULL; i++)
        *remembered(scheduler, i) = number(state, scheduler->type->numbers[i].name);
    for (int i = 0; i < scheduler->part_count; i++)
        load(scheduler->parts[i], ht_value_at(ht_value_get(state, "schedulers"), i));
}

ht_status ht_scheduler_load_state_dict(ht_scheduler *scheduler, const ht_value *state)
{
    static const char what[] = "ht_scheduler_load_state_dict";
    ht_status status;

    if (HT_IS_NULL(scheduler, "ht_scheduler_load_state_dict", "scheduler") ||
        HT_IS_NULL(state, "ht_scheduler_load_state_dict", "state"))
        return ht_error_get(NULL);
    status = check(what, scheduler, state);
    if (status == HT_SUCCESS)
        load(scheduler, state);
    return status;
}

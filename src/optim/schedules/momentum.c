/* SPDX-License-Identifier: MIT
 *
 * The momentum of an optimizer, or its beta1 instead, in the form of a hyperparameter that
 * schedules set. */
#include "optim/optim.h"

#include <string.h>

/* Its place among the settings; -1: there is none. */
static int momentum_of(const ht_optimizer_type *type)
{
    for (int i = 0; i < ht__optim_setting_count(type); i++) {
        if (strcmp(type->settings[i].name, "momentum") == 0 ||
            strcmp(type->settings[i].name, "beta1") == 0)
            return i;
    }
    return -1;
}

ht_status ht__optim_check_momentum(const char *what, const ht_optimizer *optimizer)
{
    if (momentum_of(optimizer->type) >= 0)
        return HT_SUCCESS;
    return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                   "%s: %s has neither momentum nor beta1, expected cycle_momentum = false", what,
                   optimizer->type->name);
}

/* A momentum of 0 may keep no state, so that what is kept differs from then on. */
static ht_status set(ht_optimizer *optimizer, int index, double momentum)
{
    ht_optimizer_group *group = &optimizer->groups[index];
    ht_update_call settings = group->settings;
    const int before = group->state_count;

    ht__optim_set_setting(optimizer->type, &settings, momentum_of(optimizer->type), momentum);
    if (optimizer->type->keeps != NULL && (momentum == 0) != (before == 0) &&
        optimizer->deferral != NULL) {
        ht_status status = optimizer->deferral->drain(optimizer->deferral->user);

        if (status != HT_SUCCESS)
            return status;
    }
    ht__optimizer_group_set(optimizer, index, &settings);
    for (int i = group->first; group->state_count != before && i < group->first + group->count; i++)
        ht__optimizer_drop_state(optimizer, i);
    return HT_SUCCESS;
}

ht_status ht__optim_set_momentum(ht_optimizer *optimizer, double momentum)
{
    ht_status status = HT_SUCCESS;

    for (int g = 0; g < optimizer->group_count && status == HT_SUCCESS; g++)
        status = set(optimizer, g, momentum);
    return status;
}

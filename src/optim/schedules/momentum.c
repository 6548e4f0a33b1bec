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

void ht__optim_set_momentum(ht_optimizer *optimizer, double momentum)
{
    const int setting = momentum_of(optimizer->type);

    for (int g = 0; g < optimizer->group_count; g++)
        ht__optim_set_setting(optimizer->type, &optimizer->groups[g].settings, setting, momentum);
}

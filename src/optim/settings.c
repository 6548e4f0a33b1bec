/* SPDX-License-Identifier: MIT
 *
 * Hyperparameters by name, from the table of each optimizer: their ranges, and their entries in
 * states. */
#include "optim/optim.h"

#include <math.h>

ht_status ht__optim_check_range(const char *what, const char *name, double value, double low,
                                double high)
{
    if (value >= low && value < high)
        return HT_SUCCESS;
    if (isinf(high) && !isnan(value))
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "%s: %s is %g, expected a finite value of at least %g", what, name, value,
                       low);
    return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: %s is %g, expected %g <= %s < %g", what, name, value,
                   low, name, high);
}

int ht__optim_setting_count(const ht_optimizer_type *type)
{
    int count = 0;

    while (count < HT_OPTIMIZER_SETTINGS && type->settings[count].name != NULL)
        count++;
    return count;
}

double ht__optim_setting(const ht_optimizer_type *type, const ht_update_call *settings, int index)
{
    const char *at = (const char *)settings + type->settings[index].at;

    if (type->settings[index].below == HT_SETTING_FLAG)
        return *(const bool *)at;
    return *(const double *)(const void *)at;
}

void ht__optim_set_setting(const ht_optimizer_type *type, ht_update_call *settings, int index,
                           double value)
{
    char *at = (char *)settings + type->settings[index].at;

    if (type->settings[index].below == HT_SETTING_FLAG)
        *(bool *)at = value != 0;
    else
        *(double *)(void *)at = value;
}

ht_status ht__optim_check_settings(const char *what, const ht_optimizer_type *type,
                                   const ht_update_call *settings)
{
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < ht__optim_setting_count(type) && status == HT_SUCCESS; i++) {
        if (type->settings[i].below != HT_SETTING_FLAG)
            status = ht__optim_check_range(what, type->settings[i].name,
                                           ht__optim_setting(type, settings, i), 0,
                                           type->settings[i].below);
    }
    return status;
}

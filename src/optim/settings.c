/* SPDX-License-Identifier: MIT
 *
 * Hyperparameters by name, from the table of each optimizer: their options, their ranges, and their
 * entries in states. */
#include "optim/optim.h"

#include <float.h>
#include <math.h>

ht_status ht__optim_check_range(const char *what, const char *name, double value, double low,
                                double high)
{
    if (value >= low && value < high)
        return HT_SUCCESS;
    if (isinf(high) && low == -DBL_MAX)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: %s is %g, expected a finite number", what, name,
                       value);
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

/* The option of that setting. */
static double option(const ht_optimizer_type *type, const void *options, int index)
{
    const void *from = (const char *)options + type->settings[index].from;
    const double below = type->settings[index].below;

    return below == HT_SETTING_FLAG ? *(const bool *)from
           : below < 0              ? *(const int *)from
                                    : *(const double *)from;
}

ht_status ht__optim_read_options(const char *what, const ht_optimizer_type *type,
                                 const void *options, ht_update_call *settings)
{
    ht_status status = HT_SUCCESS;

    *settings = (ht_update_call){.decoupled = type->decoupled};
    for (int i = 0; i < ht__optim_setting_count(type) && status == HT_SUCCESS; i++) {
        const double below = type->settings[i].below, value = option(type, options, i);

        ht__optim_set_setting(type, settings, i, value);
        if (below != HT_SETTING_FLAG)
            status = ht__optim_check_range(what, type->settings[i].name, value,
                                           type->settings[i].low, fabs(below));
    }
    if (status == HT_SUCCESS && type->check != NULL)
        status = type->check(what, settings, false);
    return status;
}

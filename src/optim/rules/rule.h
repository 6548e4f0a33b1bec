/* SPDX-License-Identifier: MIT
 *
 * The public functions of an optimizer, made from its row (ht_optimizer_type). */
#ifndef HT_OPTIM_RULES_RULE_H
#define HT_OPTIM_RULES_RULE_H

#include "optim/optim.h"

#include <float.h>
#include <math.h>

/* Option `name` of the struct `options` is the hyperparameter `field` of the call: a double in [0,
 * below), an int in [0, below) or a flag. */
#define HT_SETTING(options, name, field, below)                                   \
    {                                                                             \
#name, offsetof(ht_update_call, field), offsetof(options, name), below, 0 \
    }
/* From `low` on, which is finite. */
#define HT_SETTING_FROM(options, name, field, low, below)                           \
    {                                                                               \
#name, offsetof(ht_update_call, field), offsetof(options, name), below, low \
    }
#define HT_COUNT(options, name, field, below) HT_SETTING(options, name, field, -(below))
#define HT_FLAG(options, name, field)         HT_SETTING(options, name, field, HT_SETTING_FLAG)

/* operations.c: start + weight (end - start), from the nearer end as torch.lerp. */
ht_tensor *ht__optim_lerp(ht_tensor *start, ht_tensor *end, double weight);

/* operations.c: the last act of an update by operations: each old tensor gets its new values. If a
 * new one is NULL after an error, none changes. */
ht_status ht__optim_set(int count, ht_tensor *const old[], ht_tensor *const values[]);

/* The constructor ht_optim_NAME. */
#define HT_OPTIMIZER_OF_ONE_GROUP(name, type)                                                     \
    static ht_status name##_settings(const char *what, const ht_##name##_options *options,        \
                                     ht_update_call *settings)                                    \
    {                                                                                             \
        const ht_##name##_options o = options != NULL ? *options : ht_##name##_options_default(); \
        const ht_status status = HT_CHECK_OPTIONS(NULL, what, &o, ht_##name##_options);           \
                                                                                                  \
        return status != HT_SUCCESS ? status : ht__optim_read_options(what, &type, &o, settings); \
    }                                                                                             \
                                                                                                  \
    ht_optimizer *ht_optim_##name(ht_value *parameters, double lr,                                \
                                  const ht_##name##_options *options)                             \
    {                                                                                             \
        ht_update_call settings;                                                                  \
                                                                                                  \
        if (name##_settings("ht_optim_" #name, options, &settings) != HT_SUCCESS)                 \
            return NULL;                                                                          \
        return ht__optimizer_new("ht_optim_" #name, &type, parameters, lr, &settings);            \
    }

/* The constructor ht_optim_NAME and ht_optim_NAME_add_param_group. */
#define HT_OPTIMIZER(name, type)                                                               \
    HT_OPTIMIZER_OF_ONE_GROUP(name, type)                                                      \
                                                                                               \
    ht_status ht_optim_##name##_add_param_group(ht_optimizer *optimizer, ht_value *parameters, \
                                                double lr, const ht_##name##_options *options) \
    {                                                                                          \
        static const char what[] = "ht_optim_" #name "_add_param_group";                       \
        ht_update_call settings;                                                               \
        const ht_status status = name##_settings(what, options, &settings);                    \
                                                                                               \
        return status != HT_SUCCESS                                                            \
                   ? status                                                                    \
                   : ht__optimizer_add_group(what, &type, optimizer, parameters, lr,           \
                                             options != NULL ? &settings : NULL);              \
    }

#endif

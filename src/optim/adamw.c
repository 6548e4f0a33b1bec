/* SPDX-License-Identifier: MIT
 *
 * AdamW: Adam whose weight decay stays out of the running means: p *= 1 - lr weight_decay, then
 * p -= lr m' / (sqrt(v') + eps) as in adam.c. */
#include "optim_impl.h"

#include <math.h>

static const ht_optimizer_type type = {
    .name = "AdamW",
    .kernel = HT_UPDATE_ADAM,
    .state_names = {"exp_avg", "exp_avg_sq"},
    .settings = {{"beta1", offsetof(ht_update, beta1), 1},
                 {"beta2", offsetof(ht_update, beta2), 1},
                 {"eps", offsetof(ht_update, eps), INFINITY},
                 {"weight_decay", offsetof(ht_update, weight_decay), INFINITY},
                 {"maximize", offsetof(ht_update, maximize), HT_SETTING_FLAG}},
};

ht_adamw_options ht_adamw_options_default(void)
{
    return (ht_adamw_options){.size = sizeof(ht_adamw_options),
                              .beta1 = 0.9,
                              .beta2 = 0.999,
                              .eps = 1e-8,
                              .weight_decay = 0.01};
}

static ht_status read_options(const char *what, const ht_adamw_options *options,
                              ht_update *settings)
{
    ht_adamw_options o = options != NULL ? *options : ht_adamw_options_default();
    ht_status status = HT_CHECK_OPTIONS(NULL, what, &o, ht_adamw_options);

    if (status != HT_SUCCESS)
        return status;
    *settings = (ht_update){
        .beta1 = o.beta1,
        .beta2 = o.beta2,
        .eps = o.eps,
        .weight_decay = o.weight_decay,
        .maximize = o.maximize,
        .decoupled = true,
    };
    return ht__optim_check_settings(what, &type, settings);
}

ht_optimizer *ht_optim_adamw(ht_value *parameters, double lr, const ht_adamw_options *options)
{
    static const char what[] = "ht_optim_adamw";
    ht_update settings;

    if (read_options(what, options, &settings) != HT_SUCCESS)
        return NULL;
    return ht__optimizer_new(what, &type, parameters, lr, &settings);
}

ht_status ht_optim_adamw_add_param_group(ht_optimizer *optimizer, ht_value *parameters, double lr,
                                         const ht_adamw_options *options)
{
    static const char what[] = "ht_optim_adamw_add_param_group";
    ht_update settings;

    if (read_options(what, options, &settings) != HT_SUCCESS)
        return ht_error_get(NULL);
    return ht__optimizer_add_group(what, &type, optimizer, parameters, lr,
                                   options != NULL ? &settings : NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * Adam: m and v are running means of g and g^2, both corrected for starting at zero;
 * p -= lr m' / (sqrt(v') + eps). */
#include "optim_impl.h"

#include <math.h>

static const ht_optimizer_type type = {
    .name = "Adam",
    .kernel = HT_UPDATE_ADAM,
    .state_names = {"exp_avg", "exp_avg_sq"},
    .settings = {{"beta1", offsetof(ht_update, beta1), 1},
                 {"beta2", offsetof(ht_update, beta2), 1},
                 {"eps", offsetof(ht_update, eps), INFINITY},
                 {"weight_decay", offsetof(ht_update, weight_decay), INFINITY},
                 {"maximize", offsetof(ht_update, maximize), HT_SETTING_FLAG}},
};

ht_adam_options ht_adam_options_default(void)
{
    return (ht_adam_options){
        .size = sizeof(ht_adam_options), .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
}

static ht_status read_options(const char *what, const ht_adam_options *options, ht_update *settings)
{
    ht_adam_options o = options != NULL ? *options : ht_adam_options_default();
    ht_status status = HT_CHECK_OPTIONS(NULL, what, &o, ht_adam_options);

    if (status != HT_SUCCESS)
        return status;
    *settings = (ht_update){
        .beta1 = o.beta1,
        .beta2 = o.beta2,
        .eps = o.eps,
        .weight_decay = o.weight_decay,
        .maximize = o.maximize,
    };
    return ht__optim_check_settings(what, &type, settings);
}

ht_optimizer *ht_optim_adam(ht_value *parameters, double lr, const ht_adam_options *options)
{
    static const char what[] = "ht_optim_adam";
    ht_update settings;

    if (read_options(what, options, &settings) != HT_SUCCESS)
        return NULL;
    return ht__optimizer_new(what, &type, parameters, lr, &settings);
}

ht_status ht_optim_adam_add_param_group(ht_optimizer *optimizer, ht_value *parameters, double lr,
                                        const ht_adam_options *options)
{
    static const char what[] = "ht_optim_adam_add_param_group";
    ht_update settings;

    if (read_options(what, options, &settings) != HT_SUCCESS)
        return ht_error_get(NULL);
    return ht__optimizer_add_group(what, &type, optimizer, parameters, lr,
                                   options != NULL ? &settings : NULL);
}

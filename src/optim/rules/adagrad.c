/* SPDX-License-Identifier: MIT
 *
 * Adagrad: v is the sum of all g^2, from initial_accumulator_value on; in step t, counted from 0,
 * p -= lr / (1 + t lr_decay) g / (sqrt(v) + eps). */
#include "ht/kernels/optim.h"
#include "optim/optim.h"

#include <math.h>

static const ht_optimizer_type type = {
    .name = "Adagrad",
    .kernel = HT_KERNEL_UPDATE_ADAGRAD,
    .state_names = {"sum"},
    .start = offsetof(ht_update_call, beta2),
    .settings = {{"lr_decay", offsetof(ht_update_call, beta1), INFINITY},
                 {"weight_decay", offsetof(ht_update_call, weight_decay), INFINITY},
                 {"initial_accumulator_value", offsetof(ht_update_call, beta2), INFINITY},
                 {"eps", offsetof(ht_update_call, eps), INFINITY},
                 {"maximize", offsetof(ht_update_call, maximize), HT_SETTING_FLAG}},
};

ht_adagrad_options ht_adagrad_options_default(void)
{
    return (ht_adagrad_options){.size = sizeof(ht_adagrad_options), .eps = 1e-10};
}

static ht_status read_options(const char *what, const ht_adagrad_options *options,
                              ht_update_call *settings)
{
    ht_adagrad_options o = options != NULL ? *options : ht_adagrad_options_default();
    ht_status status = HT_CHECK_OPTIONS(NULL, what, &o, ht_adagrad_options);

    if (status != HT_SUCCESS)
        return status;
    *settings = (ht_update_call){
        .beta1 = o.lr_decay,
        .weight_decay = o.weight_decay,
        .beta2 = o.initial_accumulator_value,
        .eps = o.eps,
        .maximize = o.maximize,
    };
    return ht__optim_check_settings(what, &type, settings);
}

ht_optimizer *ht_optim_adagrad(ht_value *parameters, double lr, const ht_adagrad_options *options)
{
    static const char what[] = "ht_optim_adagrad";
    ht_update_call settings;

    if (read_options(what, options, &settings) != HT_SUCCESS)
        return NULL;
    return ht__optimizer_new(what, &type, parameters, lr, &settings);
}

ht_status ht_optim_adagrad_add_param_group(ht_optimizer *optimizer, ht_value *parameters, double lr,
                                           const ht_adagrad_options *options)
{
    static const char what[] = "ht_optim_adagrad_add_param_group";
    ht_update_call settings;

    if (read_options(what, options, &settings) != HT_SUCCESS)
        return ht_error_get(NULL);
    return ht__optimizer_add_group(what, &type, optimizer, parameters, lr,
                                   options != NULL ? &settings : NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * Adamax: m is a running mean of g, corrected for starting at zero; u is the greater of beta2 u and
 * |g| + eps; p -= lr m' / u. */
#include "ht/kernels/optim.h"
#include "optim/optim.h"

#include <math.h>

static const ht_optimizer_type type = {
    .name = "Adamax",
    .kernel = HT_KERNEL_UPDATE_ADAMAX,
    .state_names = {"exp_avg", "exp_inf"},
    .settings = {{"beta1", offsetof(ht_update_call, beta1), 1},
                 {"beta2", offsetof(ht_update_call, beta2), 1},
                 {"eps", offsetof(ht_update_call, eps), INFINITY},
                 {"weight_decay", offsetof(ht_update_call, weight_decay), INFINITY},
                 {"maximize", offsetof(ht_update_call, maximize), HT_SETTING_FLAG}},
};

ht_adamax_options ht_adamax_options_default(void)
{
    return ht_adam_options_default();
}

static ht_status read_options(const char *what, const ht_adamax_options *options,
                              ht_update_call *settings)
{
    ht_adamax_options o = options != NULL ? *options : ht_adamax_options_default();
    ht_status status = HT_CHECK_OPTIONS(NULL, what, &o, ht_adamax_options);

    if (status != HT_SUCCESS)
        return status;
    *settings = (ht_update_call){
        .beta1 = o.beta1,
        .beta2 = o.beta2,
        .eps = o.eps,
        .weight_decay = o.weight_decay,
        .maximize = o.maximize,
    };
    return ht__optim_check_settings(what, &type, settings);
}

ht_optimizer *ht_optim_adamax(ht_value *parameters, double lr, const ht_adamax_options *options)
{
    static const char what[] = "ht_optim_adamax";
    ht_update_call settings;

    if (read_options(what, options, &settings) != HT_SUCCESS)
        return NULL;
    return ht__optimizer_new(what, &type, parameters, lr, &settings);
}

ht_status ht_optim_adamax_add_param_group(ht_optimizer *optimizer, ht_value *parameters, double lr,
                                          const ht_adamax_options *options)
{
    static const char what[] = "ht_optim_adamax_add_param_group";
    ht_update_call settings;

    if (read_options(what, options, &settings) != HT_SUCCESS)
        return ht_error_get(NULL);
    return ht__optimizer_add_group(what, &type, optimizer, parameters, lr,
                                   options != NULL ? &settings : NULL);
}

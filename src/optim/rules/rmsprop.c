/* SPDX-License-Identifier: MIT
 *
 * RMSprop: v is the running mean of g^2 (centered: the running variance of g), d = g / (sqrt(v) +
 * eps); p -= lr d, or with momentum b = momentum b + d, p -= lr b. */
#include "ht/kernels/optim.h"
#include "optim/optim.h"

#include <math.h>

/* The kernel counts on the order of those that are kept. */
static bool keeps(const ht_update_call *settings, int state)
{
    return state == 0 || (state == 1 ? settings->centered : settings->momentum != 0);
}

static const ht_optimizer_type type = {
    .name = "RMSprop",
    .kernel = HT_KERNEL_UPDATE_RMSPROP,
    .state_names = {"square_avg", "grad_avg", "momentum_buffer"},
    .keeps = keeps,
    .settings = {{"alpha", offsetof(ht_update_call, beta1), 1},
                 {"eps", offsetof(ht_update_call, eps), INFINITY},
                 {"weight_decay", offsetof(ht_update_call, weight_decay), INFINITY},
                 {"momentum", offsetof(ht_update_call, momentum), INFINITY},
                 {"centered", offsetof(ht_update_call, centered), HT_SETTING_FLAG},
                 {"maximize", offsetof(ht_update_call, maximize), HT_SETTING_FLAG}},
};

ht_rmsprop_options ht_rmsprop_options_default(void)
{
    return (ht_rmsprop_options){.size = sizeof(ht_rmsprop_options), .alpha = 0.99, .eps = 1e-8};
}

static ht_status read_options(const char *what, const ht_rmsprop_options *options,
                              ht_update_call *settings)
{
    ht_rmsprop_options o = options != NULL ? *options : ht_rmsprop_options_default();
    ht_status status = HT_CHECK_OPTIONS(NULL, what, &o, ht_rmsprop_options);

    if (status != HT_SUCCESS)
        return status;
    *settings = (ht_update_call){
        .beta1 = o.alpha,
        .eps = o.eps,
        .weight_decay = o.weight_decay,
        .momentum = o.momentum,
        .centered = o.centered,
        .maximize = o.maximize,
    };
    return ht__optim_check_settings(what, &type, settings);
}

ht_optimizer *ht_optim_rmsprop(ht_value *parameters, double lr, const ht_rmsprop_options *options)
{
    static const char what[] = "ht_optim_rmsprop";
    ht_update_call settings;

    if (read_options(what, options, &settings) != HT_SUCCESS)
        return NULL;
    return ht__optimizer_new(what, &type, parameters, lr, &settings);
}

ht_status ht_optim_rmsprop_add_param_group(ht_optimizer *optimizer, ht_value *parameters, double lr,
                                           const ht_rmsprop_options *options)
{
    static const char what[] = "ht_optim_rmsprop_add_param_group";
    ht_update_call settings;

    if (read_options(what, options, &settings) != HT_SUCCESS)
        return ht_error_get(NULL);
    return ht__optimizer_add_group(what, &type, optimizer, parameters, lr,
                                   options != NULL ? &settings : NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * Stochastic gradient descent: v = momentum v + (1 - dampening) g, p -= lr v; nesterov: p -= lr (g
 * + momentum v). The first v is g. */
#include "ht/kernels/optim.h"
#include "optim/optim.h"

#include <math.h>

static bool keeps(const ht_update_call *settings, int state)
{
    (void)state;
    return settings->momentum != 0;
}

static const ht_optimizer_type type = {
    .name = "SGD",
    .kernel = HT_KERNEL_UPDATE_SGD,
    .state_names = {"momentum_buffer"},
    .keeps = keeps,
    .settings = {{"momentum", offsetof(ht_update_call, momentum), INFINITY},
                 {"dampening", offsetof(ht_update_call, dampening), INFINITY},
                 {"weight_decay", offsetof(ht_update_call, weight_decay), INFINITY},
                 {"nesterov", offsetof(ht_update_call, nesterov), HT_SETTING_FLAG},
                 {"maximize", offsetof(ht_update_call, maximize), HT_SETTING_FLAG}},
};

ht_sgd_options ht_sgd_options_default(void)
{
    return (ht_sgd_options){.size = sizeof(ht_sgd_options)};
}

static ht_status read_options(const char *what, const ht_sgd_options *options,
                              ht_update_call *settings)
{
    ht_sgd_options o = options != NULL ? *options : ht_sgd_options_default();
    ht_status status = HT_CHECK_OPTIONS(NULL, what, &o, ht_sgd_options);

    if (status != HT_SUCCESS)
        return status;
    if (o.nesterov && (o.momentum == 0 || o.dampening != 0))
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "%s: nesterov needs momentum above 0 and dampening 0, got %g and %g", what,
                       o.momentum, o.dampening);
    *settings = (ht_update_call){
        .momentum = o.momentum,
        .dampening = o.dampening,
        .weight_decay = o.weight_decay,
        .nesterov = o.nesterov,
        .maximize = o.maximize,
    };
    return ht__optim_check_settings(what, &type, settings);
}

ht_optimizer *ht_optim_sgd(ht_value *parameters, double lr, const ht_sgd_options *options)
{
    static const char what[] = "ht_optim_sgd";
    ht_update_call settings;

    if (read_options(what, options, &settings) != HT_SUCCESS)
        return NULL;
    return ht__optimizer_new(what, &type, parameters, lr, &settings);
}

ht_status ht_optim_sgd_add_param_group(ht_optimizer *optimizer, ht_value *parameters, double lr,
                                       const ht_sgd_options *options)
{
    static const char what[] = "ht_optim_sgd_add_param_group";
    ht_update_call settings;

    if (read_options(what, options, &settings) != HT_SUCCESS)
        return ht_error_get(NULL);
    return ht__optimizer_add_group(what, &type, optimizer, parameters, lr,
                                   options != NULL ? &settings : NULL);
}

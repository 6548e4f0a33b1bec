/* SPDX-License-Identifier: MIT
 *
 * Adadelta: v and u are running means of g^2 and d^2, d = sqrt(u + eps) / sqrt(v + eps) g;
 * p -= lr d. */
#include "ht/kernels/optim.h"
#include "optim/optim.h"

#include <math.h>

static const ht_optimizer_type type = {
    .name = "Adadelta",
    .kernel = HT_KERNEL_UPDATE_ADADELTA,
    .state_names = {"square_avg", "acc_delta"},
    .settings = {{"rho", offsetof(ht_update_call, beta1), 1},
                 {"eps", offsetof(ht_update_call, eps), INFINITY},
                 {"weight_decay", offsetof(ht_update_call, weight_decay), INFINITY},
                 {"maximize", offsetof(ht_update_call, maximize), HT_SETTING_FLAG}},
};

ht_adadelta_options ht_adadelta_options_default(void)
{
    return (ht_adadelta_options){.size = sizeof(ht_adadelta_options), .rho = 0.9, .eps = 1e-6};
}

static ht_status read_options(const char *what, const ht_adadelta_options *options,
                              ht_update_call *settings)
{
    ht_adadelta_options o = options != NULL ? *options : ht_adadelta_options_default();
    ht_status status = HT_CHECK_OPTIONS(NULL, what, &o, ht_adadelta_options);

    if (status != HT_SUCCESS)
        return status;
    *settings = (ht_update_call){
        .beta1 = o.rho,
        .eps = o.eps,
        .weight_decay = o.weight_decay,
        .maximize = o.maximize,
    };
    return ht__optim_check_settings(what, &type, settings);
}

ht_optimizer *ht_optim_adadelta(ht_value *parameters, double lr, const ht_adadelta_options *options)
{
    static const char what[] = "ht_optim_adadelta";
    ht_update_call settings;

    if (read_options(what, options, &settings) != HT_SUCCESS)
        return NULL;
    return ht__optimizer_new(what, &type, parameters, lr, &settings);
}

ht_status ht_optim_adadelta_add_param_group(ht_optimizer *optimizer, ht_value *parameters,
                                            double lr, const ht_adadelta_options *options)
{
    static const char what[] = "ht_optim_adadelta_add_param_group";
    ht_update_call settings;

    if (read_options(what, options, &settings) != HT_SUCCESS)
        return ht_error_get(NULL);
    return ht__optimizer_add_group(what, &type, optimizer, parameters, lr,
                                   options != NULL ? &settings : NULL);
}

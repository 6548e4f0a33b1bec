/* SPDX-License-Identifier: MIT
 *
 * RMSprop: v is the running mean of g^2 (centered: the running variance of g), d = g / (sqrt(v) +
 * eps); p -= lr d, or with momentum b = momentum b + d, p -= lr b. */
#include "optim_impl.h"

#include <math.h>

/* By what is kept: [centered][momentum is not 0]. The kernel counts on the order of the states. */
static const ht_optimizer_type types[2][2] = {
    {
        {.name = "RMSprop",
         .kernel = HT_UPDATE_RMSPROP,
         .state_count = 1,
         .state_names = {"square_avg"}},
        {.name = "RMSprop",
         .kernel = HT_UPDATE_RMSPROP,
         .state_count = 2,
         .state_names = {"square_avg", "momentum_buffer"}},
    },
    {
        {.name = "RMSprop",
         .kernel = HT_UPDATE_RMSPROP,
         .state_count = 2,
         .state_names = {"square_avg", "grad_avg"}},
        {.name = "RMSprop",
         .kernel = HT_UPDATE_RMSPROP,
         .state_count = 3,
         .state_names = {"square_avg", "grad_avg", "momentum_buffer"}},
    },
};

ht_rmsprop_options ht_rmsprop_options_default(void)
{
    return (ht_rmsprop_options){.size = sizeof(ht_rmsprop_options), .alpha = 0.99, .eps = 1e-8};
}

static ht_status check(const ht_rmsprop_options *o)
{
    static const char what[] = "ht_optim_rmsprop";
    ht_status status = ht__optim_check_range(what, "alpha", o->alpha, 0, 1);

    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "eps", o->eps, 0, INFINITY);
    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "weight_decay", o->weight_decay, 0, INFINITY);
    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "momentum", o->momentum, 0, INFINITY);
    return status;
}

ht_optimizer *ht_optim_rmsprop(ht_value *parameters, double lr, const ht_rmsprop_options *options)
{
    ht_rmsprop_options o = options != NULL ? *options : ht_rmsprop_options_default();

    if (ht__optim_check_options("ht_optim_rmsprop", "ht_rmsprop_options_default", o.size,
                                sizeof o) != HT_SUCCESS ||
        check(&o) != HT_SUCCESS)
        return NULL;

    ht_update settings = {
        .beta1 = o.alpha,
        .eps = o.eps,
        .weight_decay = o.weight_decay,
        .momentum = o.momentum,
        .centered = o.centered,
        .maximize = o.maximize,
    };
    return ht__optimizer_new("ht_optim_rmsprop", &types[o.centered][o.momentum != 0], parameters,
                             lr, &settings);
}

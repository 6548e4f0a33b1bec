/* SPDX-License-Identifier: MIT
 *
 * RMSprop: v is the running mean of g^2 (centered: the running variance of g), d = g / (sqrt(v) +
 * eps); p -= lr d, or with momentum b = momentum b + d, p -= lr b. */
#include "ht/kernels/optim.h"
#include "optim/rules/rule.h"

/* The kernel counts on the order of those that are used. */
static bool uses(const ht_update_call *settings, int state)
{
    return state == 0 || (state == 1 ? settings->centered : settings->momentum != 0);
}

static const ht_optimizer_type type = {
    .name = "RMSprop",
    .kernel = HT_KERNEL_UPDATE_RMSPROP,
    .state_names = {"square_avg", "grad_avg", "momentum_buffer"},
    .uses = uses,
    .settings = {HT_SETTING(ht_rmsprop_options, alpha, beta1, 1),
                 HT_SETTING(ht_rmsprop_options, eps, eps, INFINITY),
                 HT_SETTING(ht_rmsprop_options, weight_decay, weight_decay, INFINITY),
                 HT_SETTING(ht_rmsprop_options, momentum, momentum, INFINITY),
                 HT_FLAG(ht_rmsprop_options, centered, centered),
                 HT_FLAG(ht_rmsprop_options, maximize, maximize)},
};

ht_rmsprop_options ht_rmsprop_options_default(void)
{
    return (ht_rmsprop_options){.size = sizeof(ht_rmsprop_options), .alpha = 0.99, .eps = 1e-8};
}

HT_OPTIMIZER(rmsprop, type)

/* SPDX-License-Identifier: MIT
 *
 * Adagrad: v is the sum of all g^2, from initial_accumulator_value on; in step t, counted from 0,
 * p -= lr / (1 + t lr_decay) g / (sqrt(v) + eps). */
#include "ht/kernels/optim.h"
#include "optim/rules/rule.h"

static const ht_optimizer_type type = {
    .name = "Adagrad",
    .kernel = HT_KERNEL_UPDATE_ADAGRAD,
    .state_names = {"sum"},
    .start = {offsetof(ht_update_call, beta2)},
    .settings = {HT_SETTING(ht_adagrad_options, lr_decay, beta1, INFINITY),
                 HT_SETTING(ht_adagrad_options, weight_decay, weight_decay, INFINITY),
                 HT_SETTING(ht_adagrad_options, initial_accumulator_value, beta2, INFINITY),
                 HT_SETTING(ht_adagrad_options, eps, eps, INFINITY),
                 HT_FLAG(ht_adagrad_options, maximize, maximize)},
};

ht_adagrad_options ht_adagrad_options_default(void)
{
    return (ht_adagrad_options){.size = sizeof(ht_adagrad_options), .eps = 1e-10};
}

HT_OPTIMIZER(adagrad, type)

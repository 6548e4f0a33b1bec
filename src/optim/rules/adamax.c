/* SPDX-License-Identifier: MIT
 *
 * Adamax: m is a running mean of g, corrected for starting at zero; u is the greater of beta2 u and
 * |g| + eps; p -= lr m' / u. */
#include "ht/kernels/optim.h"
#include "optim/rules/rule.h"

static const ht_optimizer_type type = {
    .name = "Adamax",
    .kernel = HT_KERNEL_UPDATE_ADAMAX,
    .state_names = {"exp_avg", "exp_inf"},
    .settings = {HT_SETTING(ht_adamax_options, beta1, beta1, 1),
                 HT_SETTING(ht_adamax_options, beta2, beta2, 1),
                 HT_SETTING(ht_adamax_options, eps, eps, INFINITY),
                 HT_SETTING(ht_adamax_options, weight_decay, weight_decay, INFINITY),
                 HT_FLAG(ht_adamax_options, maximize, maximize)},
};

ht_adamax_options ht_adamax_options_default(void)
{
    return (ht_adamax_options){
        .size = sizeof(ht_adamax_options), .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
}

HT_OPTIMIZER(adamax, type)

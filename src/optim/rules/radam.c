/* SPDX-License-Identifier: MIT
 *
 * RAdam: Adam whose first steps, while the variance of gradients is little known, are those of
 * momentum alone; later ones are rectified. */
#include "ht/kernels/optim.h"
#include "optim/rules/rule.h"

static const ht_optimizer_type type = {
    .name = "RAdam",
    .kernel = HT_KERNEL_UPDATE_RADAM,
    .state_names = {"exp_avg", "exp_avg_sq"},
    .settings = {HT_SETTING(ht_radam_options, beta1, beta1, 1),
                 HT_SETTING(ht_radam_options, beta2, beta2, 1),
                 HT_SETTING(ht_radam_options, eps, eps, INFINITY),
                 HT_SETTING(ht_radam_options, weight_decay, weight_decay, INFINITY),
                 HT_FLAG(ht_radam_options, decoupled_weight_decay, decoupled),
                 HT_FLAG(ht_radam_options, maximize, maximize)},
};

ht_radam_options ht_radam_options_default(void)
{
    return (ht_radam_options){
        .size = sizeof(ht_radam_options), .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
}

HT_OPTIMIZER(radam, type)

/* SPDX-License-Identifier: MIT
 *
 * Adadelta: v and u are running means of g^2 and d^2, d = sqrt(u + eps) / sqrt(v + eps) g;
 * p -= lr d. */
#include "ht/kernels/optim.h"
#include "optim/rules/rule.h"

static const ht_optimizer_type type = {
    .name = "Adadelta",
    .kernel = HT_KERNEL_UPDATE_ADADELTA,
    .state_names = {"square_avg", "acc_delta"},
    .settings = {HT_SETTING(ht_adadelta_options, rho, beta1, 1),
                 HT_SETTING(ht_adadelta_options, eps, eps, INFINITY),
                 HT_SETTING(ht_adadelta_options, weight_decay, weight_decay, INFINITY),
                 HT_FLAG(ht_adadelta_options, maximize, maximize)},
};

ht_adadelta_options ht_adadelta_options_default(void)
{
    return (ht_adadelta_options){.size = sizeof(ht_adadelta_options), .rho = 0.9, .eps = 1e-6};
}

HT_OPTIMIZER(adadelta, type)

/* SPDX-License-Identifier: MIT
 *
 * NAdam: Adam with Nesterov's momentum, which grows over the steps. The parameter's number is the
 * product of all momenta so far. */
#include "ht/kernels/optim.h"
#include "optim/rules/rule.h"

static double product_start(const ht_update_call *settings)
{
    (void)settings;
    return 1;
}

static double product_next(const ht_update_call *settings, double lr, double step, double product)
{
    (void)lr;
    return product * ht_nadam_mu(settings, step);
}

static const ht_optimizer_type type = {
    .name = "NAdam",
    .kernel = HT_KERNEL_UPDATE_NADAM,
    .state_names = {"exp_avg", "exp_avg_sq"},
    .number_name = "mu_product",
    .number_start = product_start,
    .number_next = product_next,
    .settings = {HT_SETTING(ht_nadam_options, beta1, beta1, 1),
                 HT_SETTING(ht_nadam_options, beta2, beta2, 1),
                 HT_SETTING(ht_nadam_options, eps, eps, INFINITY),
                 HT_SETTING(ht_nadam_options, weight_decay, weight_decay, INFINITY),
                 HT_SETTING(ht_nadam_options, momentum_decay, dampening, INFINITY),
                 HT_FLAG(ht_nadam_options, decoupled_weight_decay, decoupled),
                 HT_FLAG(ht_nadam_options, maximize, maximize)},
};

ht_nadam_options ht_nadam_options_default(void)
{
    return (ht_nadam_options){.size = sizeof(ht_nadam_options),
                              .beta1 = 0.9,
                              .beta2 = 0.999,
                              .eps = 1e-8,
                              .momentum_decay = 4e-3};
}

HT_OPTIMIZER(nadam, type)

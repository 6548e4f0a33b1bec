/* SPDX-License-Identifier: MIT
 *
 * ASGD: gradient descent at a falling rate, and the mean of the parameters over the steps after t0.
 * The parameter's number is the rate of its next step, which the step before has set. */
#include "ht/kernels/optim.h"
#include "optim/rules/rule.h"

static double rate_start(const ht_update_call *settings)
{
    return settings->lr;
}

static double rate_next(const ht_update_call *settings, double lr, double step, double rate)
{
    (void)rate;
    return lr / pow(1 + settings->beta1 * lr * step, settings->beta2);
}

static const ht_optimizer_type type = {
    .name = "ASGD",
    .kernel = HT_KERNEL_UPDATE_ASGD,
    .state_names = {"ax"},
    .number_name = "eta",
    .number_start = rate_start,
    .number_next = rate_next,
    .settings = {HT_SETTING(ht_asgd_options, lambd, beta1, INFINITY),
                 HT_SETTING(ht_asgd_options, alpha, beta2, INFINITY),
                 HT_SETTING(ht_asgd_options, t0, eps, INFINITY),
                 HT_SETTING(ht_asgd_options, weight_decay, weight_decay, INFINITY),
                 HT_FLAG(ht_asgd_options, maximize, maximize)},
};

ht_asgd_options ht_asgd_options_default(void)
{
    return (ht_asgd_options){
        .size = sizeof(ht_asgd_options), .lambd = 1e-4, .alpha = 0.75, .t0 = 1e6};
}

HT_OPTIMIZER(asgd, type)

/* SPDX-License-Identifier: MIT
 *
 * Stochastic gradient descent: v = momentum v + (1 - dampening) g, p -= lr v; nesterov: p -= lr (g
 * + momentum v). The first v is g. */
#include "ht/kernels/optim.h"
#include "optim/rules/rule.h"

static bool uses(const ht_update_call *settings, int state)
{
    (void)state;
    return settings->momentum != 0;
}

static ht_status check(const char *what, const ht_update_call *settings, bool scheduled)
{
    if (!settings->nesterov || ((settings->momentum != 0 || scheduled) && settings->dampening == 0))
        return HT_SUCCESS;
    return HT_FAIL(
        NULL, HT_ERR_ARGUMENT,
        "%s: nesterov is true with momentum %g and dampening %g, expected momentum above 0 and "
        "dampening 0",
        what, settings->momentum, settings->dampening);
}

static const ht_optimizer_type type = {
    .name = "SGD",
    .kernel = HT_KERNEL_UPDATE_SGD,
    .state_names = {"momentum_buffer"},
    .uses = uses,
    .check = check,
    .settings = {HT_SETTING(ht_sgd_options, momentum, momentum, INFINITY),
                 HT_SETTING(ht_sgd_options, dampening, dampening, INFINITY),
                 HT_SETTING(ht_sgd_options, weight_decay, weight_decay, INFINITY),
                 HT_FLAG(ht_sgd_options, nesterov, nesterov),
                 HT_FLAG(ht_sgd_options, maximize, maximize)},
};

ht_sgd_options ht_sgd_options_default(void)
{
    return (ht_sgd_options){.size = sizeof(ht_sgd_options)};
}

HT_OPTIMIZER(sgd, type)

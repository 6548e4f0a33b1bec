/* SPDX-License-Identifier: MIT
 *
 * Rprop: each element has a separate step size, which grows while the gradient keeps its sign and
 * shrinks when the sign turns. */
#include "ht/kernels/optim.h"
#include "optim/rules/rule.h"

static ht_status check(const char *what, const ht_update_call *settings, bool scheduled)
{
    (void)scheduled;
    if (settings->beta1 > 0 && settings->beta2 > 1)
        return HT_SUCCESS;
    return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                   "%s: etaminus is %g and etaplus %g, expected 0 < etaminus < 1 < etaplus", what,
                   settings->beta1, settings->beta2);
}

static const ht_optimizer_type type = {
    .name = "Rprop",
    .kernel = HT_KERNEL_UPDATE_RPROP,
    .state_names = {"prev", "step_size"},
    .start = {0, offsetof(ht_update_call, lr)},
    .check = check,
    .settings = {HT_SETTING(ht_rprop_options, etaminus, beta1, 1),
                 HT_SETTING(ht_rprop_options, etaplus, beta2, INFINITY),
                 HT_SETTING(ht_rprop_options, step_size_min, eps, INFINITY),
                 HT_SETTING(ht_rprop_options, step_size_max, momentum, INFINITY),
                 HT_FLAG(ht_rprop_options, maximize, maximize)},
};

ht_rprop_options ht_rprop_options_default(void)
{
    return (ht_rprop_options){.size = sizeof(ht_rprop_options),
                              .etaminus = 0.5,
                              .etaplus = 1.2,
                              .step_size_min = 1e-6,
                              .step_size_max = 50};
}

HT_OPTIMIZER(rprop, type)

/* SPDX-License-Identifier: MIT
 *
 * Adam: m and v are running means of g and g^2, both corrected for starting at zero; p -= lr m' /
 * (sqrt(v') + eps). With amsgrad the greatest v so far takes the place of v. AdamW keeps weight decay
 * out of the running means: p *= 1 - lr weight_decay comes first. */
#include "ht/kernels/optim.h"
#include "optim/rules/rule.h"

static bool uses(const ht_update_call *settings, int state)
{
    return state < 2 || settings->amsgrad;
}

#define ROW(type_name, is_decoupled)                                                    \
    {                                                                                   \
        .name = type_name, .kernel = HT_KERNEL_UPDATE_ADAM,                             \
        .state_names = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}, .uses = uses,       \
        .decoupled = is_decoupled,                                                      \
        .settings = {HT_SETTING(ht_adam_options, beta1, beta1, 1),                      \
                     HT_SETTING(ht_adam_options, beta2, beta2, 1),                      \
                     HT_SETTING(ht_adam_options, eps, eps, INFINITY),                   \
                     HT_SETTING(ht_adam_options, weight_decay, weight_decay, INFINITY), \
                     HT_FLAG(ht_adam_options, amsgrad, amsgrad),                        \
                     HT_FLAG(ht_adam_options, maximize, maximize)},                     \
    }
static const ht_optimizer_type adam_type = ROW("Adam", false), adamw_type = ROW("AdamW", true);

ht_adam_options ht_adam_options_default(void)
{
    return (ht_adam_options){
        .size = sizeof(ht_adam_options), .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
}

ht_adamw_options ht_adamw_options_default(void)
{
    ht_adamw_options options = ht_adam_options_default();

    options.weight_decay = 0.01;
    return options;
}

HT_OPTIMIZER(adam, adam_type)
HT_OPTIMIZER(adamw, adamw_type)

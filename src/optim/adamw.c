/* SPDX-License-Identifier: MIT
 *
 * AdamW: Adam whose weight decay stays out of the running means: p *= 1 - lr weight_decay, then
 * p -= lr m' / (sqrt(v') + eps) as in adam.c. */
#include "optim_impl.h"

#include <math.h>

static const ht_optimizer_type adamw = {
    .name = "AdamW",
    .kernel = HT_UPDATE_ADAM,
    .state_count = 2,
    .state_names = {"exp_avg", "exp_avg_sq"},
};

ht_adamw_options ht_adamw_options_default(void)
{
    return (ht_adamw_options){.size = sizeof(ht_adamw_options),
                              .beta1 = 0.9,
                              .beta2 = 0.999,
                              .eps = 1e-8,
                              .weight_decay = 0.01};
}

static ht_status check(const ht_adamw_options *o)
{
    static const char what[] = "ht_optim_adamw";
    ht_status status = ht__optim_check_range(what, "beta1", o->beta1, 0, 1);

    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "beta2", o->beta2, 0, 1);
    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "eps", o->eps, 0, INFINITY);
    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "weight_decay", o->weight_decay, 0, INFINITY);
    return status;
}

ht_optimizer *ht_optim_adamw(ht_value *parameters, double lr, const ht_adamw_options *options)
{
    ht_adamw_options o = options != NULL ? *options : ht_adamw_options_default();

    if (ht__optim_check_options("ht_optim_adamw", "ht_adamw_options_default", o.size, sizeof o) !=
            HT_SUCCESS ||
        check(&o) != HT_SUCCESS)
        return NULL;

    ht_update settings = {
        .beta1 = o.beta1,
        .beta2 = o.beta2,
        .eps = o.eps,
        .weight_decay = o.weight_decay,
        .maximize = o.maximize,
        .decoupled = true,
    };
    return ht__optimizer_new("ht_optim_adamw", &adamw, parameters, lr, &settings);
}

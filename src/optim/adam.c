/* SPDX-License-Identifier: MIT
 *
 * Adam: m and v are running means of g and g^2, both corrected for starting at zero;
 * p -= lr m' / (sqrt(v') + eps). */
#include "optim_impl.h"

#include <math.h>

static const ht_optimizer_type adam = {
    .name = "Adam",
    .kernel = HT_UPDATE_ADAM,
    .state_count = 2,
    .state_names = {"exp_avg", "exp_avg_sq"},
};

ht_adam_options ht_adam_options_default(void)
{
    return (ht_adam_options){
        .size = sizeof(ht_adam_options), .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
}

static ht_status check(const ht_adam_options *o)
{
    static const char what[] = "ht_optim_adam";
    ht_status status = ht__optim_check_range(what, "beta1", o->beta1, 0, 1);

    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "beta2", o->beta2, 0, 1);
    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "eps", o->eps, 0, INFINITY);
    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "weight_decay", o->weight_decay, 0, INFINITY);
    return status;
}

ht_optimizer *ht_optim_adam(ht_value *parameters, double lr, const ht_adam_options *options)
{
    ht_adam_options o = options != NULL ? *options : ht_adam_options_default();

    if (ht__optim_check_options("ht_optim_adam", "ht_adam_options_default", o.size, sizeof o) !=
            HT_SUCCESS ||
        check(&o) != HT_SUCCESS)
        return NULL;

    ht_update settings = {
        .beta1 = o.beta1,
        .beta2 = o.beta2,
        .eps = o.eps,
        .weight_decay = o.weight_decay,
        .maximize = o.maximize,
    };
    return ht__optimizer_new("ht_optim_adam", &adam, parameters, lr, &settings);
}

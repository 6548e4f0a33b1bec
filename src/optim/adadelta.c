/* SPDX-License-Identifier: MIT
 *
 * Adadelta: v and u are running means of g^2 and d^2, d = sqrt(u + eps) / sqrt(v + eps) g;
 * p -= lr d. */
#include "optim_impl.h"

#include <math.h>

static const ht_optimizer_type adadelta = {
    .name = "Adadelta",
    .kernel = HT_UPDATE_ADADELTA,
    .state_count = 2,
    .state_names = {"square_avg", "acc_delta"},
};

ht_adadelta_options ht_adadelta_options_default(void)
{
    return (ht_adadelta_options){.size = sizeof(ht_adadelta_options), .rho = 0.9, .eps = 1e-6};
}

static ht_status check(const ht_adadelta_options *o)
{
    static const char what[] = "ht_optim_adadelta";
    ht_status status = ht__optim_check_range(what, "rho", o->rho, 0, 1);

    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "eps", o->eps, 0, INFINITY);
    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "weight_decay", o->weight_decay, 0, INFINITY);
    return status;
}

ht_optimizer *ht_optim_adadelta(ht_value *parameters, double lr, const ht_adadelta_options *options)
{
    ht_adadelta_options o = options != NULL ? *options : ht_adadelta_options_default();

    if (ht__optim_check_options("ht_optim_adadelta", "ht_adadelta_options_default", o.size,
                                sizeof o) != HT_SUCCESS ||
        check(&o) != HT_SUCCESS)
        return NULL;

    ht_update settings = {
        .beta1 = o.rho,
        .eps = o.eps,
        .weight_decay = o.weight_decay,
        .maximize = o.maximize,
    };
    return ht__optimizer_new("ht_optim_adadelta", &adadelta, parameters, lr, &settings);
}

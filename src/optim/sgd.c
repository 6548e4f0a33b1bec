/* SPDX-License-Identifier: MIT
 *
 * Stochastic gradient descent: v = momentum v + (1 - dampening) g, p -= lr v; nesterov: p -= lr (g
 * + momentum v). The first v is g. */
#include "optim_impl.h"

#include <math.h>

static const ht_optimizer_type plain = {.name = "SGD", .kernel = HT_UPDATE_SGD};
static const ht_optimizer_type with_momentum = {
    .name = "SGD",
    .kernel = HT_UPDATE_SGD,
    .state_count = 1,
    .state_names = {"momentum_buffer"},
};

ht_sgd_options ht_sgd_options_default(void)
{
    return (ht_sgd_options){.size = sizeof(ht_sgd_options)};
}

static ht_status check(const ht_sgd_options *o)
{
    static const char what[] = "ht_optim_sgd";
    ht_status status = ht__optim_check_range(what, "momentum", o->momentum, 0, INFINITY);

    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "weight_decay", o->weight_decay, 0, INFINITY);
    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "dampening", o->dampening, 0, INFINITY);
    if (status == HT_SUCCESS && o->nesterov && (o->momentum == 0 || o->dampening != 0))
        status = HT_FAIL(NULL, HT_ERR_ARGUMENT,
                         "%s: nesterov needs momentum above 0 and dampening 0, got %g and %g", what,
                         o->momentum, o->dampening);
    return status;
}

ht_optimizer *ht_optim_sgd(ht_value *parameters, double lr, const ht_sgd_options *options)
{
    ht_sgd_options o = options != NULL ? *options : ht_sgd_options_default();

    if (ht__optim_check_options("ht_optim_sgd", "ht_sgd_options_default", o.size, sizeof o) !=
            HT_SUCCESS ||
        check(&o) != HT_SUCCESS)
        return NULL;

    ht_update settings = {
        .momentum = o.momentum,
        .dampening = o.dampening,
        .weight_decay = o.weight_decay,
        .nesterov = o.nesterov,
        .maximize = o.maximize,
    };
    return ht__optimizer_new("ht_optim_sgd", o.momentum != 0 ? &with_momentum : &plain, parameters,
                             lr, &settings);
}

/* SPDX-License-Identifier: MIT
 *
 * Adam: m and v are running means of g and g^2, both corrected for starting at zero; p -= lr m' /
 * (sqrt(v') + eps). AdamW keeps weight decay out of the running means: p *= 1 - lr weight_decay
 * comes first. */
#include "ht/kernels/optim.h"
#include "optim/optim.h"

#include <math.h>

#define TYPE(type_name)                                                                  \
    {                                                                                    \
        .name = type_name, .kernel = HT_KERNEL_UPDATE_ADAM,                              \
        .state_names = {"exp_avg", "exp_avg_sq"},                                        \
        .settings = {{"beta1", offsetof(ht_update_call, beta1), 1},                      \
                     {"beta2", offsetof(ht_update_call, beta2), 1},                      \
                     {"eps", offsetof(ht_update_call, eps), INFINITY},                   \
                     {"weight_decay", offsetof(ht_update_call, weight_decay), INFINITY}, \
                     {"maximize", offsetof(ht_update_call, maximize), HT_SETTING_FLAG}}, \
    }
static const ht_optimizer_type adam = TYPE("Adam"), adamw = TYPE("AdamW");

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

/* A kind of the two, what its constructor is called, and the options that were given. */
struct made {
    const ht_optimizer_type *type;
    const char *what;
    const ht_adam_options *options;
};

static ht_status read_options(const struct made *made, ht_update_call *settings)
{
    bool decoupled = made->type == &adamw;
    ht_adam_options o = made->options != NULL ? *made->options
                        : decoupled           ? ht_adamw_options_default()
                                              : ht_adam_options_default();
    ht_status status = decoupled ? HT_CHECK_OPTIONS(NULL, made->what, &o, ht_adamw_options)
                                 : HT_CHECK_OPTIONS(NULL, made->what, &o, ht_adam_options);

    if (status != HT_SUCCESS)
        return status;
    *settings = (ht_update_call){
        .beta1 = o.beta1,
        .beta2 = o.beta2,
        .eps = o.eps,
        .weight_decay = o.weight_decay,
        .maximize = o.maximize,
        .decoupled = decoupled,
    };
    return ht__optim_check_settings(made->what, made->type, settings);
}

static ht_optimizer *make(struct made made, ht_value *parameters, double lr)
{
    ht_update_call settings;

    if (read_options(&made, &settings) != HT_SUCCESS)
        return NULL;
    return ht__optimizer_new(made.what, made.type, parameters, lr, &settings);
}

static ht_status add_group(struct made made, ht_optimizer *optimizer, ht_value *parameters,
                           double lr)
{
    ht_update_call settings;

    if (read_options(&made, &settings) != HT_SUCCESS)
        return ht_error_get(NULL);
    return ht__optimizer_add_group(made.what, made.type, optimizer, parameters, lr,
                                   made.options != NULL ? &settings : NULL);
}

ht_optimizer *ht_optim_adam(ht_value *parameters, double lr, const ht_adam_options *options)
{
    return make((struct made){&adam, "ht_optim_adam", options}, parameters, lr);
}

ht_optimizer *ht_optim_adamw(ht_value *parameters, double lr, const ht_adamw_options *options)
{
    return make((struct made){&adamw, "ht_optim_adamw", options}, parameters, lr);
}

ht_status ht_optim_adam_add_param_group(ht_optimizer *optimizer, ht_value *parameters, double lr,
                                        const ht_adam_options *options)
{
    return add_group((struct made){&adam, "ht_optim_adam_add_param_group", options}, optimizer,
                     parameters, lr);
}

ht_status ht_optim_adamw_add_param_group(ht_optimizer *optimizer, ht_value *parameters, double lr,
                                         const ht_adamw_options *options)
{
    return add_group((struct made){&adamw, "ht_optim_adamw_add_param_group", options}, optimizer,
                     parameters, lr);
}

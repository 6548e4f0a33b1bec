/* SPDX-License-Identifier: MIT
 *
 * One step of training, validation or testing on values. */
#include "core/autograd/autograd.h"
#include "ht/train_step.h"

#include <math.h>

#include "ht/data_parallel.h"
#include "ht/log.h"
#include "nn/module/module.h"
#include "optim/optim.h"

ht_step_options ht_step_options_default(void)
{
    return (ht_step_options){.size = sizeof(ht_step_options)};
}

static ht_status get_options(const char *what, const ht_step_options *options, ht_step_options *o)
{
    *o = options != NULL ? *options : ht_step_options_default();
    return HT_CHECK_OPTIONS(NULL, what, o, ht_step_options);
}

static ht_value *preprocess(const ht_step_options *o, ht_value *data, bool training)
{
    return o->preprocess != NULL ? o->preprocess(data, training, o->user) : data;
}

/* The module's own forward gets the mode beside the data; the caller's map stays as it is. */
static ht_value *forward_with_mode(ht_module *model, ht_value *data, ht_forward_mode mode)
{
    ht_value *inputs = ht_value_map();

    if (ht_value_get_kind(data) != HT_VALUE_MAP) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT,
                "ht_train_step: the data are not a map, so they cannot name the mode; set "
                "ht_step_options.forward");
        return NULL;
    }
    for (int i = 0; i < ht_value_count(data); i++)
        ht_value_set(inputs, ht_value_key(data, i), ht_value_at(data, i));
    ht_value_set(inputs, "mode", ht_value_number(mode));
    return ht_forward_value(model, inputs);
}

static ht_value *forward(const ht_step_options *o, ht_module *model, ht_value *data,
                         ht_forward_mode mode)
{
    if (data == NULL)
        return NULL;
    return o->forward != NULL ? o->forward(model, data, mode, o->user)
                              : forward_with_mode(model, data, mode);
}

static void add_reached(const ht_grad_meta *leaf, void *reached)
{
    ht__address_add(reached, leaf);
}

static void report_unreached(const char *name, ht_tensor *parameter, void *reached)
{
    if (!ht_tensor_requires_grad(parameter) || !ht__address_add(reached, parameter->meta))
        return;
    ht_log_write(HT_LOG_ERROR,
                 "ht_train_step: parameter %s of shape %s requires a gradient, but the loss does "
                 "not depend on it",
                 name, ht__shape_str(parameter->body->ndim, parameter->body->shape));
}

/* Before backward, which releases the graph. */
static void detect_anomalous(ht_module *model, ht_tensor *loss)
{
    ht_address_set reached = {0};

    ht__graph_walk(loss, ht__graph_new_walk(), add_reached, &reached);
    ht__module_walk_tensors(ht__module_unwrapped(model), HT_SLOT_PARAMETER, report_unreached,
                            &reached);
    ht__address_set_free(&reached);
}

ht_value *ht_train_step(ht_module *model, ht_value *data, ht_optim_wrapper *wrapper,
                        const ht_step_options *options)
{
    ht_step_options o;
    ht_tensor *loss = NULL;
    ht_value *log = ht_value_map();
    double norm;

    if (get_options("ht_train_step", options, &o) != HT_SUCCESS ||
        ht_optim_wrapper_begin(wrapper, model) != HT_SUCCESS)
        return NULL;
    if (data != NULL) {
        ht_value *losses = forward(&o, model, preprocess(&o, data, true), HT_FORWARD_LOSS);

        if (losses == NULL || ht_parse_losses(losses, &loss, &log) != HT_SUCCESS)
            return NULL;
        if (o.detect_anomalous_params)
            detect_anomalous(model, loss);
    }
    if (ht_optim_wrapper_update_params(wrapper, loss) != HT_SUCCESS)
        return NULL;
    norm = ht_optim_wrapper_last(wrapper).grad_norm;
    if (!isnan(norm))
        ht_value_set(log, "grad_norm", ht_value_number(norm));
    return log;
}

static ht_value *predict(const char *what, ht_module *model, ht_value *data,
                         const ht_step_options *options)
{
    ht_step_options o;
    ht_value *predictions;
    bool was;

    if (get_options(what, options, &o) != HT_SUCCESS || data == NULL)
        return NULL;
    was = ht_set_grad_enabled(false);
    predictions = forward(&o, ht__module_unwrapped(model), preprocess(&o, data, false),
                          HT_FORWARD_PREDICT);
    ht_set_grad_enabled(was);
    return predictions;
}

ht_value *ht_val_step(ht_module *model, ht_value *data, const ht_step_options *options)
{
    return predict("ht_val_step", model, data, options);
}

ht_value *ht_test_step(ht_module *model, ht_value *data, const ht_step_options *options)
{
    return predict("ht_test_step", model, data, options);
}

/* SPDX-License-Identifier: MIT
 *
 * One step of training, validation or testing on values. */
#include "core/autograd/autograd.h"
#include "ht/train_step.h"

#include <math.h>

#include "ht/data_parallel.h"
#include "ht/log.h"
#include "nn/module/module.h"
#include "nn/step/optim_wrapper.h"
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

/* The value that a function of the program returned; a NULL without an error becomes one. */
static ht_value *returned(const char *what, const char *function, ht_value *value)
{
    if (value == NULL && ht_error_get(NULL) == HT_SUCCESS)
        HT_FAIL(NULL, HT_ERR_STATE, "%s: %s returned NULL without an error", what, function);
    return value;
}

/* The module's forward gets the mode and the data; the caller's map stays as it is. */
static ht_value *forward_with_mode(const char *what, ht_module *model, ht_value *data,
                                   ht_forward_mode mode)
{
    ht_value *inputs = ht_value_map();

    if (ht_value_get_kind(data) != HT_VALUE_MAP) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT,
                "%s: the data are not a map, so they cannot name the mode; set "
                "ht_step_options.forward",
                what);
        ht__module_missed(model);
        return NULL;
    }
    for (int i = 0; i < ht_value_count(data); i++)
        ht_value_set(inputs, ht_value_key(data, i), ht_value_at(data, i));
    ht_value_set(inputs, "mode", ht_value_number(mode));
    return ht_forward_value(model, inputs);
}

static void note_run(ht_module *model, void *ran)
{
    (void)model;
    *(bool *)ran = true;
}

/* By the function of the program. If it gives up without an error before it runs the model, ranks
 * that wait there get the report here; a function that fails passes its NULL to the model. */
static ht_value *forward_by_program(const char *what, const ht_step_options *o, ht_module *model,
                                    ht_value *data, ht_forward_mode mode)
{
    bool ran = false, silent;
    ht_forward_observer observer = {.before = note_run, .user = &ran};
    ht_value *output;

    ht__module_observe(model, &observer);
    output = o->forward(model, data, mode, o->user);
    ht__module_leave(model, &observer);
    silent = output == NULL && ht_error_get(NULL) == HT_SUCCESS;
    output = returned(what, "forward", output);
    if (silent && !ran)
        ht__module_missed(model);
    return output;
}

/* Preprocess and forward. NULL after an error; ranks that wait for this one in the model have got
 * it. */
static ht_value *run(const char *what, const ht_step_options *o, ht_module *model, ht_value *data,
                     ht_forward_mode mode)
{
    if (data != NULL && o->preprocess != NULL)
        data = returned(what, "preprocess", o->preprocess(data, mode == HT_FORWARD_LOSS, o->user));
    if (data == NULL) {
        ht__module_missed(model);
        return NULL;
    }
    return o->forward != NULL ? forward_by_program(what, o, model, data, mode)
                              : forward_with_mode(what, model, data, mode);
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

static ht_status begin(const char *what, ht_optim_wrapper *wrapper, ht_module *model)
{
    HT_NAMED(what);

    return ht_optim_wrapper_begin(wrapper, model);
}

/* For data of this rank: the loss and its log. Data that an error took, or options that are
 * refused, are reported to ranks that wait in the model. */
static ht_status find_loss(const char *what, const ht_step_options *o, ht_module *model,
                           ht_value *data, ht_tensor **loss, ht_value **log)
{
    ht_value *losses = run(what, o, model, data, HT_FORWARD_LOSS);
    ht_status status;

    {
        HT_NAMED(what);
        status = losses != NULL ? ht_parse_losses(losses, loss, log) : ht_error_get(NULL);
    }
    if (status == HT_SUCCESS && o->detect_anomalous_params)
        detect_anomalous(model, *loss);
    return status;
}

/* A step that does nothing, perhaps on this rank alone. Ranks that wait in the model, which the
 * wrapper knows from the step before, and in its backward pass get the report. */
static void give_up(ht_module *model, const ht_optim_wrapper *wrapper)
{
    if (model == NULL && wrapper != NULL)
        model = wrapper->model;
    if (model != NULL)
        ht__module_missed(model);
    ht_backward(NULL);
}

ht_value *ht_train_step(ht_module *model, ht_value *data, ht_optim_wrapper *wrapper,
                        const ht_step_options *options)
{
    static const char what[] = "ht_train_step";
    ht_step_options o;
    ht_tensor *loss = NULL;
    ht_value *log = ht_value_map();
    double norm;

    if (get_options(what, options, &o) != HT_SUCCESS)
        data = NULL;
    if (begin(what, wrapper, model) != HT_SUCCESS) {
        if (wrapper == NULL || model == NULL)
            give_up(model, wrapper);
        return NULL;
    }
    if ((data != NULL || ht_error_get(NULL) != HT_SUCCESS) &&
        find_loss(what, &o, model, data, &loss, &log) != HT_SUCCESS)
        loss = NULL; /* missing after an error, which the other ranks get from the update */
    if (ht__optim_wrapper_update(what, wrapper, loss) != HT_SUCCESS)
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

    if (get_options(what, options, &o) != HT_SUCCESS || data == NULL ||
        HT_IS_NULL(model, what, "model"))
        return NULL;
    was = ht_set_grad_enabled(false);
    predictions = run(what, &o, ht__module_unwrapped(model), data, HT_FORWARD_PREDICT);
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

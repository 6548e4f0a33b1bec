/* SPDX-License-Identifier: MIT
 *
 * The optimizer wrapper: counts losses, and knows from their number alone what each one is worth,
 * whether the ranks exchange its gradients, and whether an update follows. */
#include "nn/step/optim_wrapper.h"

#include <inttypes.h>
#include <math.h>

#include "core/autograd/autograd.h"
#include "ht/arithmetics.h"
#include "ht/log.h"

static void forget_model(ht_module *model, void *user)
{
    (void)model;
    ((ht_optim_wrapper *)user)->model = NULL;
}

/* It does not retain the model: a program that releases a data-parallel wrapper may wrap again. */
static void set_model(ht_optim_wrapper *wrapper, ht_module *model)
{
    if (wrapper->model == model)
        return;
    if (wrapper->model != NULL)
        ht__module_leave(wrapper->model, &wrapper->observer);
    wrapper->model = model;
    if (model != NULL)
        ht__module_observe(model, &wrapper->observer);
}

static void destroy(void *object)
{
    ht_optim_wrapper *wrapper = object;

    ht_release(wrapper->parameters);
    set_model(wrapper, NULL);
    ht_release(wrapper->optimizer);
    ht__object_fini(wrapper);
    ht__free(wrapper);
}

static ht_kind kind = {.name = "optim wrapper", .destroy = destroy};

ht_optim_wrapper_options ht_optim_wrapper_options_default(void)
{
    return (ht_optim_wrapper_options){
        .size = sizeof(ht_optim_wrapper_options),
        .accumulative_counts = 1,
        .clip_norm_type = 2,
        .scale = 65536,
        .growth_factor = 2,
        .backoff_factor = 0.5,
        .growth_interval = 2000,
    };
}

static ht_status check_options(const char *what, const ht_optim_wrapper_options *o)
{
    ht_status status = HT_CHECK_OPTIONS(NULL, what, o, ht_optim_wrapper_options);

    if (status == HT_SUCCESS)
        status = ht__optim_check_count(what, "accumulative_counts", o->accumulative_counts, 1);
    if (status == HT_SUCCESS)
        status = ht__optim_check_count(what, "max_counts", o->max_counts, 0);
    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "clip_norm", o->clip_norm, 0, INFINITY);
    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "clip_value", o->clip_value, 0, INFINITY);
    if (status == HT_SUCCESS && o->clip_norm > 0 && o->clip_value > 0)
        status = HT_FAIL(NULL, HT_ERR_ARGUMENT,
                         "%s: clip_norm is %g and clip_value is %g, expected one of the two", what,
                         o->clip_norm, o->clip_value);
    return status == HT_SUCCESS ? ht__scaler_check_options(what, o) : status;
}

/* Owned. */
static ht_value *list_parameters(const ht_optimizer *optimizer)
{
    ht_scope *scope = ht_scope_open();
    ht_value *list = ht_value_list();

    for (int i = 0; i < ht_optimizer_parameter_count(optimizer); i++)
        ht_value_append(list, ht_value_tensor(ht_optimizer_parameter(optimizer, i)));
    ht_retain(list);
    ht_scope_close(scope);
    return list;
}

ht_optim_wrapper *ht_optim_wrapper_new(ht_optimizer *optimizer,
                                       const ht_optim_wrapper_options *options)
{
    static const char what[] = "ht_optim_wrapper_new";
    ht_optim_wrapper_options o = options != NULL ? *options : ht_optim_wrapper_options_default();
    ht_optim_wrapper *wrapper;

    if (optimizer == NULL) {
        if (ht_error_get(NULL) == HT_SUCCESS)
            HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: optimizer is NULL", what);
        return NULL;
    }
    if (check_options(what, &o) != HT_SUCCESS)
        return NULL;
    wrapper = ht__alloc(sizeof *wrapper);
    ht__object_init(wrapper, &kind);
    wrapper->optimizer = ht_retain(optimizer);
    wrapper->observer = (ht_forward_observer){.gone = forget_model, .user = wrapper};
    wrapper->options = o;
    wrapper->scale = o.loss_scaling != HT_LOSS_SCALING_NONE ? o.scale : 1;
    wrapper->last.loss_scale = 1;
    wrapper->last.grad_norm = NAN;
    wrapper->last.amp_scale = wrapper->scale;
    wrapper->last.lr = ht_optimizer_lr(optimizer);
    return wrapper;
}

/* The losses first ... end - 1 make one update; loss number `count` is among them. */
static void find_group(const ht_optim_wrapper *wrapper, int64_t count, int64_t *first, int64_t *end)
{
    int64_t size = wrapper->options.accumulative_counts, most = wrapper->options.max_counts;

    *first = count / size * size;
    *end = *first + size;
    if (most > 0 && *end > most)
        *end = most;
    if (*first < wrapper->first)
        *first = wrapper->first;
}

bool ht__optim_wrapper_ends_group(const ht_optim_wrapper *wrapper, int64_t count)
{
    int64_t first, end;

    find_group(wrapper, count, &first, &end);
    return count + 1 == end;
}

bool ht_optim_wrapper_should_update(const ht_optim_wrapper *wrapper)
{
    return wrapper != NULL && ht__optim_wrapper_ends_group(wrapper, wrapper->last.count);
}

static double loss_scale(const ht_optim_wrapper *wrapper, const ht_data_parallel *dp)
{
    int64_t first, end;

    if (dp != NULL && dp->reducer->options.averaging == HT_AVERAGE_WEIGHTED)
        return 1;
    find_group(wrapper, wrapper->last.count, &first, &end);
    return 1 / (double)(end - first);
}

static ht_status check_model(const ht_optim_wrapper *wrapper, const ht_data_parallel *dp)
{
    static const char what[] = "ht_optim_wrapper_begin";

    if (dp->reducer->options.accumulation_steps > 1)
        return HT_FAIL(dp->comm, HT_ERR_STATE,
                       "%s: the data-parallel wrapper accumulates by itself (accumulation_steps is "
                       "%d); let one of the two do it: accumulative_counts",
                       what, dp->reducer->options.accumulation_steps);
    if (dp->reducer->joining != HT_JOINING_OFF && ht__scaler_needs_all_ranks(wrapper, dp))
        return HT_FAIL(dp->comm, HT_ERR_UNSUPPORTED,
                       "%s: in a join, ranks out of data would miss changes of the losses' scale; "
                       "use a static one, and no communication hook",
                       what);
    return HT_SUCCESS;
}

ht_status ht_optim_wrapper_begin(ht_optim_wrapper *wrapper, ht_module *model)
{
    const ht_data_parallel *dp = ht__dp_of(model);

    if (HT_IS_NULL(wrapper, "ht_optim_wrapper_begin", "wrapper") ||
        HT_IS_NULL(model, "ht_optim_wrapper_begin", "model"))
        return ht_error_get(NULL);
    set_model(wrapper, model);
    if (dp == NULL)
        return HT_SUCCESS;
    if (check_model(wrapper, dp) != HT_SUCCESS)
        return ht_error_get(NULL);
    return ht_data_parallel_set_sync(model, ht_optim_wrapper_should_update(wrapper));
}

static ht_status check_update(const char *what, const ht_optim_wrapper *wrapper)
{
    if (wrapper->options.max_counts > 0 && wrapper->last.count >= wrapper->options.max_counts)
        return HT_FAIL(NULL, HT_ERR_STATE,
                       "%s: this is loss %" PRId64 ", but max_counts is %" PRId64, what,
                       wrapper->last.count + 1, wrapper->options.max_counts);
    if (wrapper->optimizer->deferral != NULL && ht__dp_of(wrapper->model) == NULL)
        return HT_FAIL(NULL, HT_ERR_STATE,
                       "%s: a data-parallel wrapper has the optimizer; pass that wrapper to "
                       "ht_optim_wrapper_begin before each forward pass",
                       what);
    return HT_SUCCESS;
}

static ht_status run_backward(const char *what, ht_optim_wrapper *wrapper, ht_tensor *loss,
                              double scale)
{
    ht_data_parallel *dp = ht__dp_of(wrapper->model);
    ht_status status = HT_SUCCESS;

    if (dp != NULL)
        dp->reducer->loss_scale = wrapper->scale;

    if (loss != NULL && scale != 1)
        loss = ht_mul_scalar(loss, scale);
    if (dp != NULL)
        status = ht__dp_backward(what, dp, loss);
    else if (loss != NULL || ht_error_get(NULL) != HT_SUCCESS)
        status = ht__backward(what, loss);
    if (dp != NULL) /* what begin said was for this pass alone */
        ht_data_parallel_set_sync(wrapper->model, true);
    return status;
}

static bool clips(const ht_optim_wrapper_options *o)
{
    return o->clip_norm > 0 || o->clip_value > 0;
}

static ht_status clip(ht_optim_wrapper *wrapper)
{
    const ht_optim_wrapper_options *o = &wrapper->options;
    int count = ht_optimizer_parameter_count(wrapper->optimizer);
    ht_error_kept earlier;
    ht_status status;

    if (ht_value_count(wrapper->parameters) != count) { /* none yet, or a group was added */
        ht_release(wrapper->parameters);
        wrapper->parameters = list_parameters(wrapper->optimizer);
    }
    if (o->clip_value > 0)
        return ht_clip_grad_value_(wrapper->parameters, o->clip_value);
    ht__error_set_aside(&earlier); /* a norm of NaN is not a failure by itself */
    wrapper->last.grad_norm = ht_clip_grad_norm_(wrapper->parameters, o->clip_norm,
                                                 o->clip_norm_type, false);
    status = isnan(wrapper->last.grad_norm) ? ht_error_get(NULL) : HT_SUCCESS;
    ht__error_put_back(&earlier);
    return status;
}

/* Whether gradients weighted by rows stay on this rank: under DASO, on batches that are not
 * averaged inside nodes. */
static bool is_own_sum(const ht_optim_wrapper *wrapper)
{
    const ht_data_parallel *dp = ht__dp_of(wrapper->model);

    return dp != NULL && dp->no_sync > 0 && dp->reducer->options.averaging == HT_AVERAGE_WEIGHTED;
}

static ht_status update(const char *what, ht_optim_wrapper *wrapper)
{
    ht_status status = HT_SUCCESS;
    bool finite = true;

    if (is_own_sum(wrapper))
        status = ht__dp_average_own(ht__dp_of(wrapper->model));
    if (status == HT_SUCCESS && wrapper->options.loss_scaling != HT_LOSS_SCALING_NONE)
        status = ht__scaler_unscale(wrapper, &finite);
    if (status == HT_SUCCESS && finite && clips(&wrapper->options))
        status = clip(wrapper);
    if (status == HT_SUCCESS && finite)
        status = ht__optimizer_step(what, wrapper->optimizer);
    wrapper->last.stepped = status == HT_SUCCESS && finite;
    wrapper->last.skipped = !finite;
    ht__scaler_adapt(wrapper, finite);
    return status == HT_SUCCESS ? ht_optimizer_zero_grad(wrapper->optimizer) : status;
}

ht_status ht__optim_wrapper_update(const char *what, ht_optim_wrapper *wrapper, ht_tensor *loss)
{
    bool should_update;
    ht_status status;

    if (HT_IS_NULL(wrapper, what, "wrapper"))
        return ht_error_get(NULL);
    status = check_update(what, wrapper);
    if (status != HT_SUCCESS)
        return status;
    should_update = ht_optim_wrapper_should_update(wrapper);
    wrapper->last.loss_scale = loss_scale(wrapper, ht__dp_of(wrapper->model));
    wrapper->last.synchronised = should_update;
    wrapper->last.stepped = wrapper->last.skipped = false;
    wrapper->last.grad_norm = NAN; /* until this update measures it */
    wrapper->last.amp_scale = wrapper->scale;
    wrapper->last.lr = ht_optimizer_lr(wrapper->optimizer);
    status = run_backward(what, wrapper, loss, wrapper->last.loss_scale * wrapper->scale);
    if (status != HT_SUCCESS)
        return status;
    wrapper->last.count++;
    return should_update ? update(what, wrapper) : HT_SUCCESS;
}

ht_status ht_optim_wrapper_update_params(ht_optim_wrapper *wrapper, ht_tensor *loss)
{
    return ht__optim_wrapper_update("ht_optim_wrapper_update_params", wrapper, loss);
}

ht_optim_update ht_optim_wrapper_last(const ht_optim_wrapper *wrapper)
{
    return wrapper != NULL ? wrapper->last
                           : (ht_optim_update){.loss_scale = NAN, .lr = NAN, .grad_norm = NAN};
}

ht_optimizer *ht_optim_wrapper_optimizer(const ht_optim_wrapper *wrapper)
{
    return wrapper != NULL ? wrapper->optimizer : NULL;
}

ht_value *ht_optim_wrapper_state_dict(ht_optim_wrapper *wrapper)
{
    ht_value *map, *optimizer;

    if (HT_IS_NULL(wrapper, "ht_optim_wrapper_state_dict", "wrapper"))
        return NULL;
    optimizer = ht_optimizer_state_dict(wrapper->optimizer);
    if (optimizer == NULL)
        return NULL;
    map = ht_value_map();
    ht_value_set(map, "count", ht_value_number((double)wrapper->last.count));
    ht_value_set(map, "optimizer", optimizer);
    if (wrapper->options.loss_scaling != HT_LOSS_SCALING_NONE)
        ht_value_set(map, "scaler", ht__scaler_state(wrapper));
    return map;
}

static void warn_of_lost_gradients(const ht_optim_wrapper *wrapper)
{
    int64_t lost = wrapper->first % wrapper->options.accumulative_counts;

    if (lost > 0)
        ht_log_write0(
            HT_LOG_WARN,
            "ht_optim_wrapper_load_state_dict: the state was saved between two updates; the "
            "next one is the mean of %" PRId64 " losses, not of %" PRId64,
            wrapper->options.accumulative_counts - lost, wrapper->options.accumulative_counts);
}

ht_status ht_optim_wrapper_load_state_dict(ht_optim_wrapper *wrapper, const ht_value *state)
{
    static const char what[] = "ht_optim_wrapper_load_state_dict";
    const ht_value *count = ht_value_get(state, "count"), *inner = ht_value_get(state, "optimizer");
    int64_t losses;
    bool scales;
    ht_status status = HT_SUCCESS;

    if (HT_IS_NULL(wrapper, what, "wrapper") || HT_IS_NULL(state, what, "state"))
        return ht_error_get(NULL);
    if (!ht__value_whole(count, &losses))
        return HT_FAIL(NULL, HT_ERR_FORMAT, "%s: the state has no integer \"count\"", what);
    if (inner == NULL)
        return HT_FAIL(NULL, HT_ERR_FORMAT, "%s: the state has no \"optimizer\"", what);
    scales = wrapper->options.loss_scaling != HT_LOSS_SCALING_NONE;
    if (scales)
        status = ht__scaler_check_state(what, ht_value_get(state, "scaler"));
    HT_NAMED(what);
    if (status == HT_SUCCESS)
        status = ht_optimizer_load_state_dict(wrapper->optimizer, inner);
    if (status != HT_SUCCESS)
        return status;
    if (scales)
        ht__scaler_load_state(wrapper, ht_value_get(state, "scaler"));
    wrapper->last.count = wrapper->first = losses;
    warn_of_lost_gradients(wrapper);
    return HT_SUCCESS;
}

/* SPDX-License-Identifier: MIT
 *
 * The scale of losses in mixed precision: torch.cuda.amp.GradScaler's rules. */
#include <float.h>
#include <math.h>

#include "core/tensor/graph.h"
#include "ht/arithmetics.h"
#include "ht/log.h"
#include "nn/step/optim_wrapper.h"

ht_status ht__scaler_check_options(const char *what, const ht_optim_wrapper_options *o)
{
    ht_status status;

    if (o->loss_scaling == HT_LOSS_SCALING_NONE)
        return HT_SUCCESS;
    if (o->loss_scaling < 0 || o->loss_scaling > HT_LOSS_SCALING_DYNAMIC)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: loss_scaling is %d, expected 0 to 2", what,
                       (int)o->loss_scaling);
    status = ht__optim_check_range(what, "scale", o->scale, DBL_MIN, INFINITY);
    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "growth_factor", o->growth_factor, 1, INFINITY);
    if (status == HT_SUCCESS)
        status = ht__optim_check_range(what, "backoff_factor", o->backoff_factor, DBL_MIN, 1);
    if (status == HT_SUCCESS)
        status = ht__optim_check_count(what, "growth_interval", o->growth_interval, 1);
    return status;
}

/* 0 x is 0 but for infinities and NaN, and a sum keeps their NaN. */
static ht_status unscale_one(ht_tensor *grad, double factor, bool *finite)
{
    ht_scope *scope = ht_scope_open();
    ht_status status = ht_mul_scalar_(grad, factor);
    double zero = 0;

    if (status == HT_SUCCESS)
        status = ht_tensor_item(ht_sum(ht_mul_scalar(grad, 0), HT_NONE), &zero);
    *finite &= !isnan(zero);
    ht_scope_close(scope);
    return status;
}

bool ht__scaler_needs_all_ranks(const ht_optim_wrapper *wrapper, const ht_data_parallel *dp)
{
    return wrapper->options.loss_scaling == HT_LOSS_SCALING_DYNAMIC ||
           (wrapper->options.loss_scaling == HT_LOSS_SCALING_STATIC && dp->reducer->hook != NULL);
}

/* Averages have the same bits on all ranks, so all see the same; the result of a communication hook
 * may differ, and so may gradients that were not exchanged. */
static ht_status agree(ht_optim_wrapper *wrapper, bool *finite)
{
    const ht_data_parallel *dp = ht__dp_of(wrapper->model);
    int64_t all = *finite;
    ht_status status = HT_SUCCESS;

    if (dp != NULL && dp->comm->size > 1 &&
        (dp->reducer->hook != NULL || !ht__reducer_is_synced(dp->reducer)))
        status = ht__comm_allreduce_i64(dp->comm, &all, 1, HT_OP_MIN,
                                        "agreeing on whether gradients are finite");
    *finite = all != 0;
    return status;
}

ht_status ht__scaler_unscale(ht_optim_wrapper *wrapper, bool *finite)
{
    ht_optimizer *optimizer = wrapper->optimizer;
    bool was = ht_set_grad_enabled(false);
    ht_status status = HT_SUCCESS;

    *finite = true;
    for (int i = 0; i < ht_optimizer_parameter_count(optimizer) && status == HT_SUCCESS; i++) {
        ht_tensor *grad;

        status = ht__grad_get(ht_optimizer_parameter(optimizer, i), &grad);
        if (grad != NULL)
            status = unscale_one(grad, 1 / wrapper->scale, finite);
    }
    ht_set_grad_enabled(was);
    return status == HT_SUCCESS ? agree(wrapper, finite) : status;
}

/* Both the scale and its inverse stay finite in float32, where most losses and gradients are. A
 * scale beyond would skip all later updates. */
static void adapt_scale(ht_optim_wrapper *wrapper, double factor)
{
    const double scale = wrapper->scale * factor;

    if (factor >= 1 && scale <= FLT_MAX)
        wrapper->scale = scale;
    if (factor < 1)
        wrapper->scale = fmax(scale, fmin(wrapper->scale, FLT_MIN));
}

void ht__scaler_adapt(ht_optim_wrapper *wrapper, bool finite)
{
    const ht_optim_wrapper_options *o = &wrapper->options;

    if (o->loss_scaling != HT_LOSS_SCALING_DYNAMIC)
        return;
    wrapper->streak = finite ? wrapper->streak + 1 : 0;
    if (!finite)
        adapt_scale(wrapper, o->backoff_factor);
    if (wrapper->streak == o->growth_interval) {
        adapt_scale(wrapper, o->growth_factor);
        wrapper->streak = 0;
    }
    if (!finite)
        ht_log_write0(
            HT_LOG_INFO,
            "ht_optim_wrapper_update_params: a gradient is infinite or NaN: no update, the "
            "losses' scale becomes %g",
            wrapper->scale);
}

ht_value *ht__scaler_state(const ht_optim_wrapper *wrapper)
{
    ht_value *map = ht_value_map();

    ht_value_set(map, "scale", ht_value_number(wrapper->scale));
    ht_value_set(map, "streak", ht_value_number((double)wrapper->streak));
    return map;
}

ht_status ht__scaler_check_state(const char *what, const ht_value *state)
{
    double scale = ht_value_as_number(ht_value_get(state, "scale"));
    int64_t streak;

    if (scale > 0 && isfinite(scale) && ht__value_whole(ht_value_get(state, "streak"), &streak))
        return HT_SUCCESS;
    return HT_FAIL(NULL, HT_ERR_FORMAT,
                   "%s: the state has no \"scaler\" with a finite scale above 0 and a streak",
                   what);
}

void ht__scaler_load_state(ht_optim_wrapper *wrapper, const ht_value *state)
{
    wrapper->scale = ht_value_as_number(ht_value_get(state, "scale"));
    wrapper->streak = (int64_t)ht_value_as_number(ht_value_get(state, "streak"));
}

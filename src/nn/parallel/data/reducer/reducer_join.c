/* SPDX-License-Identifier: MIT
 *
 * Passes of a rank that is out of data while others are not. Between begin and end of a join every
 * pass has a head of seven numbers, three for each parameter, and bits for the ranks that have
 * data. The number of active ranks shows the ranks out of data whether there is a pass at all. It
 * also has the number to divide by. Only the ranks out of data wait for the head. */
#include "nn/parallel/data/reducer/reducer.h"

static const char what[] = "ranks out of data, for a step of the others";

/* Gradients that no pass has sent yet: accumulated when the data ended. */
static bool has_unsent(const ht_reducer *reducer)
{
    bool any = false;

    if (reducer->pass != HT_PASS_LOCAL)
        return false;
    for (int i = 0; i < reducer->count; i++)
        any |= ht__reducer_has_grad(&reducer->params[i]);
    return any;
}

void ht__reducer_forget(ht_reducer_param *param)
{
    param->tensor->meta->overwrite = true;
    param->global = param->averaged = false;
    param->weight = 0;
}

/* Zeros; or one that no code has seen yet; or this rank's share of an average that the others add
 * to. */
static ht_status contribute(ht_reducer *reducer, bool unsent)
{
    bool mean_of_active = reducer->joining == HT_JOINING_ACTIVE &&
                          reducer->options.averaging == HT_AVERAGE_MEAN;
    ht_scope *scope = ht_scope_open();
    bool was = ht_set_grad_enabled(false);
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < reducer->count && status == HT_SUCCESS; i++) {
        ht_reducer_param *param = &reducer->params[i];

        if (unsent || (param->kept && !mean_of_active))
            status = ht__reducer_take_over(param);
        else
            ht__reducer_forget(param);
    }
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status;
}

/* The most weight that this rank has in a gradient. */
static double weight_of(const ht_reducer *reducer)
{
    double most = 0;

    for (int i = 0; i < reducer->count; i++)
        most = reducer->params[i].weight > most ? reducer->params[i].weight : most;
    return most;
}

ht_status ht__reducer_shadow(ht_reducer *reducer, ht_shadow *shadow)
{
    ht_status status = ht__reducer_drain(reducer);
    bool unsent = has_unsent(reducer);
    ht_pass_head head = {.giving = unsent, .stops = reducer->stop.mine};

    if (status != HT_SUCCESS)
        return status;
    reducer->stop.agreed = reducer->stop.asked; /* as where a pass begins */
    ht__reducer_choose_sharer(reducer);
    for (int i = 0; i < reducer->count; i++)
        ht__reducer_note_zeroing(&reducer->params[i]);
    *(unsent ? &head.weight : &head.held) = weight_of(reducer);
    status = ht__reducer_ask(reducer, &head, what);
    *shadow = HT_SHADOW_OVER;
    if (status != HT_SUCCESS || reducer->head.active == 0)
        return status;
    *shadow = HT_SHADOW_BUFFERS;
    if (reducer->head.buffers > 0)
        return HT_SUCCESS;
    *shadow = HT_SHADOW_PASS;
    status = contribute(reducer, unsent);
    if (status == HT_SUCCESS)
        status = ht__reducer_open(reducer, true, false);
    return status == HT_SUCCESS ? ht__reducer_drain(reducer) : status;
}

ht_status ht__reducer_announce_buffers(ht_reducer *reducer)
{
    const ht_pass_head head = {.active = 1, .buffers = 1};

    return ht__reducer_ask(reducer, &head, "a forward pass that updates buffers");
}

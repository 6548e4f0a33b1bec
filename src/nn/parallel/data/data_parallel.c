/* SPDX-License-Identifier: MIT
 *
 * The data-parallel wrapper: a module that runs the wrapped one, decides the weight of the next
 * backward pass, and hands step() to the reducer. */
#include "nn/parallel/data/reducer/comm_hook.h"
#include "nn/parallel/data/data_parallel.h"
#include "nn/layers/batch_norm.h"
#include "core/autograd/autograd.h"

#include <math.h>
#include <string.h>

static const char name[] = "ht_nn_data_parallel";

/* The rows of the first tensor in the inputs that has any, and of the first one that differs; -1:
 * none. */
static void count_rows(const ht_value *value, int64_t rows[2])
{
    const ht_tensor *x = ht_value_as_tensor(value);
    int64_t count = x != NULL && x->body->ndim > 0 ? x->body->shape[0] : -1;

    if (count >= 0 && rows[0] < 0)
        rows[0] = count;
    else if (count >= 0 && rows[1] < 0 && count != rows[0])
        rows[1] = count;
    for (int i = 0; i < ht_value_count(value); i++)
        count_rows(ht_value_at(value, i), rows);
}

/* Batches are process-local: gradients of a split batch are summed by autograd already. */
static ht_status check_inputs(const ht_value *value)
{
    ht_tensor *x = ht_value_as_tensor(value);
    ht_status status = HT_SUCCESS;

    if (x != NULL && x->body->comm->shared)
        return HT_FAIL(x->body->comm, HT_ERR_COMM,
                       "%s: forward got a tensor that is on %d ranks; give each rank its own "
                       "part of the batch (ht_tensor_local), because the wrapper averages over "
                       "ranks",
                       name, x->body->comm->size);
    for (int i = 0; status == HT_SUCCESS && i < ht_value_count(value); i++)
        status = check_inputs(ht_value_at(value, i));
    return status;
}

/* The weight that the program set, or else the rows of the inputs. Inputs that disagree are an
 * error of the backward pass: until then a weight may be set. Other averages only tell 0 apart. */
static double take_weight(ht_data_parallel *dp)
{
    double weight = dp->weight;

    dp->weight = NAN;
    if (!isnan(weight))
        return weight;
    if (dp->rows[1] >= 0 && dp->reducer->options.averaging == HT_AVERAGE_WEIGHTED)
        return NAN;
    return dp->rows[0] >= 0 ? fmax((double)dp->rows[0], (double)dp->rows[1]) : 1;
}

/* The steps before the wrapped module's forward; dp->rows are those of its inputs. */
static ht_status prepare(ht_module *self)
{
    ht_data_parallel *dp = ht_module_data(self);
    ht_status status = ht__reducer_status(dp->reducer);

    if (status == HT_SUCCESS &&
        dp->reducer->broken != HT_BROKEN_NOT) /* the others get the error here, if not before */
        status = ht__reducer_drain(dp->reducer);
    for (int i = 0; i < dp->loose_count && status == HT_SUCCESS; i++) {
        if (dp->loose[i]->due)
            status = ht__reducer_settle(dp->loose[i]);
    }
    if (!self->training || !ht_is_grad_enabled() || status != HT_SUCCESS)
        return status;
    status = ht__dp_renew_buffers(dp, false);
    if (status != HT_SUCCESS)
        return status;
    ht__dp_arm(dp, ht__dp_syncs(dp), take_weight(dp));
    return status;
}

/* The steps after the wrapped module's forward, in which the module may have run the wrapper; `outer`
 * is dp->origin before. A layer that found an error could not return it. */
static ht_status finish(ht_data_parallel *dp, ht_origin *outer, const ht_value *inputs,
                        const ht_value *outputs)
{
    if (dp->origin != outer) {
        if (outputs == NULL)
            ht__dp_failed(dp, inputs);
        ht__dp_armed(dp);
        ht__dp_close(dp, outer);
        ht__reducer_walk(dp->reducer, outputs);
    }
    return ht__reducer_status(dp->reducer);
}

/* A rank without an input does all that ranks do before a forward. A backward pass without a loss
 * differs from no pass at all. */
static void missed(ht_module *module)
{
    ht_data_parallel *dp = ht_module_data(module);
    ht_origin *outer = dp->origin;

    dp->rows[0] = dp->rows[1] = -1;
    if (ht__dp_is_refused() || prepare(module) != HT_SUCCESS)
        return;
    ht__module_missed(dp->module);
    if (dp->origin == outer)
        return;
    ht__dp_missed(dp);
    ht__dp_armed(dp);
    ht__dp_close(dp, outer);
}

static ht_value *forward_value(ht_module *self, ht_value *inputs)
{
    ht_data_parallel *dp = ht_module_data(self);
    ht_origin *outer = dp->origin;
    ht_value *outputs;

    dp->rows[0] = dp->rows[1] = -1;
    count_rows(inputs, dp->rows);
    if (check_inputs(inputs) != HT_SUCCESS || prepare(self) != HT_SUCCESS)
        return NULL;
    outputs = ht_forward_value(dp->module, inputs);
    return finish(dp, outer, inputs, outputs) == HT_SUCCESS ? outputs : NULL;
}

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    ht_data_parallel *dp = ht_module_data(self);
    ht_origin *outer = dp->origin;
    ht_tensor *y;

    if (x->body->comm->shared && check_inputs(ht_value_tensor(x)) != HT_SUCCESS)
        return NULL;
    dp->rows[0] = x->body->ndim > 0 ? x->body->shape[0] : -1;
    dp->rows[1] = -1;
    if (prepare(self) != HT_SUCCESS)
        return NULL;
    y = ht_forward(dp->module, x);
    return finish(dp, outer, y == NULL ? ht_value_tensor(x) : NULL, ht_value_tensor(y)) ==
                   HT_SUCCESS
               ? y
               : NULL;
}

/* Clipping reads from this whether averaged gradients are there already. */
static void set_unfinished(ht_data_parallel *dp, const int *group)
{
    for (int i = 0; i < dp->reducer->count; i++)
        dp->reducer->params[i].tensor->meta->unfinished = group;
}

static void destroy(ht_module *self)
{
    ht_data_parallel *dp = ht_module_data(self);

    ht__dp_forget(dp); /* first: its thread, which may be another one, continues without it */
    if (dp->reducer != NULL) {
        if (dp->reducer->failure == HT_SUCCESS) /* otherwise it has been reported */
            ht__reducer_drain(dp->reducer);
        set_unfinished(dp, NULL);
        for (int i = 0; i < dp->optimizer_count; i++)
            ht__optimizer_defer(dp->optimizers[i], NULL);
        ht__dp_leave_join(dp);
        ht__dp_unhook_layers(dp);
        ht__module_unguard(self, dp->module);
        ht__dp_forget_kept(dp);
        ht__reducer_free(dp->reducer);
    }
    for (int i = 0; i < dp->optimizer_count; i++)
        ht_release(dp->optimizers[i]);
    ht__free(dp->optimizers);
    ht__free(dp->steppings);
    ht__free(dp->armed);
    ht_release(dp->comm);
}

static const ht_module_type type = {
    .name = ht__dp_type_name,
    .forward = forward,
    .forward_value = forward_value,
    .destroy = destroy,
};

static ht_status step(void *user)
{
    const ht_dp_stepping *stepping = user;

    ht__dp_disarm(stepping->dp);
    return ht__reducer_step(stepping->dp->reducer, stepping->index);
}

static bool waits(void *user, bool to_step)
{
    const ht_dp_stepping *stepping = user;

    return ht__dp_waits(stepping->dp, to_step);
}

static ht_status drain(void *user)
{
    ht_data_parallel *dp = user;

    return ht__reducer_drain(dp->reducer);
}

static ht_status drain_for_optimizer(void *user)
{
    const ht_dp_stepping *stepping = user;

    return drain(stepping->dp);
}

static void take_over_steps(ht_data_parallel *dp)
{
    dp->steppings = ht__alloc((size_t)dp->optimizer_count * sizeof *dp->steppings);
    for (int i = 0; i < dp->optimizer_count; i++) {
        ht_dp_stepping *stepping = &dp->steppings[i];

        *stepping = (ht_dp_stepping){.dp = dp, .index = i};
        stepping->deferral = (ht_optimizer_deferral){
            .step = step, .waits = waits, .drain = drain_for_optimizer, .user = stepping};
        ht__optimizer_defer(dp->optimizers[i], &stepping->deferral);
    }
}

/* Everything that may fail comes first; a wrapper without a reducer undoes nothing. */
static ht_status start(ht_module *self, ht_module *module, const ht_data_parallel_options *options)
{
    ht_data_parallel *dp = ht_module_data(self);
    ht_status status = HT_SUCCESS;

    if (options->init_sync)
        status = ht__dp_broadcast_state(module, dp->comm, dp->optimizer_count, dp->optimizers, 0);
    dp->guard = (ht_module_guard){.wrapper_name = name, .drain = drain, .user = dp};
    if (status == HT_SUCCESS)
        status = ht__module_guard(name, self, module, &dp->guard);
    if (status != HT_SUCCESS)
        return status;
    dp->reducer = ht__reducer_new(module, dp->comm, options, ht__dp_collective_layer(dp) != NULL);
    if (dp->reducer == NULL) {
        ht__module_unguard(self, module);
        return ht_error_get(NULL);
    }
    dp->reducer->wrapper = dp;
    set_unfinished(dp, &dp->group);
    ht__dp_hook_layers(dp);
    take_over_steps(dp);
    return HT_SUCCESS;
}

static const ht_module_calls calls = {.missed = missed, .evaluated = ht__dp_share_buffers};

static ht_module *new_wrapper(ht_module *module, ht_comm *comm, const ht_data_parallel_options *o)
{
    ht_module *self = ht_module_new(sizeof(ht_data_parallel), &type);
    ht_data_parallel *dp = ht_module_data(self);

    self->calls = &calls;
    dp->comm = ht_retain(comm);
    dp->optimizers = ht__alloc((size_t)o->optimizer_count * sizeof(void *));
    for (int i = 0; i < o->optimizer_count; i++)
        dp->optimizers[dp->optimizer_count++] = ht_retain(o->optimizers[i]);
    dp->weight = NAN;
    dp->sync = true;
    dp->buffers_current = true;
    if (ht__module_wrap(self, &dp->module, module) != HT_SUCCESS ||
        start(self, module, o) != HT_SUCCESS) {
        ht_release(self);
        return NULL;
    }
    return self;
}

/* One list: `optimizer`, then those of the options. Owned. */
static ht_optimizer **all_optimizers(ht_optimizer *optimizer, ht_data_parallel_options *o)
{
    ht_optimizer **all = ht__alloc(((size_t)o->optimizer_count + 1) * sizeof(void *));
    int count = 0;

    if (optimizer != NULL)
        all[count++] = optimizer;
    for (int i = 0; i < o->optimizer_count; i++)
        all[count++] = o->optimizers[i];
    o->optimizer_count = count;
    return all;
}

ht_module *ht__dp_wrap(const char *what, ht_module *module, ht_comm *comm, ht_optimizer *optimizer,
                       const ht_data_parallel_options *options)
{
    HT_NAMED(what);
    ht_data_parallel_options o = options != NULL ? *options : ht_data_parallel_options_default();
    ht_optimizer **all = NULL;
    ht_module *self = NULL;

    if (!HT_IS_NULL(comm, name, "comm")) {
        const bool held = ht__error_hold(true);
        const ht_status status = ht__dp_check_options(&o);

        ht__error_hold(held);
        if (status == HT_SUCCESS)
            o.optimizers = all = all_optimizers(optimizer, &o);
        if (ht__dp_check(module, comm, &o, status) == HT_SUCCESS)
            self = new_wrapper(module, comm, &o);
        ht__free(all);
    }
    return self;
}

ht_module *ht_nn_data_parallel_ext(ht_module *module, ht_comm *comm, ht_optimizer *optimizer,
                                   const ht_data_parallel_options *options)
{
    return ht__dp_wrap("ht_nn_data_parallel_ext", module, comm, optimizer, options);
}

ht_module *ht_nn_data_parallel(ht_module *module, ht_comm *comm, ht_optimizer *optimizer,
                               bool blocking)
{
    ht_data_parallel_options options = ht_data_parallel_options_default();

    options.blocking = blocking;
    return ht__dp_wrap(name, module, comm, optimizer, &options);
}

ht_status ht_data_parallel_set_weight(ht_module *wrapper, double weight)
{
    ht_data_parallel *dp = ht__dp_get("ht_data_parallel_set_weight", wrapper);

    if (dp == NULL)
        return ht_error_get(NULL);
    /* Gradients are multiplied by it, and divided by the sum, in float32 too. */
    if (weight != 0 && !(weight >= 1e-30 && weight <= 1e30))
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "ht_data_parallel_set_weight: weight is %g, expected 0, or 1e-30 to 1e30",
                       weight);
    dp->weight = weight;
    return HT_SUCCESS;
}

/* The buffers that other ranks renew in a forward pass that this rank left out. One that waits has
 * renewed them, and after a failure no rank does. */
static ht_status renew_left_out(ht_data_parallel *dp)
{
    ht_error_kept cause;
    ht_status status;

    ht__dp_disarm_dropped();
    if (dp->armed_count > 0 || dp->reducer->failure != HT_SUCCESS || ht__dp_is_refused())
        return HT_SUCCESS;
    ht__error_set_aside(&cause);
    status = ht__dp_renew_buffers(dp, true);
    ht__error_put_back(&cause);
    return status;
}

ht_status ht__dp_backward(const char *what, ht_data_parallel *dp, ht_tensor *loss)
{
    ht_status status;

    if (loss != NULL)
        return ht__backward(what, loss);
    status = renew_left_out(dp);
    if (status != HT_SUCCESS)
        return status;
    if (ht_error_get(NULL) != HT_SUCCESS) /* not for want of rows */
        return ht__dp_begin_lost(dp);
    status = ht__dp_begin_idle(dp);
    return status != HT_SUCCESS ? status : ht__reducer_status(dp->reducer);
}

ht_status ht_data_parallel_backward(ht_module *wrapper, ht_tensor *loss)
{
    static const char what[] = "ht_data_parallel_backward";
    ht_data_parallel *dp = ht__dp_get(what, wrapper);

    return dp != NULL ? ht__dp_backward(what, dp, loss) : ht_error_get(NULL);
}

ht_status ht_data_parallel_register_comm_hook(ht_module *wrapper, ht_comm_hook hook, void *state)
{
    static const char what[] = "ht_data_parallel_register_comm_hook";
    ht_data_parallel *dp = ht__dp_get(what, wrapper);

    ht_status status;

    if (dp == NULL)
        return ht_error_get(NULL);
    status = ht__hook_register(what, dp->reducer, hook, state);
    if (status != HT_SUCCESS || !dp->reducer->links)
        return status;
    return ht__reducer_layout(dp->reducer); /* without links: the host sums for a hook */
}

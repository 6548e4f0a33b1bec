/* SPDX-License-Identifier: MIT
 *
 * Which backward passes are synchronised. Passes whose forward ran inside no_sync are not. In a
 * group of accumulation_steps passes only the last one is. The wrapper counts passes, so programs
 * need not. In the middle of a group step() and zero_grad() do nothing, and gradients are not
 * clipped. */
#include "nn/parallel/data/data_parallel.h"

#include "ht/arithmetics.h"

static const char name[] = "ht_nn_data_parallel";

bool ht__dp_syncs(const ht_data_parallel *dp)
{
    return dp->sync && dp->no_sync == 0;
}

/* Groups whose gradients no step ever uses: the program counts too, and not as the wrapper does. */
static ht_status check_steps(ht_data_parallel *dp, int steps)
{
    if (dp->group > 0 || !dp->owed || dp->skipped == 0)
        return HT_SUCCESS;
    return HT_FAIL(dp->comm, HT_ERR_STATE,
                   "%s: ht_optimizer_step was called in the middle of the last group of "
                   "accumulation_steps = %d backward passes, but not at its end; call it after "
                   "every pass (in the middle it does nothing)",
                   name, steps);
}

void ht__dp_forget_kept(ht_data_parallel *dp)
{
    for (int i = 0; i < dp->reducer->count && dp->kept != NULL; i++)
        ht_release(dp->kept[i]);
    ht__free(dp->kept);
    dp->kept = NULL;
}

static ht_tensor *grad_of(const ht_data_parallel *dp, int i)
{
    return dp->reducer->params[i].tensor->meta->grad;
}

/* Changes the gradient of each parameter that has one, outside of any graph. */
static ht_status for_each_grad(ht_data_parallel *dp,
                               ht_status (*change)(ht_data_parallel *dp, int i))
{
    ht_reducer *reducer = dp->reducer;
    ht_scope *scope = ht_scope_open();
    const bool was = ht_set_grad_enabled(false);
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < reducer->count && status == HT_SUCCESS; i++) {
        if (ht__reducer_has_grad(&reducer->params[i]))
            status = change(dp, i);
    }
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status;
}

static ht_status keep(ht_data_parallel *dp, int i)
{
    if (dp->kept == NULL)
        dp->kept = ht__alloc((size_t)dp->reducer->count * sizeof *dp->kept);
    dp->kept[i] = ht_retain(ht_copy(grad_of(dp, i)));
    return dp->kept[i] != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

/* A group of a mean begins: gradients that were not zeroed after the last one, of an optimizer that
 * steps less often, are not part of this one's mean. */
static ht_status keep_gradients(ht_data_parallel *dp)
{
    ht__dp_forget_kept(dp);
    return dp->reducer->options.averaging == HT_AVERAGE_MEAN ? for_each_grad(dp, keep) : HT_SUCCESS;
}

ht_status ht__dp_count_pass(ht_data_parallel *dp, bool *sync)
{
    int steps = dp->reducer->options.accumulation_steps;
    ht_status status;

    *sync = dp->pass_sync;
    dp->unanswered = false;
    if (dp->pass_sync && !ht__dp_syncs(dp))
        return HT_FAIL(dp->comm, HT_ERR_STATE,
                       "%s: backward runs inside no_sync, but its forward pass ran before it; "
                       "begin no_sync before the forward pass",
                       name);
    if (steps == 1)
        return HT_SUCCESS;
    status = check_steps(dp, steps);
    if (status == HT_SUCCESS && dp->group == 0)
        status = keep_gradients(dp);
    if (dp->group == 0)
        dp->skipped = 0;
    dp->group = (dp->group + 1) % steps;
    *sync = dp->group == 0;
    dp->owed = *sync;
    return status;
}

bool ht__dp_waits(ht_data_parallel *dp, bool to_step)
{
    if (dp->group > 0) {
        dp->skipped += to_step;
        return true;
    }
    if (to_step)
        dp->owed = false;
    return false;
}

double ht__dp_seed_scale(const ht_data_parallel *dp)
{
    const ht_data_parallel_options *options = &dp->reducer->options;

    if (options->averaging == HT_AVERAGE_WEIGHTED)
        return dp->pass_weight / ht__reducer_unit(dp->reducer, dp->pass_weight, dp->pass_sync);
    return options->averaging == HT_AVERAGE_MEAN ? 1.0 / options->accumulation_steps : 1;
}

/* A mean over the passes that there were, instead of accumulation_steps; earlier gradients stay as
 * they are. */
static ht_status stretch(ht_data_parallel *dp, int i)
{
    ht_tensor *grad = grad_of(dp, i);
    const double factor = (double)dp->reducer->options.accumulation_steps / dp->group;
    ht_status status = ht_mul_scalar_(grad, factor);

    if (status == HT_SUCCESS && dp->kept != NULL && dp->kept[i] != NULL)
        status = ht_add_(grad, dp->kept[i], 1 - factor);
    return status;
}

static ht_status stretch_mean(ht_data_parallel *dp)
{
    return dp->reducer->options.averaging == HT_AVERAGE_MEAN ? for_each_grad(dp, stretch)
                                                             : HT_SUCCESS;
}

/* A synchronised pass that adds nothing to the gradients of the unfinished group. */
static ht_status complete(ht_data_parallel *dp)
{
    ht_status status = stretch_mean(dp);

    ht__dp_forget_kept(dp);
    dp->group = 0;
    ht__dp_disarm(dp);
    dp->owed = true;
    dp->buffers_current = false;
    return status == HT_SUCCESS ? ht__reducer_begin(dp->reducer, 0, true, true) : status;
}

static ht_status divide_by_own(ht_data_parallel *dp, int i)
{
    ht_reducer_param *param = &dp->reducer->params[i];

    return !param->global && param->weight > 0 ? ht__reducer_set_unit(param, param->weight)
                                               : HT_SUCCESS;
}

ht_status ht__dp_average_own(ht_data_parallel *dp)
{
    if (dp->reducer->pass != HT_PASS_LOCAL)
        return HT_SUCCESS;
    return for_each_grad(dp, divide_by_own);
}

ht_status ht__dp_flush(ht_data_parallel *dp)
{
    ht_status status;

    if (dp->group == 0)
        return HT_SUCCESS;
    status = complete(dp);
    for (int i = 0; i < dp->optimizer_count && status == HT_SUCCESS; i++)
        status = ht_optimizer_step(dp->optimizers[i]);
    for (int i = 0; i < dp->optimizer_count && status == HT_SUCCESS; i++)
        status = ht_optimizer_zero_grad(dp->optimizers[i]);
    return status;
}

bool ht_data_parallel_complete(ht_module *wrapper)
{
    ht_data_parallel *dp = ht__dp_get("ht_data_parallel_complete", wrapper);

    return dp != NULL && dp->group > 0 && complete(dp) == HT_SUCCESS;
}

ht_status ht_data_parallel_flush(ht_module *wrapper)
{
    ht_data_parallel *dp = ht__dp_get("ht_data_parallel_flush", wrapper);

    return dp != NULL ? ht__dp_flush(dp) : ht_error_get(NULL);
}

/* One of the two ways to accumulate: both at once would count passes twice. */
static ht_status check_one_way(const char *what, ht_data_parallel *dp)
{
    if (dp->reducer->options.accumulation_steps == 1)
        return HT_SUCCESS;
    return HT_FAIL(dp->comm, HT_ERR_STATE,
                   "%s: the wrapper accumulates by itself (accumulation_steps is %d)", what,
                   dp->reducer->options.accumulation_steps);
}

ht_status ht_data_parallel_no_sync_begin(ht_module *wrapper)
{
    static const char what[] = "ht_data_parallel_no_sync_begin";
    ht_data_parallel *dp = ht__dp_get(what, wrapper);

    if (dp == NULL || check_one_way(what, dp) != HT_SUCCESS)
        return ht_error_get(NULL);
    dp->no_sync++;
    return HT_SUCCESS;
}

ht_status ht_data_parallel_no_sync_end(ht_module *wrapper)
{
    static const char what[] = "ht_data_parallel_no_sync_end";
    ht_data_parallel *dp = ht__dp_get(what, wrapper);

    if (dp == NULL)
        return ht_error_get(NULL);
    if (dp->no_sync == 0)
        return HT_FAIL(dp->comm, HT_ERR_STATE, "%s: no_sync was not begun", what);
    dp->no_sync--;
    return HT_SUCCESS;
}

ht_status ht_data_parallel_set_sync(ht_module *wrapper, bool sync)
{
    static const char what[] = "ht_data_parallel_set_sync";
    ht_data_parallel *dp = ht__dp_get(what, wrapper);

    if (dp == NULL || (!sync && check_one_way(what, dp) != HT_SUCCESS))
        return ht_error_get(NULL);
    dp->sync = sync;
    return HT_SUCCESS;
}

/* SPDX-License-Identifier: MIT
 *
 * Passes without a loss on this rank: it has no rows, or an error took the loss, or it refuses the
 * loss. Other ranks begin theirs, and wait for this rank in them. */
#include "core/autograd/autograd.h"
#include "nn/parallel/data/data_parallel.h"

#include <math.h>

/* A pass of a rank that has no loss: dp->pass_sync is what its forward pass decided. */
static ht_status count_idle(ht_data_parallel *dp, bool *sync)
{
    ht_status status;

    dp->weight = NAN;
    status = ht__dp_count_pass(dp, sync);
    dp->buffers_current &= !*sync;
    dp->met = false;
    return status;
}

ht_status ht__dp_begin_counted(ht_data_parallel *dp, bool sync)
{
    ht_error_kept cause;
    ht_status status;

    ht__error_set_aside(&cause);
    ht__reducer_break(dp->reducer, true, &cause);
    /* Not worthless: what travels is divided by the sum of weights. */
    status = ht__reducer_begin(dp->reducer, 1, sync, true);
    ht__error_put_back(&cause);
    return status != HT_SUCCESS ? status : cause.code;
}

ht_status ht__dp_begin_broken(ht_data_parallel *dp)
{
    ht_error_kept cause;
    bool sync = false, held;

    ht__error_set_aside(&cause);
    held = ht__error_hold(true);
    if (count_idle(dp, &sync) != HT_SUCCESS) /* on other ranks it may be counted */
        ht_error_clear();
    ht__error_hold(held);
    ht__error_put_back(&cause);
    return ht__dp_begin_counted(dp, sync);
}

/* If no loss shows which forward passes a pass belongs to. */
static void look_at_last(ht_data_parallel *dp)
{
    dp->pass_sync = dp->armed_count > 0 ? dp->armed[dp->armed_count - 1].sync : ht__dp_syncs(dp);
}

/* A broken pass without a loss: of all forward passes that wait. */
static ht_status lose(ht_data_parallel *dp)
{
    look_at_last(dp);
    for (int i = 0; i < dp->armed_count; i++)
        dp->armed[i].lost = true;
    return ht__dp_begin_broken(dp);
}

static bool is_lost(uint64_t number, void *user)
{
    (void)user;
    for (const ht_data_parallel *dp = ht__dp_known(); dp != NULL; dp = dp->next) {
        for (int i = 0; i < dp->armed_count; i++) {
            if (dp->armed[i].lost && ht__dp_has_made(&dp->armed[i], number))
                return true;
        }
    }
    return false;
}

/* Once the passes of all wrappers have begun, as on the other ranks, which come to the nodes after
 * that, in one order for all wrappers. */
static void abandon_lost(ht_node_visit_fn *among)
{
    ht__abandon_nodes(among, NULL);
    for (ht_data_parallel *dp = ht__dp_known(); dp != NULL; dp = dp->next) {
        if (dp->armed_count > 0 && dp->armed[0].lost)
            ht__dp_disarm(dp);
    }
}

ht_status ht__dp_begin_lost(ht_data_parallel *dp)
{
    ht_status status;

    if (ht__dp_is_refused())
        return ht_error_get(NULL);
    ht__dp_enter();
    ht__dp_disarm_dropped();
    status = lose(dp);
    abandon_lost(is_lost);
    ht__dp_exit();
    return status;
}

static bool has_failed(const ht_data_parallel *dp)
{
    for (int i = 0; i < dp->armed_count; i++) {
        if (dp->armed[i].failed)
            return true;
    }
    return false;
}

bool ht__dp_any_failed(void)
{
    const ht_data_parallel *dp = ht__dp_enter();

    while (dp != NULL && !has_failed(dp))
        dp = dp->next;
    ht__dp_exit();
    return dp != NULL;
}

/* Other ranks begin the passes of the forward passes that have failed here. Where something else
 * has, all that wait may be meant. */
void ht__dp_all_lost(void)
{
    const bool known_which = ht__dp_any_failed();

    if (ht__dp_is_refused())
        return;
    ht__dp_disarm_dropped();
    for (ht_data_parallel *dp = ht__dp_known(); dp != NULL; dp = dp->next) {
        if (ht__reducer_told(dp->reducer)) /* no rank gets on */
            return;
    }
    for (ht_data_parallel *dp = ht__dp_known(); dp != NULL; dp = dp->next) {
        if (dp->armed_count > 0 && (!known_which || has_failed(dp)))
            lose(dp);
    }
    abandon_lost(known_which ? is_lost : NULL); /* NULL: also what no wrapper made */
}

ht_status ht__dp_begin_idle(ht_data_parallel *dp)
{
    ht_status status;
    bool sync;

    if (ht__dp_collective_layer(dp) != NULL)
        return HT_FAIL(dp->comm, HT_ERR_STATE,
                       "ht_data_parallel_backward: the model has SyncBatchNorm layers, which need "
                       "every rank: run forward and backward with a batch of no rows, not NULL");
    ht__dp_disarm_dropped();
    look_at_last(dp);
    ht__dp_disarm(dp);
    status = count_idle(dp, &sync);
    return status == HT_SUCCESS ? ht__reducer_begin(dp->reducer, 0, sync, true) : status;
}

/* SPDX-License-Identifier: MIT
 *
 * A batch that fails on one rank. In a pass that is averaged, its node gets the error. The other
 * nodes get it in the next exchange, for which the failed ranks wait: they mark their data there
 * (daso/exchange.c). So all ranks return the same error, and a batch without an exchange costs no
 * message. */
#include <inttypes.h>

#include "ht/autograd.h"
#include "nn/parallel/daso/daso.h"
#include "nn/parallel/data/data_parallel.h"
#include "nn/step/optim_wrapper.h"

ht_status ht__daso_check_pass(const ht_daso *daso, bool waits)
{
    ht_reducer *reducer;
    ht_status status;

    if (daso->wrapper == NULL)
        return HT_SUCCESS;
    reducer = ht__dp_of(daso->wrapper)->reducer;
    waits |= reducer->broken != HT_BROKEN_NOT;
    status = waits ? ht__reducer_drain(reducer) : ht__reducer_status(reducer);
    if (status == HT_SUCCESS && reducer->broken != HT_BROKEN_NOT)
        status = ht__error_set(reducer->cause != HT_SUCCESS ? reducer->cause : HT_ERR_STATE, "%s",
                               reducer->why);
    return status;
}

void ht__daso_answer(const ht_daso *daso)
{
    ht_data_parallel *dp = daso->wrapper != NULL ? ht__dp_of(daso->wrapper) : NULL;

    if (dp == NULL || !dp->unanswered)
        return;
    if (ht_error_get(NULL) == HT_SUCCESS)
        ht__error_set(HT_ERR_STATE, "ht_daso_step: a forward pass of batch %" PRId64 " has failed",
                      daso->batch);
    ht__dp_begin_lost(dp);
    if (daso->scaler != NULL) /* its begin spoke of this pass alone */
        ht_data_parallel_set_sync(daso->wrapper, true);
}

bool ht__daso_averages(const ht_daso *daso, int64_t loss)
{
    return !daso->skips_sync &&
           (daso->scaler == NULL || ht__optim_wrapper_ends_group(daso->scaler, loss));
}

/* The other ranks of the node may not know. They run the batch, and wait for this rank in it. */
static void tell_node(const ht_daso *daso)
{
    ht_data_parallel *dp = ht__dp_of(daso->wrapper);
    const bool was = ht_set_grad_enabled(true), held = ht__error_hold(true);

    ht__error_put_back(daso->failure);
    ht__module_missed(daso->wrapper);
    ht__dp_begin_lost(dp);
    ht__reducer_drain(dp->reducer);
    ht_error_clear();
    ht__error_hold(held);
    ht_set_grad_enabled(was);
}

static ht_status begin_next_batch(ht_daso *daso, int64_t loss)
{
    ht_status status;

    daso->batch++;
    daso->updates++;
    status = ht__daso_prepare(daso);
    if (status == HT_SUCCESS && daso->wrapper != NULL && ht__daso_averages(daso, loss) &&
        ht__dp_of(daso->wrapper)->reducer->failure == HT_SUCCESS)
        tell_node(daso);
    return status;
}

/* The exchange at the end of the epoch tells all, if no other does before. */
ht_status ht__daso_fail(ht_daso *daso, int64_t loss)
{
    ht_error_kept cause;
    ht_status status;

    ht__error_set_aside(&cause);
    daso->failure = &cause;
    status = ht__daso_exchange(daso);
    while (status == HT_SUCCESS && daso->batch < daso->batches - 1) {
        status = begin_next_batch(daso, ++loss);
        if (status == HT_SUCCESS)
            status = ht__daso_exchange(daso);
    }
    daso->failure = NULL;
    ht__error_put_back(&cause);
    return status != HT_SUCCESS ? status : cause.code;
}

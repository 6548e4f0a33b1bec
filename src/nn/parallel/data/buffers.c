/* SPDX-License-Identifier: MIT
 *
 * When rank 0's buffers go to all ranks: before a forward pass that follows a synchronised pass,
 * and in ht_module_eval. */
#include "nn/parallel/data/data_parallel.h"

/* Ranks wait for each other in this forward pass, but a rank whose last pass failed may have left.
 * The others get its error first. The first layers await the same verdict, so this sends nothing. */
static ht_status await_verdict(ht_data_parallel *dp)
{
    const bool waits = dp->reducer->waits || dp->join == HT_JOIN_THROWING;

    return waits ? ht__reducer_judge(dp->reducer) : HT_SUCCESS;
}

static void find_buffer(const char *name, ht_tensor *x, void *user)
{
    (void)name;
    (void)x;
    *(bool *)user = true;
}

static bool has_buffers(ht_module *module)
{
    bool has = false;

    ht__module_walk_tensors(module, HT_SLOT_BUFFER, find_buffer, &has);
    return has;
}

static ht_data_parallel *wrapper_with(const ht_reducer *sharer, int64_t number)
{
    for (const ht_reducer *one = ht__reducers_all(); one != NULL; one = one->next) {
        if (one->exchange == sharer->exchange && one->number == number)
            return one->wrapper;
    }
    return NULL;
}

/* The wrapper whose buffers rank 0 sends next; on rank 0 this one. */
static ht_status ask_whose(const ht_data_parallel *dp, ht_data_parallel **turn)
{
    static const char what[] = "telling whose buffers are sent";
    int64_t number = dp->reducer->number;
    ht_status status = ht__comm_bcast_bytes(dp->comm, &number, sizeof number, 0, what);

    if (status != HT_SUCCESS)
        return status;
    *turn = wrapper_with(dp->reducer, number);
    return *turn != NULL ? HT_SUCCESS
                         : HT_FAIL(dp->comm, HT_ERR_STATE,
                                   "ht_nn_data_parallel: rank 0 sends the buffers of a wrapper "
                                   "that rank %d has released",
                                   dp->comm->rank);
}

/* Rank 0's buffers. Wrappers of one communicator send theirs in rank 0's order, because ranks need
 * them in different orders: a rank without rows runs no forward pass. A rank that needs some takes
 * those before them, too. */
static ht_status send_buffers(ht_data_parallel *dp)
{
    ht_data_parallel *turn = dp;
    ht_status status;

    do {
        status = dp->reducer->shares ? ask_whose(dp, &turn) : HT_SUCCESS;
        if (status != HT_SUCCESS)
            return status;
        turn->buffers_current = true;
        status = ht__dp_broadcast_buffers(turn->module, dp->comm, 0);
    } while (status == HT_SUCCESS && turn != dp);
    return status;
}

static ht_status send_in_join(ht_data_parallel *dp)
{
    int root = 0;
    ht_status status = ht__dp_join_buffers(dp, &root);

    dp->buffers_current = true;
    return status == HT_SUCCESS ? ht__dp_broadcast_buffers(dp->module, dp->comm, root) : status;
}

ht_status ht__dp_renew_buffers(ht_data_parallel *dp, bool left_out)
{
    ht_status status = await_verdict(dp);

    if (status == HT_SUCCESS && dp->join == HT_JOIN_THROWING && !(left_out && dp->met))
        status = ht__dp_meet(dp, true);
    if (dp->buffers_current || !ht__dp_syncs(dp) || !dp->reducer->options.broadcast_buffers ||
        status != HT_SUCCESS || !has_buffers(dp->module))
        return status;
    return dp->join == HT_JOIN_SHADOWING ? send_in_join(dp) : send_buffers(dp);
}

ht_status ht__dp_share_buffers(ht_module *wrapper)
{
    ht_data_parallel *dp = ht_module_data(wrapper);

    if (!dp->reducer->options.broadcast_buffers || dp->join == HT_JOIN_SHADOWING ||
        dp->join == HT_JOIN_THROWING || !has_buffers(dp->module))
        return HT_SUCCESS;
    return send_buffers(dp);
}

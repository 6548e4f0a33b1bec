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

ht_status ht__dp_renew_buffers(ht_data_parallel *dp)
{
    int root = 0;
    ht_status status = await_verdict(dp);

    if (status == HT_SUCCESS && dp->join == HT_JOIN_THROWING)
        status = ht__dp_meet(dp, true);
    if (dp->buffers_current || !ht__dp_syncs(dp) || !dp->reducer->options.broadcast_buffers ||
        status != HT_SUCCESS)
        return status;
    dp->buffers_current = true;
    if (dp->join == HT_JOIN_SHADOWING)
        status = ht__dp_join_buffers(dp, &root);
    return status == HT_SUCCESS ? ht__dp_broadcast_buffers(dp->module, dp->comm, root) : status;
}

ht_status ht__dp_share_buffers(ht_module *wrapper)
{
    ht_data_parallel *dp = ht_module_data(wrapper);

    if (!dp->reducer->options.broadcast_buffers || dp->join == HT_JOIN_SHADOWING ||
        dp->join == HT_JOIN_THROWING)
        return HT_SUCCESS;
    dp->buffers_current = true;
    return ht__dp_broadcast_buffers(dp->module, dp->comm, 0);
}

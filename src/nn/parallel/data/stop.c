/* SPDX-License-Identifier: MIT
 *
 * A stop that all ranks make at the same step, after one rank asks for it. The request travels
 * with the sum of the weights. A request that a pass has brought takes effect when the next pass
 * begins, because only then the pass is over on every rank. */
#include "nn/parallel/data/data_parallel.h"

ht_status ht_data_parallel_request_stop(ht_module *wrapper)
{
    ht_data_parallel *dp = ht__dp_get("ht_data_parallel_request_stop", wrapper);

    if (dp == NULL)
        return ht_error_get(NULL);
    dp->reducer->stop.mine = true;
    return HT_SUCCESS;
}

bool ht_data_parallel_stop_requested(ht_module *wrapper)
{
    static const char what[] = "ht_data_parallel_stop_requested";
    ht_data_parallel *dp = ht__dp_get(what, wrapper);
    int64_t stop;

    if (dp == NULL)
        return false;
    if (dp->reducer->options.averaging != HT_AVERAGE_WEIGHTED && !dp->reducer->stop.agreed) {
        stop = dp->reducer->stop.mine;
        if (ht__comm_allreduce_i64(dp->comm, &stop, 1, HT_OP_MAX, what) == HT_SUCCESS)
            dp->reducer->stop.agreed = dp->reducer->stop.asked = stop != 0;
    }
    return dp->reducer->stop.agreed;
}

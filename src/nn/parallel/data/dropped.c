/* SPDX-License-Identifier: MIT
 *
 * Forward passes that no longer wait for a backward pass: it has begun, or their graph was
 * released. */
#include "nn/parallel/data/data_parallel.h"

bool ht__dp_forget_those(ht_data_parallel *dp, bool (*is_one)(const ht_dp_forward *forward))
{
    const int count = dp->armed_count;
    int kept = 0;

    for (int i = 0; i < count; i++) {
        if (is_one(&dp->armed[i]))
            ht_release(dp->armed[i].origin);
        else
            dp->armed[kept++] = dp->armed[i];
    }
    dp->armed_count = kept;
    return kept < count;
}

static bool is_any(const ht_dp_forward *forward)
{
    (void)forward;
    return true;
}

void ht__dp_disarm(ht_data_parallel *dp)
{
    ht__dp_forget_those(dp, is_any);
}

/* Its graph was released, as after an evaluation outside of ht_no_grad. */
static bool is_dropped(const ht_dp_forward *forward)
{
    return !forward->failed && !forward->lost && ht__origin_is_over(forward->origin);
}

void ht__dp_disarm_dropped(void)
{
    bool more = true;

    ht__dp_enter();
    while (more) { /* the outer one of two follows the inner one */
        more = false;
        for (ht_data_parallel *dp = ht__dp_known(); dp != NULL; dp = dp->next)
            more |= ht__dp_forget_those(dp, is_dropped);
    }
    ht__dp_exit();
}

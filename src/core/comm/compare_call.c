/* SPDX-License-Identifier: MIT
 *
 * HT_DEBUG_COLLECTIVE=1: the waits for records of the other ranks. */
#include "core/comm/mpi.h"

void ht__compare_call(ht_comm *comm, const ht_call *call)
{
    MPI_Request *request;
    ht_comparison *it;

    if (comm->size == 1)
        return;
    it = ht__compare_post(comm, call, &request);
    if (it != NULL)
        ht__compare_finish(it, ht__wait_mpi(comm, 1, request, call->what) == HT_SUCCESS);
}

static ht_poll all_compared(void *unused)
{
    (void)unused;
    return ht__compare_posted() ? HT_POLL_DONE : HT_POLL_IDLE;
}

void ht__compare_end(ht_comm *world)
{
    ht__wait_until(world, all_compared, NULL, "ht_finalize");
    ht__compare_on = false;
}

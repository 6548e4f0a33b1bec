/* SPDX-License-Identifier: MIT
 *
 * Agreement on failure: what one rank alone can see becomes known to all, before any of them starts
 * the next collective. */
#include "message.h"

#include <stdio.h>

/* All ranks take the error of rank `from`. */
static ht_status take_error(ht_comm *comm, int from, ht_status mine)
{
    struct {
        int code;
        char message[1020];
    } error = {.code = (int)mine};
    const char *text;

    ht__error_last(&text);
    snprintf(error.message, sizeof error.message, "%s", text);

    ht_status status = ht__comm_bcast_bytes(comm, &error, sizeof error, from, "agreement");

    if (status != HT_SUCCESS)
        return status;
    return ht__error_set((ht_status)error.code, "%s", error.message);
}

ht_status ht__agree(ht_comm *comm, ht_status mine)
{
    int64_t lowest = mine == HT_SUCCESS ? comm->size : comm->rank;
    ht_status status = ht__comm_allreduce_i64(comm, &lowest, 1, HT_OP_MIN, "agreement");
    const char *message;

    if (status != HT_SUCCESS || lowest == comm->size)
        return status;
    if (comm->handler == HT_ERRORS_RETURN)
        return take_error(comm, (int)lowest, mine);
    /* The ranks that failed print, each what it saw; the others wait for the end. */
    if (mine == HT_SUCCESS)
        ht__abort_wait();
    ht__error_last(&message);
    ht__abort(mine, message);
}

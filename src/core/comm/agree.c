/* SPDX-License-Identifier: MIT
 *
 * Agreement on failure: an error that only one rank can see becomes known to all, before any of
 * them starts the next collective. */

#include <stdio.h>

#include "core/comm/mpi.h"

/* All ranks take the error of rank `from`. */
static ht_status take_error(ht_comm *comm, const char *what, int from, ht_status mine)
{
    struct {
        int code;
        char message[1020];
    } error = {.code = (int)mine};
    const char *text;

    ht__error_last(&text);
    snprintf(error.message, sizeof error.message, "%s", text);

    ht_status status = ht__comm_bcast_bytes(comm, &error, sizeof error, from, what);

    if (status != HT_SUCCESS)
        return status;
    return ht__error_set((ht_status)error.code, "%s", error.message);
}

ht_status ht__agree_failed(ht_comm *comm, const char *what, int from, ht_status mine)
{
    const char *message;

    if (comm->handler == HT_ERRORS_RETURN)
        return comm->size > 1 ? take_error(comm, what, from, mine) : mine;
    /* The ranks that failed print, each what it saw; the others wait for the end. */
    if (mine == HT_SUCCESS)
        ht__abort_wait();
    ht__error_last(&message);
    ht__abort(mine, message);
}

ht_status ht__agree(const char *what, ht_comm *comm, ht_status mine)
{
    int64_t lowest = mine == HT_SUCCESS ? comm->size : comm->rank;
    ht_status status = ht__comm_allreduce_i64(comm, &lowest, 1, HT_OP_MIN, what);

    if (status != HT_SUCCESS || lowest == comm->size)
        return status;
    return ht__agree_failed(comm, what, (int)lowest, mine);
}

bool ht__agree_begin(void)
{
    return ht__error_hold(true);
}

ht_status ht__agree_end(const char *what, ht_comm *comm, bool begun, ht_status mine)
{
    ht__error_hold(begun);
    return ht__agree(what, comm, mine);
}

ht_status ht__agree_call(ht_comm *comm, const ht_call *call, ht_status mine)
{
    ht_header header = ht__header(comm, call, mine);
    ht_call record = *call;
    const char *message;

    record.refused = mine != HT_SUCCESS;
    ht__begin(comm, record);

    ht_status status = ht__meta_max(comm, header.value, HT_HEADER_VALUES, call->what);
    int failed = ht__header_failed(comm, &header);

    if (status != HT_SUCCESS)
        return status;
    if (failed < comm->size)
        return ht__agree_failed(comm, call->what, failed, mine);
    status = ht__header_compare(call->what, &header);
    if (status == HT_SUCCESS)
        return HT_SUCCESS;
    ht__error_last(&message);
    return HT_FAIL(comm, status, "%s", message);
}

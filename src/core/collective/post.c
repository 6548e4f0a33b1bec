/* SPDX-License-Identifier: MIT
 *
 * The request of a collective call that does not wait (posted.c). */
#include "core/collective/call.h"

ht_request *ht__post(const ht_check *check, const ht_call *call, bool valid, ht_start_fn *start,
                     ht_tensor *send, ht_tensor *recv)
{
    ht_comm *comm = check->comm;
    ht_call record = *call;

    if (comm->size == 1 && !valid)
        return NULL;
    record.later = true;
    record.refused = !valid;
    ht__begin(comm, record);

    ht_request *request = ht__request_new(comm, check->what);

    return ht__request_posted(
        request, comm->size == 1 ? start(request, call, send, recv)
                                 : ht__posted_begin(request, call, valid, start, send, recv));
}

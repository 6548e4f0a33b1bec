/* SPDX-License-Identifier: MIT
 *
 * Sends rows to the ranks that need them: one Alltoall of a count for each rank, if the counts are
 * unknown, and one of the rows. */
#include "core/collective/collective.h"

ht_status ht__comm_ask_edges(ht_comm *comm, const int64_t edges[], int64_t came[], const char *what)
{
    int64_t *counts = ht__alloc((size_t)comm->size * sizeof *counts);
    ht_status status;

    for (int rank = 0; rank < comm->size; rank++)
        counts[rank] = edges[rank + 1] - edges[rank];
    came[0] = 0;
    status = ht__comm_alltoall_i64(comm, counts, came + 1, what);
    for (int rank = 0; status == HT_SUCCESS && rank < comm->size; rank++)
        came[rank + 1] += came[rank];
    ht__free(counts);
    return status;
}

ht_tensor *ht__comm_deal(ht_comm *comm, ht_tensor *send, const int64_t edges[],
                         const int64_t came[], const char *what)
{
    const ht_body *from = send->body;
    int64_t shape[HT_MAX_NDIM];
    ht_tensor *recv;
    ht_request *request;

    for (int axis = 0; axis < from->ndim; axis++)
        shape[axis] = axis == 0 ? came[comm->size] : from->lshape[axis];
    recv = ht__tensor_new(ht__body_new(what, from->comm, from->storage->device, from->dtype,
                                       from->ndim, shape, HT_NONE, NULL));
    if (recv == NULL)
        return NULL;
    request = ht__comm_alltoall_axis(comm, send, 0, edges, recv, 0, came, what);
    return ht_wait(&request) == HT_SUCCESS ? recv : NULL;
}

/* SPDX-License-Identifier: MIT
 *
 * Open gathers and scatters of parts: buffers, and one MPI operation with a count for each rank.
 * Counts beyond int travel as blocks between all ranks. */

#include "core/collective/gather.h"

ht_parts ht__parts_new(const ht_comm *comm)
{
    ht_parts p = {.counts = ht__alloc(sizeof *p.counts * 2 * (size_t)comm->size)};

    p.starts = p.counts + comm->size;
    return p;
}

void ht__parts_place(const ht_comm *comm, ht_parts *p)
{
    p->total = 0;
    for (int r = 0; r < comm->size; r++) {
        p->starts[r] = p->total;
        p->total += p->counts[r];
    }
}

int *ht__parts_small(ht_request *request, const ht_parts *p)
{
    const ht_comm *comm = request->comm;

    if (p->total > ht__count_limit())
        return NULL;

    int *counts = ht__alloc(sizeof *counts * 2 * (size_t)comm->size);

    for (int r = 0; r < comm->size; r++) {
        counts[r] = (int)p->counts[r];
        counts[comm->size + r] = (int)p->starts[r];
    }
    request->arrays = counts;
    return counts;
}

static ht_status post_allgather(ht_request *request, ht_comm *comm, const ht_parts *p)
{
    ht_buffer *send = &request->send, *recv = &request->recv;
    MPI_Datatype type = ht__mpi_type(recv->dtype);
    const int *counts = ht__parts_small(request, p);

    if (counts != NULL)
        return ht__mpi_check(comm,
                             MPI_Iallgatherv(send->data, counts[comm->rank], type, recv->data,
                                             counts, counts + comm->size, type, request->wire,
                                             ht__request_slots(request, 1)),
                             request->what);

    int64_t *same = ht__alloc(sizeof *same * 2 * (size_t)comm->size); /* my part, to all ranks */

    for (int r = 0; r < comm->size; r++)
        same[r] = p->counts[comm->rank];

    ht_status status = ht__post_blocks(request, recv->dtype, send->data, same, same + comm->size,
                                       recv->data, p->counts, p->starts);

    ht__free(same);
    return status;
}

/* From all ranks to the root, or the other way. */
static ht_status post_rooted(ht_request *request, ht_comm *comm, const ht_parts *p, int root,
                             bool gather)
{
    ht_buffer *part = gather ? &request->send : &request->recv;
    ht_buffer *whole = gather ? &request->recv : &request->send;
    MPI_Datatype type = ht__mpi_type(part->dtype);
    const int *counts = ht__parts_small(request, p);

    if (counts != NULL) {
        const int *starts = counts + comm->size;
        MPI_Request *slot = ht__request_slots(request, 1);
        int mine = counts[comm->rank];
        int result = gather ? MPI_Igatherv(part->data, mine, type, whole->data, counts, starts,
                                           type, root, request->wire, slot)
                            : MPI_Iscatterv(whole->data, counts, starts, type, part->data, mine,
                                            type, root, request->wire, slot);

        return ht__mpi_check(comm, result, request->what);
    }

    int64_t *one = ht__alloc(sizeof *one * 2 * (size_t)comm->size); /* my part, to or from root */
    const int64_t *all = comm->rank == root ? p->counts : NULL;
    ht_status status;

    one[root] = p->counts[comm->rank];
    if (gather)
        status = ht__post_blocks(request, part->dtype, part->data, one, one + comm->size,
                                 whole->data, all, p->starts);
    else
        status = ht__post_blocks(request, part->dtype, whole->data, all, p->starts, part->data, one,
                                 one + comm->size);
    ht__free(one);
    return status;
}

ht_status ht__open_allgather(ht_request *request, ht_tensor *send, ht_tensor *recv,
                             const ht_parts *p)
{
    ht_status status = ht__buffer_open(request->what, &request->recv, recv, false, true);

    if (status == HT_SUCCESS)
        status = ht__buffer_open(request->what, &request->send, send, true, false);
    if (status == HT_SUCCESS)
        status = ht__buffer_detach(request->what, &request->send, &request->recv);
    return status == HT_SUCCESS ? post_allgather(request, request->comm, p) : status;
}

/* If the root's part lies in the complete tensor, a copy is sent. */
ht_status ht__open_rooted(ht_request *request, ht_tensor *part, ht_tensor *whole, const ht_parts *p,
                          int root, bool gather)
{
    ht_buffer *of_part = gather ? &request->send : &request->recv;
    ht_buffer *of_whole = gather ? &request->recv : &request->send;
    ht_status status = ht__buffer_open(request->what, of_part, part, gather, !gather);

    if (status == HT_SUCCESS && whole != NULL)
        status = ht__buffer_open(request->what, of_whole, whole, !gather, gather);
    if (status == HT_SUCCESS && whole != NULL)
        status = ht__buffer_detach(request->what, &request->send, &request->recv);
    return status == HT_SUCCESS ? post_rooted(request, request->comm, p, root, gather) : status;
}

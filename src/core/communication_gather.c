/* SPDX-License-Identifier: MIT
 *
 * Parts of a tensor gathered from, or dealt out to, all ranks along dimension 0; parts may differ
 * in their length there. */
#include "message.h"

#include <inttypes.h>

/* Elements of each rank's part and where it begins in the whole; `size` of each, one block. */
typedef struct parts {
    int64_t *counts, *starts;
    int64_t total;
} parts;

static parts parts_new(const ht_comm *comm)
{
    parts p = {.counts = ht__alloc(sizeof *p.counts * 2 * (size_t)comm->size)};

    p.starts = p.counts + comm->size;
    return p;
}

static void place(const ht_comm *comm, parts *p)
{
    p->total = 0;
    for (int r = 0; r < comm->size; r++) {
        p->starts[r] = p->total;
        p->total += p->counts[r];
    }
}

static ht_status ask_parts(const char *what, ht_comm *comm, const ht_tensor *part, parts *p)
{
    int64_t mine = part->body->lsize;
    ht_status status = ht__comm_allgather_i64(comm, &mine, 1, p->counts, what);

    place(comm, p);
    return status;
}

/* The canonical division of the whole: known without asking. */
static ht_status canonical_parts(const char *what, ht_comm *comm, const ht_tensor *part,
                                 const ht_tensor *whole, parts *p)
{
    int64_t rows = whole->body->lshape[0], row = rows > 0 ? whole->body->lsize / rows : 0;

    for (int r = 0; r < comm->size; r++) {
        ht_comm_chunk(comm, rows, r, NULL, &p->counts[r]);
        p->counts[r] *= row;
    }
    place(comm, p);
    if (p->counts[comm->rank] == part->body->lsize)
        return HT_SUCCESS;
    return HT_FAIL_HERE(comm, HT_ERR_SHAPE,
                        "%s: this rank's part has %" PRId64 " elements where an even division of "
                        "the whole gives %" PRId64 " (ht_allgather takes any)",
                        what, part->body->lsize, p->counts[comm->rank]);
}

static ht_status check_total(const char *what, ht_comm *comm, const ht_tensor *whole,
                             const parts *p)
{
    if (whole->body->lsize == p->total)
        return HT_SUCCESS;
    return HT_FAIL_HERE(
        comm, HT_ERR_SHAPE,
        "%s: the parts have %" PRId64 " elements together, the whole %s has %" PRId64, what,
        p->total, ht__shape_str(whole->body->ndim, whole->body->lshape), whole->body->lsize);
}

/* The same in int, kept by the request; NULL when int is too small. */
static int *small_parts(ht_request *request, const ht_comm *comm, const parts *p)
{
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

static ht_status post_allgather(ht_request *request, ht_comm *comm, const parts *p)
{
    ht_buffer *send = &request->send, *recv = &request->recv;
    MPI_Datatype type = ht__mpi_type(recv->dtype);
    const int *counts = small_parts(request, comm, p);

    if (counts != NULL)
        return ht__mpi_check(comm,
                             MPI_Iallgatherv(send->data, counts[comm->rank], type, recv->data,
                                             counts, counts + comm->size, type, comm->mpi,
                                             ht__request_slots(request, 1)),
                             request->what);

    int64_t *same = ht__alloc(sizeof *same * 2 * (size_t)comm->size); /* my part, to everybody */

    for (int r = 0; r < comm->size; r++)
        same[r] = p->counts[comm->rank];

    ht_status status = ht__post_blocks(request, recv->dtype, send->data, same, same + comm->size,
                                       recv->data, p->counts, p->starts);

    ht__free(same);
    return status;
}

/* From all ranks to the root, or the other way. */
static ht_status post_rooted(ht_request *request, ht_comm *comm, const parts *p, int root,
                             bool gather)
{
    ht_buffer *part = gather ? &request->send : &request->recv;
    ht_buffer *whole = gather ? &request->recv : &request->send;
    MPI_Datatype type = ht__mpi_type(part->dtype);
    const int *counts = small_parts(request, comm, p);

    if (counts != NULL) {
        const int *starts = counts + comm->size;
        MPI_Request *slot = ht__request_slots(request, 1);
        int mine = counts[comm->rank];
        int result = gather ? MPI_Igatherv(part->data, mine, type, whole->data, counts, starts,
                                           type, root, comm->mpi, slot)
                            : MPI_Iscatterv(whole->data, counts, starts, type, part->data, mine,
                                            type, root, comm->mpi, slot);

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

static ht_request *start_allgather(const char *what, ht_comm *comm, ht_tensor *send,
                                   ht_tensor *recv, bool waits)
{
    if (!ht__check_operand(comm, what, "send", send) ||
        !ht__check_operand(comm, what, "recv", recv) || !ht__check_pair(comm, what, send, recv) ||
        !ht__check_rows(comm, what, send, recv))
        return NULL;

    ht__begin(comm, (ht_call){.what = what,
                              .dtype = send->body->dtype,
                              .count = recv->body->lsize,
                              .part = recv,
                              .later = !waits});

    ht_request *request = ht__request_new(comm, what);
    parts p = parts_new(comm);
    ht_status status = waits ? ask_parts(what, comm, send, &p)
                             : canonical_parts(what, comm, send, recv, &p);

    if (status == HT_SUCCESS)
        status = check_total(what, comm, recv, &p);
    if (status == HT_SUCCESS)
        status = ht__buffer_open(what, &request->send, send, true, false);
    if (status == HT_SUCCESS)
        status = ht__buffer_open(what, &request->recv, recv, false, true);
    if (status == HT_SUCCESS)
        status = post_allgather(request, comm, &p);
    ht__free(p.counts);
    return ht__request_posted(request, status);
}

static ht_request *start_rooted(const char *what, ht_comm *comm, ht_tensor *part, ht_tensor *whole,
                                int root, bool gather)
{
    bool is_root = comm != NULL && comm->rank == root;

    if (!ht__check_operand(comm, what, gather ? "send" : "recv", part) ||
        !ht__check_root(comm, what, root))
        return NULL;
    if (is_root && (!ht__check_operand(comm, what, gather ? "recv" : "send", whole) ||
                    !ht__check_pair(comm, what, gather ? part : whole, gather ? whole : part) ||
                    !ht__check_rows(comm, what, part, whole)))
        return NULL;

    ht__begin(comm, (ht_call){.what = what, .root = root, .dtype = part->body->dtype});

    ht_request *request = ht__request_new(comm, what);
    parts p = parts_new(comm);
    ht_status status = ask_parts(what, comm, part, &p);

    if (status == HT_SUCCESS && is_root)
        status = check_total(what, comm, whole, &p);
    if (status == HT_SUCCESS)
        status = ht__buffer_open(what, gather ? &request->send : &request->recv, part, gather,
                                 !gather);
    if (status == HT_SUCCESS && is_root)
        status = ht__buffer_open(what, gather ? &request->recv : &request->send, whole, !gather,
                                 gather);
    if (status == HT_SUCCESS)
        status = post_rooted(request, comm, &p, root, gather);
    ht__free(p.counts);
    return ht__request_posted(request, status);
}

ht_request *ht_iallgather(ht_comm *comm, ht_tensor *send, ht_tensor *recv)
{
    return start_allgather("ht_iallgather", comm, send, recv, false);
}

ht_status ht_allgather(ht_comm *comm, ht_tensor *send, ht_tensor *recv)
{
    return ht__request_run(start_allgather("ht_allgather", comm, send, recv, true));
}

ht_status ht_gather(ht_comm *comm, ht_tensor *send, ht_tensor *recv, int root)
{
    return ht__request_run(start_rooted("ht_gather", comm, send, recv, root, true));
}

ht_status ht_scatter(ht_comm *comm, ht_tensor *send, ht_tensor *recv, int root)
{
    return ht__request_run(start_rooted("ht_scatter", comm, recv, send, root, false));
}

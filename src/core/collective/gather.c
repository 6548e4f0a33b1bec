/* SPDX-License-Identifier: MIT
 *
 * Parts of a tensor gathered from, or dealt out to, all ranks along dimension 0; parts may differ
 * in their length there. */

#include <inttypes.h>

#include "core/collective/call.h"

/* Elements of each rank's part and where it begins in the whole; `size` of each, one block. */
typedef struct parts {
    int64_t *counts, *starts;
    int64_t total;
} parts;

/* What a rank brings. `row`: its lengths but along dimension 0, as one number. */
enum { FAILED, ROOT, DTYPE, ROW, COUNT, WHOLE, RECORD };

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

static int64_t row_key(const ht_body *part)
{
    uint64_t key = (uint64_t)part->ndim;

    for (int i = 1; i < part->ndim; i++)
        key = key * 0x9e3779b97f4a7c15u + (uint64_t)part->lshape[i];
    return (int64_t)key;
}

/* All ranks see the same records, and fail alike. */
static ht_status compare_records(const char *what, ht_comm *comm, const int64_t *all)
{
    int64_t total = 0;

    for (int r = 0; r < comm->size; r++) {
        const int64_t *it = all + (size_t)r * RECORD;

        total += it[COUNT];
        if (it[ROOT] != all[ROOT])
            return HT_FAIL(comm, HT_ERR_ARGUMENT,
                           "%s: the root is %" PRId64 " on rank 0 and %" PRId64 " on rank %d", what,
                           all[ROOT], it[ROOT], r);
        if (it[DTYPE] != all[DTYPE])
            return HT_FAIL(comm, HT_ERR_DTYPE, "%s: the dtype is %s on rank 0 and %s on rank %d",
                           what, ht_dtype_name((ht_dtype)all[DTYPE]),
                           ht_dtype_name((ht_dtype)it[DTYPE]), r);
        if (it[ROW] != all[ROW])
            return HT_FAIL(comm, HT_ERR_SHAPE,
                           "%s: the parts of ranks 0 and %d differ in more than dimension 0", what,
                           r);
    }
    for (int r = 0; r < comm->size; r++) {
        int64_t whole = all[(size_t)r * RECORD + WHOLE];

        if (whole >= 0 && whole != total)
            return HT_FAIL(comm, HT_ERR_SHAPE,
                           "%s: the parts have %" PRId64 " elements together, the whole on rank %d "
                           "has %" PRId64,
                           what, total, r, whole);
    }
    return HT_SUCCESS;
}

/* The ranks tell each other what they bring, and whether it is right: the call begins on all of
 * them or on none. whole: NULL on ranks that have none. */
static ht_status ask_parts(const ht_check *check, const ht_call *call, bool valid,
                           const ht_tensor *part, const ht_tensor *whole, parts *p)
{
    ht_comm *comm = check->comm;
    int64_t *all = ht__alloc(sizeof *all * RECORD * (size_t)comm->size);
    int64_t mine[RECORD] = {[FAILED] = !valid};
    ht_call record = *call;
    ht_status status = valid ? HT_SUCCESS : ht_error_get(NULL);
    int failed = 0;

    if (valid) {
        mine[ROOT] = call->root;
        mine[DTYPE] = (int64_t)part->body->dtype;
        mine[ROW] = row_key(part->body);
        mine[COUNT] = part->body->lsize;
        mine[WHOLE] = whole != NULL ? whole->body->lsize : -1;
    }
    record.refused = !valid;
    ht__begin(comm, record);

    ht_status sent = ht__meta_gather(comm, mine, RECORD, all, check->what);

    while (failed < comm->size && !all[(size_t)failed * RECORD + FAILED])
        failed++;
    if (sent != HT_SUCCESS)
        status = sent;
    else if (failed < comm->size)
        status = ht__agree_failed(comm, check->what, failed, status);
    else
        status = compare_records(check->what, comm, all);
    for (int r = 0; r < comm->size; r++)
        p->counts[r] = all[(size_t)r * RECORD + COUNT];
    place(comm, p);
    ht__free(all);
    return status;
}

/* The canonical division of the whole: known without asking. */
static void canonical_parts(const ht_comm *comm, const ht_body *whole, parts *p)
{
    int64_t rows = whole->lshape[0], row = rows > 0 ? whole->lsize / rows : 0;

    for (int r = 0; r < comm->size; r++) {
        ht_comm_chunk(comm, rows, r, NULL, &p->counts[r]);
        p->counts[r] *= row;
    }
    place(comm, p);
}

static bool check_canonical(const ht_check *check, const ht_body *part, const ht_body *whole)
{
    int64_t rows = whole->lshape[0], mine;

    ht_comm_chunk(check->comm, rows, check->comm->rank, NULL, &mine);
    mine *= rows > 0 ? whole->lsize / rows : 0;
    if (mine == part->lsize)
        return true;
    ht__check_failed(check, HT_ERR_SHAPE,
                     "this rank's part has %" PRId64 " elements where an even division of the "
                     "whole gives %" PRId64 " (ht_allgather takes any)",
                     part->lsize, mine);
    return false;
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
                                             counts, counts + comm->size, type, request->wire,
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

static ht_status open_allgather(ht_request *request, ht_tensor *send, ht_tensor *recv,
                                const parts *p)
{
    ht_status status = ht__buffer_open(request->what, &request->recv, recv, false, true);

    if (status == HT_SUCCESS)
        status = ht__buffer_open(request->what, &request->send, send, true, false);
    if (status == HT_SUCCESS)
        status = ht__buffer_detach(request->what, &request->send, &request->recv);
    return status == HT_SUCCESS ? post_allgather(request, request->comm, p) : status;
}

static bool allgather_valid(const ht_check *check, const ht_tensor *send, const ht_tensor *recv)
{
    return ht__check_operand(check, "send", send) && ht__check_operand(check, "recv", recv) &&
           ht__check_pair(check, send, recv) && ht__check_rows(check, send, recv);
}

static ht_status open_canonical(ht_request *request, const ht_call *call, ht_tensor *send,
                                ht_tensor *recv)
{
    parts p = parts_new(request->comm);
    ht_status status;

    (void)call;
    canonical_parts(request->comm, recv->body, &p);
    status = open_allgather(request, send, recv, &p);
    ht__free(p.counts);
    return status;
}

ht_request *ht_iallgather(ht_comm *comm, ht_tensor *send, ht_tensor *recv)
{
    const ht_check check = {"ht_iallgather", comm, HT_POSTED};
    ht_call call = {.what = check.what};

    if (!ht__check_comm(check.what, comm))
        return NULL;

    bool valid = allgather_valid(&check, send, recv) &&
                 check_canonical(&check, send->body, recv->body);

    if (valid) {
        call.dtype = recv->body->dtype;
        call.count = recv->body->lsize;
        call.ndim = recv->body->ndim;
        call.lshape = recv->body->lshape;
        call.rows = recv->body->lshape[0];
    }
    return ht__call_start(&check, &call, valid, open_canonical, send, recv);
}

static ht_request *start_allgather(const char *what, ht_comm *comm, ht_tensor *send,
                                   ht_tensor *recv)
{
    const ht_check check = {what, comm, HT_AGREED};

    if (!ht__check_comm(what, comm))
        return NULL;

    bool valid = allgather_valid(&check, send, recv);
    ht_call call = {.what = what};

    if (valid) {
        call.dtype = send->body->dtype;
        call.count = recv->body->lsize;
        call.ndim = recv->body->ndim;
        call.lshape = recv->body->lshape;
    }

    parts p = parts_new(comm);
    ht_request *request = NULL;
    ht_status status = ask_parts(&check, &call, valid, send, recv, &p);

    if (status == HT_SUCCESS) {
        request = ht__request_new(comm, what);
        request = ht__request_posted(request, open_allgather(request, send, recv, &p));
    }
    ht__free(p.counts);
    return request;
}

/* Where the root's part lies in the whole, what is sent is a copy. */
static ht_status open_rooted(ht_request *request, ht_comm *comm, ht_tensor *part, ht_tensor *whole,
                             const parts *p, int root, bool gather)
{
    ht_buffer *of_part = gather ? &request->send : &request->recv;
    ht_buffer *of_whole = gather ? &request->recv : &request->send;
    ht_status status = ht__buffer_open(request->what, of_part, part, gather, !gather);

    if (status == HT_SUCCESS && whole != NULL)
        status = ht__buffer_open(request->what, of_whole, whole, !gather, gather);
    if (status == HT_SUCCESS && whole != NULL)
        status = ht__buffer_detach(request->what, &request->send, &request->recv);
    return status == HT_SUCCESS ? post_rooted(request, comm, p, root, gather) : status;
}

static ht_request *start_rooted(const char *what, ht_comm *comm, ht_tensor *part, ht_tensor *whole,
                                int root, bool gather)
{
    const ht_check check = {what, comm, HT_AGREED};

    if (!ht__check_comm(what, comm))
        return NULL;

    bool is_root = comm->rank == root;
    bool valid = ht__check_operand(&check, gather ? "send" : "recv", part) &&
                 ht__check_root(&check, root) && (gather || ht__check_writable(&check, part));

    if (valid && is_root)
        valid = ht__check_operand(&check, gather ? "recv" : "send", whole) &&
                ht__check_pair(&check, gather ? part : whole, gather ? whole : part) &&
                ht__check_rows(&check, part, whole);

    parts p = parts_new(comm);
    ht_call call = {
        .what = what, .root = root, .dtype = valid ? part->body->dtype : HT_DTYPE_COUNT};
    ht_request *request = NULL;
    ht_status status = ask_parts(&check, &call, valid, part, is_root ? whole : NULL, &p);

    if (status == HT_SUCCESS) {
        request = ht__request_new(comm, what);
        request = ht__request_posted(
            request, open_rooted(request, comm, part, is_root ? whole : NULL, &p, root, gather));
    }
    ht__free(p.counts);
    return request;
}

ht_status ht_allgather(ht_comm *comm, ht_tensor *send, ht_tensor *recv)
{
    return ht__request_run(start_allgather("ht_allgather", comm, send, recv));
}

ht_status ht_gather(ht_comm *comm, ht_tensor *send, ht_tensor *recv, int root)
{
    return ht__request_run(start_rooted("ht_gather", comm, send, recv, root, true));
}

ht_status ht_scatter(ht_comm *comm, ht_tensor *send, ht_tensor *recv, int root)
{
    return ht__request_run(start_rooted("ht_scatter", comm, recv, send, root, false));
}

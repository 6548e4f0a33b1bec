/* SPDX-License-Identifier: MIT
 *
 * Gathers parts of a tensor from all ranks along axis 0, or deals them out. Parts may have
 * different lengths there, and the ranks exchange the shapes of their parts. */

#include <inttypes.h>

#include "core/collective/gather.h"

/* The part of a rank. `row`: its lengths except along axis 0, as one number. */
enum { FAILED, ROOT, REDUCTION, DTYPE, ROW, COUNT, WHOLE, RECORD };

static int64_t row_key(const ht_body *part)
{
    uint64_t key = (uint64_t)part->ndim;

    for (int i = 1; i < part->ndim; i++)
        key = key * 0x9e3779b97f4a7c15u + (uint64_t)part->lshape[i];
    return (int64_t)key;
}

/* All ranks see the same records, and fail in the same way. */
static ht_status compare_records(const char *what, ht_comm *comm, const int64_t *all)
{
    int64_t total = 0;

    for (int r = 0; r < comm->size; r++) {
        const int64_t *it = all + (size_t)r * RECORD;

        total += it[COUNT];
        if (it[ROOT] != all[ROOT])
            return HT_FAIL(comm, HT_ERR_ARGUMENT,
                           "%s: root is %" PRId64 " on rank 0 and %" PRId64
                           " on rank %d, expected the same on all ranks",
                           what, all[ROOT], it[ROOT], r);
        if (it[REDUCTION] != all[REDUCTION])
            return HT_FAIL(comm, HT_ERR_ARGUMENT,
                           "%s: op is %s on rank 0 and %s on rank %d, expected the same on all "
                           "ranks",
                           what, ht__op_name((ht_reduce_op)all[REDUCTION]),
                           ht__op_name((ht_reduce_op)it[REDUCTION]), r);
        if (it[DTYPE] != all[DTYPE])
            return HT_FAIL(comm, HT_ERR_DTYPE,
                           "%s: the dtype is %s on rank 0 and %s on rank %d, expected the same on "
                           "all ranks",
                           what, ht_dtype_name((ht_dtype)all[DTYPE]),
                           ht_dtype_name((ht_dtype)it[DTYPE]), r);
        if (it[ROW] != all[ROW])
            return HT_FAIL(comm, HT_ERR_SHAPE,
                           "%s: the parts of ranks 0 and %d have different shapes, expected shapes "
                           "that differ along axis 0 only",
                           what, r);
    }
    for (int r = 0; r < comm->size; r++) {
        int64_t whole = all[(size_t)r * RECORD + WHOLE];

        if (whole >= 0 && whole != total)
            return HT_FAIL(comm, HT_ERR_SHAPE,
                           "%s: the parts together have %" PRId64
                           " elements, the complete tensor on rank %d has %" PRId64,
                           what, total, r, whole);
    }
    return HT_SUCCESS;
}

ht_status ht__ask_parts(const ht_check *check, const ht_call *call, bool valid,
                        const ht_tensor *part, const ht_tensor *whole, ht_parts *p)
{
    ht_comm *comm = check->comm;
    int64_t *all = ht__alloc(sizeof *all * RECORD * (size_t)comm->size);
    int64_t mine[RECORD] = {[FAILED] = !valid};
    ht_call record = *call;
    ht_status status = valid ? HT_SUCCESS : ht_error_get(NULL);
    int failed = 0;

    if (valid) {
        mine[ROOT] = call->root;
        mine[REDUCTION] = (int64_t)call->op;
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
    ht__parts_place(comm, p);
    ht__free(all);
    return status;
}

bool ht__allgather_valid(const ht_check *check, const ht_tensor *send, const ht_tensor *recv)
{
    return ht__check_operand(check, "send", send) && ht__check_operand(check, "recv", recv) &&
           ht__check_pair(check, send, recv) && ht__check_rows(check, send, recv);
}

bool ht__rooted_valid(const ht_check *check, const ht_tensor *part, const ht_tensor *whole,
                      int root, bool gather)
{
    if (!ht__check_operand(check, gather ? "send" : "recv", part) || !ht__check_root(check, root) ||
        (!gather && !ht__check_writable(check, part)))
        return false;
    return check->comm->rank != root ||
           (ht__check_operand(check, gather ? "recv" : "send", whole) &&
            ht__check_pair(check, gather ? part : whole, gather ? whole : part) &&
            ht__check_rows(check, part, whole));
}

static ht_request *start_allgather(const char *what, ht_comm *comm, ht_tensor *send,
                                   ht_tensor *recv)
{
    const ht_check check = {what, comm, HT_AGREED};

    if (!ht__check_comm(what, comm))
        return NULL;

    bool valid = ht__allgather_valid(&check, send, recv);
    ht_call call = {.what = what};

    if (valid) {
        call.dtype = send->body->dtype;
        call.count = recv->body->lsize;
        call.ndim = recv->body->ndim;
        call.lshape = recv->body->lshape;
    }

    ht_parts p = ht__parts_new(comm);
    ht_request *request = NULL;
    ht_status status = ht__ask_parts(&check, &call, valid, send, recv, &p);

    if (status == HT_SUCCESS) {
        request = ht__request_new(comm, what);
        request = ht__request_posted(request, ht__open_allgather(request, send, recv, &p));
    }
    ht__free(p.counts);
    return request;
}

static ht_request *start_rooted(const char *what, ht_comm *comm, ht_tensor *part, ht_tensor *whole,
                                int root, bool gather)
{
    const ht_check check = {what, comm, HT_AGREED};

    if (!ht__check_comm(what, comm))
        return NULL;

    bool is_root = comm->rank == root;
    bool valid = ht__rooted_valid(&check, part, whole, root, gather);
    ht_parts p = ht__parts_new(comm);
    ht_call call = {
        .what = what, .root = root, .dtype = valid ? part->body->dtype : HT_DTYPE_COUNT};
    ht_request *request = NULL;
    ht_status status = ht__ask_parts(&check, &call, valid, part, is_root ? whole : NULL, &p);

    if (status == HT_SUCCESS) {
        request = ht__request_new(comm, what);
        request = ht__request_posted(
            request, ht__open_rooted(request, part, is_root ? whole : NULL, &p, root, gather));
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

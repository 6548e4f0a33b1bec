/* SPDX-License-Identifier: MIT
 *
 * Gathers or deals out parts of a tensor without waiting. The ranks cannot ask each other, so the
 * parts are those of a division that each rank knows. */

#include <inttypes.h>

#include "core/collective/gather.h"

/* Errors that only this rank can see, and with which it could not even take part. */
static bool counts_right(const ht_check *check, const int64_t counts[])
{
    if (counts == NULL) {
        HT_FAIL_HERE(check->comm, HT_ERR_ARGUMENT, "%s: counts is NULL, expected %d numbers",
                     check->what, check->comm->size);
        return false;
    }
    for (int r = 0; r < check->comm->size; r++) {
        if (counts[r] < 0) {
            HT_FAIL_HERE(check->comm, HT_ERR_ARGUMENT,
                         "%s: counts[%d] is %" PRId64 ", expected at least 0 rows", check->what, r,
                         counts[r]);
            return false;
        }
    }
    return true;
}

static int64_t elements_of_row(const ht_body *part)
{
    int64_t elements = 1;

    for (int i = 1; i < part->ndim; i++)
        elements *= part->lshape[i];
    return elements;
}

static int64_t rows_of(const ht_comm *comm, const ht_call *call, int rank)
{
    int64_t rows;

    if (call->counts != NULL)
        return call->counts[rank];
    ht_comm_chunk(comm, call->rows, rank, NULL, &rows);
    return rows;
}

/* Whether both sides are as the division has it. */
static bool division_right(const ht_check *check, const ht_call *call, const ht_tensor *part,
                           const ht_tensor *whole)
{
    int64_t mine = rows_of(check->comm, call, check->comm->rank);

    if (part->body->lshape[0] != mine) {
        ht__check_failed(check, HT_ERR_SHAPE,
                         "this rank's part has %" PRId64 " rows, but %s %" PRId64 " (the "
                         "blocking call takes any)",
                         part->body->lshape[0],
                         call->counts != NULL ? "its count is" : "an even division gives", mine);
        return false;
    }
    if (whole == NULL || whole->body->lshape[0] == call->rows)
        return true;
    ht__check_failed(check, HT_ERR_SHAPE,
                     "the complete tensor has %" PRId64 " rows, its parts have %" PRId64,
                     whole->body->lshape[0], call->rows);
    return false;
}

static ht_status open_parts(ht_request *request, const ht_call *call, ht_tensor *send,
                            ht_tensor *recv)
{
    ht_parts p = ht__parts_new(request->comm);
    int64_t row = call->rows > 0 ? call->count / call->rows : 0;
    bool gather = call->sides == HT_SIDES_GATHER, is_root = request->comm->rank == call->root;
    ht_status status;

    for (int r = 0; r < request->comm->size; r++)
        p.counts[r] = rows_of(request->comm, call, r) * row;
    ht__parts_place(request->comm, &p);
    if (call->sides == HT_SIDES_ALLGATHER)
        status = ht__open_allgather(request, send, recv, &p);
    else if (gather)
        status = ht__open_rooted(request, send, is_root ? recv : NULL, &p, call->root, true);
    else
        status = ht__open_rooted(request, recv, is_root ? send : NULL, &p, call->root, false);
    ht__free(p.counts);
    return status;
}

/* The rows of the complete tensor. Without counts, ranks that have only a part take all parts to be
 * equal. */
static int64_t whole_rows(const ht_comm *comm, const ht_call *call, const ht_tensor *part,
                          const ht_tensor *whole)
{
    int64_t rows = 0;

    if (call->counts == NULL)
        return call->sides == HT_SIDES_ALLGATHER ? whole->body->lshape[0]
                                                 : part->body->lshape[0] * comm->size;
    for (int r = 0; r < comm->size; r++)
        rows += call->counts[r];
    return rows;
}

/* call: what, sides, root and counts. */
static ht_request *start(ht_comm *comm, ht_call call, ht_tensor *send, ht_tensor *recv)
{
    const ht_check check = {call.what, comm, HT_POSTED};
    bool scatters = call.sides == HT_SIDES_SCATTER, valid;
    ht_tensor *part = scatters ? recv : send, *whole = scatters ? send : recv;

    if (call.sides == HT_SIDES_ALLGATHER)
        valid = ht__allgather_valid(&check, send, recv);
    else
        valid = ht__rooted_valid(&check, part, whole, call.root, !scatters);
    if (valid && part->body->ndim == 0) {
        ht__check_failed(&check, HT_ERR_SHAPE, "a part is a scalar, expected at least one axis");
        valid = false;
    }
    if (valid) {
        bool has_whole = call.sides == HT_SIDES_ALLGATHER || comm->rank == call.root;

        call.rows = whole_rows(comm, &call, part, whole);
        call.dtype = part->body->dtype;
        call.count = call.rows * elements_of_row(part->body);
        call.ndim = part->body->ndim;
        call.lshape = part->body->lshape;
        valid = division_right(&check, &call, part, has_whole ? whole : NULL);
    }
    return ht__call_start(&check, &call, valid, open_parts, send, recv);
}

static ht_request *start_counted(ht_comm *comm, ht_call call, ht_tensor *send, ht_tensor *recv)
{
    const ht_check check = {call.what, comm, HT_POSTED};

    return counts_right(&check, call.counts) ? start(comm, call, send, recv) : NULL;
}

ht_request *ht_iallgather(ht_comm *comm, ht_tensor *send, ht_tensor *recv)
{
    const ht_call call = {.what = "ht_iallgather", .sides = HT_SIDES_ALLGATHER};

    return ht__check_comm(call.what, comm) ? start(comm, call, send, recv) : NULL;
}

ht_request *ht_iallgatherv(ht_comm *comm, ht_tensor *send, ht_tensor *recv, const int64_t counts[])
{
    const ht_call call = {.what = "ht_iallgatherv", .sides = HT_SIDES_ALLGATHER, .counts = counts};

    return ht__check_comm(call.what, comm) ? start_counted(comm, call, send, recv) : NULL;
}

ht_request *ht_igather(ht_comm *comm, ht_tensor *send, ht_tensor *recv, int root)
{
    const ht_call call = {.what = "ht_igather", .sides = HT_SIDES_GATHER, .root = root};

    return ht__check_comm(call.what, comm) ? start(comm, call, send, recv) : NULL;
}

ht_request *ht_igatherv(ht_comm *comm, ht_tensor *send, ht_tensor *recv, const int64_t counts[],
                        int root)
{
    const ht_call call = {
        .what = "ht_igatherv", .sides = HT_SIDES_GATHER, .root = root, .counts = counts};

    return ht__check_comm(call.what, comm) ? start_counted(comm, call, send, recv) : NULL;
}

ht_request *ht_iscatter(ht_comm *comm, ht_tensor *send, ht_tensor *recv, int root)
{
    const ht_call call = {.what = "ht_iscatter", .sides = HT_SIDES_SCATTER, .root = root};

    return ht__check_comm(call.what, comm) ? start(comm, call, send, recv) : NULL;
}

ht_request *ht_iscatterv(ht_comm *comm, ht_tensor *send, ht_tensor *recv, const int64_t counts[],
                         int root)
{
    const ht_call call = {
        .what = "ht_iscatterv", .sides = HT_SIDES_SCATTER, .root = root, .counts = counts};

    return ht__check_comm(call.what, comm) ? start_counted(comm, call, send, recv) : NULL;
}

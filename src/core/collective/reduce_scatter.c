/* SPDX-License-Identifier: MIT
 *
 * A reduction whose result stays in parts along axis 0, which may have different lengths. It
 * is one MPI_Ireduce_scatter; for counts beyond int it is a series of reductions, each to the rank
 * of its part. */

#include "core/collective/gather.h"

/* Posts pieces that MPI can count in int, each to the rank of its part. */
static ht_status post_pieces(ht_request *request, const ht_parts *p, MPI_Op op)
{
    ht_comm *comm = request->comm;
    int64_t limit = ht__count_limit(), size = (int64_t)ht_dtype_size(request->send.dtype);
    MPI_Datatype type = ht__mpi_type(request->send.dtype);
    int count = 0, next = 0;

    for (int r = 0; r < comm->size; r++)
        count += (int)((p->counts[r] + limit - 1) / limit);

    MPI_Request *slots = ht__request_slots(request, count);

    for (int r = 0; r < comm->size; r++) {
        for (int64_t at = 0; at < p->counts[r]; at += limit) {
            int64_t rest = p->counts[r] - at;
            const char *from = (char *)request->send.data + (p->starts[r] + at) * size;
            char *to = comm->rank == r ? (char *)request->recv.data + at * size : NULL;
            ht_status status = ht__mpi_check(comm,
                                             MPI_Ireduce(from, to,
                                                         (int)(rest < limit ? rest : limit), type,
                                                         op, r, request->wire, &slots[next++]),
                                             request->what);

            if (status != HT_SUCCESS)
                return status;
        }
    }
    return HT_SUCCESS;
}

static ht_status post(ht_request *request, const ht_parts *p, ht_reduce_op op)
{
    const int *counts = ht__parts_small(request, p);
    MPI_Op mpi_op = ht__mpi_op(op, request->send.dtype);

    if (p->total == 0)
        return HT_SUCCESS;
    if (counts == NULL)
        return post_pieces(request, p, mpi_op);
    return ht__mpi_check(request->comm,
                         MPI_Ireduce_scatter(request->send.data, request->recv.data, counts,
                                             ht__mpi_type(request->send.dtype), mpi_op,
                                             request->wire, ht__request_slots(request, 1)),
                         request->what);
}

static ht_status open_both(ht_request *request, ht_tensor *send, ht_tensor *recv, const ht_parts *p,
                           ht_reduce_op op)
{
    ht_status status = ht__buffer_open(request->what, &request->recv, recv, false, true);

    if (status == HT_SUCCESS)
        status = ht__buffer_open(request->what, &request->send, send, true, false);
    if (status == HT_SUCCESS)
        status = ht__buffer_detach(request->what, &request->send, &request->recv);
    request->recv.truth = (op == HT_OP_AND || op == HT_OP_OR) && request->comm->size == 1;
    return status == HT_SUCCESS ? post(request, p, op) : status;
}

static bool valid(const ht_check *check, const ht_tensor *send, const ht_tensor *recv,
                  ht_reduce_op op)
{
    return ht__check_operand(check, "send", send) && ht__check_operand(check, "recv", recv) &&
           ht__check_operation(check, op, send->body->dtype) && ht__check_pair(check, send, recv) &&
           ht__check_rows(check, recv, send);
}

ht_status ht_reduce_scatter(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op)
{
    const ht_check check = {"ht_reduce_scatter", comm, HT_AGREED};

    if (!ht__check_comm(check.what, comm))
        return ht_error_get(NULL);

    ht_parts p = ht__parts_new(comm);
    bool right = valid(&check, send, recv, op);
    ht_call call = {.what = check.what, .op = op};

    if (right) {
        call.dtype = send->body->dtype;
        call.count = send->body->lsize;
        call.ndim = send->body->ndim;
        call.lshape = send->body->lshape;
    }

    ht_status status = ht__ask_parts(&check, &call, right, recv, send, &p);

    if (status == HT_SUCCESS) {
        ht_request *request = ht__request_new(comm, check.what);

        status = ht__request_run(
            ht__request_posted(request, open_both(request, send, recv, &p, op)));
    }
    ht__free(p.counts);
    return status;
}

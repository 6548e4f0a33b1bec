/* SPDX-License-Identifier: MIT
 *
 * Broadcast and reductions of tensors, and the all-to-all of equal blocks. A blocking call is a
 * non-blocking one and a polite wait. */

#include "core/collective/call.h"

/* The record of a rank with wrong arguments is not read. */
/* With what a call says of this rank's part; NULL: refused. */
static ht_call with_part(ht_call call, const ht_tensor *part)
{
    call.dtype = part != NULL ? part->body->dtype : HT_DTYPE_COUNT;
    if (part == NULL)
        return call;
    call.count = part->body->lsize;
    call.ndim = part->body->ndim;
    call.lshape = part->body->lshape;
    return call;
}

static ht_status open_bcast(ht_request *request, const ht_call *call, ht_tensor *unused,
                            ht_tensor *buffer)
{
    bool is_root = request->comm->rank == call->root;
    ht_buffer *data = &request->recv;
    ht_status status = ht__buffer_open(request->what, data, buffer, is_root, !is_root);

    (void)unused;
    if (status != HT_SUCCESS)
        return status;

    ht_message message = ht__request_message(request, data->count, data->dtype);

    return ht__mpi_check(request->comm,
                         MPI_Ibcast(data->data, message.count, message.type, call->root,
                                    request->wire, ht__request_slots(request, 1)),
                         request->what);
}

static ht_request *start_bcast(const char *what, ht_manner manner, ht_comm *comm, ht_tensor *buffer,
                               int root)
{
    const ht_check check = {what, comm, manner};

    if (!ht__check_comm(what, comm))
        return NULL;

    bool valid = ht__check_operand(&check, "buffer", buffer) && ht__check_root(&check, root) &&
                 (comm->rank == root || ht__check_writable(&check, buffer));
    const ht_call call = with_part((ht_call){.what = what, .root = root}, buffer);

    ht_request *request = ht__call_start(&check, &call, valid, open_bcast, NULL, buffer);

    /* Written on the others: a graph that has saved it is out of date on all ranks or none. The
     * library itself sends a slab of one rank, received elsewhere. */
    if (request != NULL && valid && comm->rank == root && manner != HT_ALIKE)
        ht__storage_touch(buffer->body->storage);
    return request;
}

typedef enum reduction { ALLREDUCE, REDUCE, SCAN, EXSCAN } reduction;

static int post_reduction(reduction kind, const void *send, void *recv, int count,
                          MPI_Datatype type, MPI_Op op, int root, MPI_Comm wire,
                          MPI_Request *request)
{
    switch (kind) {
    case ALLREDUCE:
        return MPI_Iallreduce(send, recv, count, type, op, wire, request);
    case REDUCE:
        return MPI_Ireduce(send, recv, count, type, op, root, wire, request);
    case SCAN:
        return MPI_Iscan(send, recv, count, type, op, wire, request);
    case EXSCAN:
        return MPI_Iexscan(send, recv, count, type, op, wire, request);
    }
    return MPI_ERR_ARG;
}

/* Operations are defined on single elements only, so a long message is a row of calls. */
static ht_status post_pieces(ht_request *request, reduction kind, const ht_call *call)
{
    const ht_buffer *send = &request->send, *recv = &request->recv;
    const ht_buffer *some = send->tensor != NULL ? send : recv;
    bool in_place = send->tensor == NULL;
    int64_t limit = ht__count_limit(), size = (int64_t)ht_dtype_size(some->dtype);
    int pieces = (int)((some->count + limit - 1) / limit);
    MPI_Request *slots = ht__request_slots(request, pieces > 0 ? pieces : 1);

    for (int i = 0; i < pieces; i++) {
        int64_t at = i * limit, rest = some->count - at;
        char *to = recv->data != NULL ? (char *)recv->data + at * size : NULL;
        const char *from = in_place ? (const char *)MPI_IN_PLACE : (char *)send->data + at * size;
        int result = post_reduction(kind, from, to, (int)(rest < limit ? rest : limit),
                                    ht__mpi_type(some->dtype), ht__mpi_op(call->op, some->dtype),
                                    call->root, request->wire, &slots[i]);
        ht_status status = ht__mpi_check(request->comm, result, request->what);

        if (status != HT_SUCCESS)
            return status;
    }
    return HT_SUCCESS;
}

static bool reduction_valid(const ht_check *check, const ht_tensor *send, const ht_tensor *recv,
                            ht_reduce_op op, bool receives)
{
    if (!ht__check_operand(check, "send", send) ||
        (receives && !ht__check_operand(check, "recv", recv)))
        return false;
    if (!ht__check_operation(check, op, send->body->dtype))
        return false;
    return !receives ||
           (ht__check_pair(check, send, recv) && ht__check_same_local(check, send, recv));
}

/* Whether a rank gets what one rank has, on which no operation is done. */
static bool has_one_operand(reduction kind, const ht_comm *comm)
{
    return kind == EXSCAN ? comm->rank == 1 : comm->size == 1 || (kind == SCAN && comm->rank == 0);
}

static ht_status open_reduction(ht_request *request, const ht_call *call, ht_tensor *send,
                                ht_tensor *recv)
{
    reduction kind = (reduction)call->kind;
    bool receives = kind != REDUCE || request->comm->rank == call->root;
    bool in_place = receives && ht__buffer_same(send, recv);
    ht_status status = HT_SUCCESS;

    /* The first rank of an exclusive scan receives nothing: its result keeps what it held. */
    if (receives)
        status = ht__buffer_open(request->what, &request->recv, recv, in_place || kind == EXSCAN,
                                 true);
    if (status == HT_SUCCESS && !in_place)
        status = ht__buffer_open(request->what, &request->send, send, true, false);
    if (status == HT_SUCCESS && receives && !in_place)
        status = ht__buffer_detach(request->what, &request->send, &request->recv);
    request->recv.truth = (call->op == HT_OP_AND || call->op == HT_OP_OR) &&
                          has_one_operand(kind, request->comm);
    return status == HT_SUCCESS ? post_pieces(request, kind, call) : status;
}

static ht_request *start_reduction(const char *what, ht_manner manner, reduction kind,
                                   ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op,
                                   int root)
{
    const ht_check check = {what, comm, manner};

    if (!ht__check_comm(what, comm))
        return NULL;

    bool receives = kind != REDUCE || comm->rank == root;
    bool valid = ht__check_root(&check, root) && reduction_valid(&check, send, recv, op, receives);
    const ht_call call = with_part((ht_call){.what = what, .kind = kind, .root = root, .op = op},
                                   send);

    return ht__call_start(&check, &call, valid, open_reduction, send, recv);
}

ht_request *ht_ibcast(ht_comm *comm, ht_tensor *buffer, int root)
{
    return start_bcast("ht_ibcast", HT_POSTED, comm, buffer, root);
}

ht_status ht_bcast(ht_comm *comm, ht_tensor *buffer, int root)
{
    return ht__request_run(start_bcast("ht_bcast", HT_AGREED, comm, buffer, root));
}

ht_status ht__comm_bcast(ht_comm *comm, ht_tensor *buffer, int root)
{
    return ht__request_run(start_bcast("ht_bcast", HT_ALIKE, comm, buffer, root));
}

ht_request *ht_ireduce(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op, int root)
{
    return start_reduction("ht_ireduce", HT_POSTED, REDUCE, comm, send, recv, op, root);
}

ht_request *ht_iscan(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op)
{
    return start_reduction("ht_iscan", HT_POSTED, SCAN, comm, send, recv, op, 0);
}

ht_request *ht_iexscan(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op)
{
    return start_reduction("ht_iexscan", HT_POSTED, EXSCAN, comm, send, recv, op, 0);
}

ht_request *ht_iallreduce(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op)
{
    return start_reduction("ht_iallreduce", HT_POSTED, ALLREDUCE, comm, send, recv, op, 0);
}

ht_status ht_allreduce(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op)
{
    return ht__request_run(
        start_reduction("ht_allreduce", HT_AGREED, ALLREDUCE, comm, send, recv, op, 0));
}

ht_status ht__comm_allreduce(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op)
{
    return ht__request_run(
        start_reduction("ht_allreduce", HT_ALIKE, ALLREDUCE, comm, send, recv, op, 0));
}

ht_status ht_reduce(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op, int root)
{
    return ht__request_run(
        start_reduction("ht_reduce", HT_AGREED, REDUCE, comm, send, recv, op, root));
}

ht_status ht__comm_reduce(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op,
                          int root)
{
    return ht__request_run(
        start_reduction("ht_reduce", HT_ALIKE, REDUCE, comm, send, recv, op, root));
}

ht_status ht_scan(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op)
{
    return ht__request_run(start_reduction("ht_scan", HT_AGREED, SCAN, comm, send, recv, op, 0));
}

ht_status ht_exscan(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op)
{
    return ht__request_run(
        start_reduction("ht_exscan", HT_AGREED, EXSCAN, comm, send, recv, op, 0));
}

static bool blocks_valid(const ht_check *check, const ht_tensor *send, const ht_tensor *recv)
{
    int size = check->comm->size;

    if (!ht__check_operand(check, "send", send) || !ht__check_operand(check, "recv", recv) ||
        !ht__check_pair(check, send, recv))
        return false;
    if (send->body->lsize == recv->body->lsize && send->body->lsize % size == 0)
        return true;
    ht__check_failed(check, HT_ERR_SHAPE,
                     "the local parts are %s and %s, expected the same size, a multiple of %d",
                     ht__shape_str(send->body->ndim, send->body->lshape),
                     ht__shape_str(recv->body->ndim, recv->body->lshape), size);
    return false;
}

static ht_status open_alltoall(ht_request *request, const ht_call *call, ht_tensor *send,
                               ht_tensor *recv)
{
    bool in_place = ht__buffer_same(send, recv);
    ht_status status = ht__buffer_open(request->what, &request->recv, recv, in_place, true);

    (void)call;
    if (status == HT_SUCCESS && !in_place)
        status = ht__buffer_open(request->what, &request->send, send, true, false);
    if (status == HT_SUCCESS && !in_place)
        status = ht__buffer_detach(request->what, &request->send, &request->recv);
    if (status != HT_SUCCESS)
        return status;

    ht_message block = ht__request_message(request, request->recv.count / request->comm->size,
                                           request->recv.dtype);

    return ht__mpi_check(request->comm,
                         MPI_Ialltoall(in_place ? MPI_IN_PLACE : request->send.data, block.count,
                                       block.type, request->recv.data, block.count, block.type,
                                       request->wire, ht__request_slots(request, 1)),
                         request->what);
}

static ht_request *start_alltoall(const char *what, ht_manner manner, ht_comm *comm,
                                  ht_tensor *send, ht_tensor *recv)
{
    const ht_check check = {what, comm, manner};

    if (!ht__check_comm(what, comm))
        return NULL;

    const ht_call call = with_part((ht_call){.what = what}, send);

    return ht__call_start(&check, &call, blocks_valid(&check, send, recv), open_alltoall, send,
                          recv);
}

ht_status ht_alltoall(ht_comm *comm, ht_tensor *send, ht_tensor *recv)
{
    return ht__request_run(start_alltoall("ht_alltoall", HT_AGREED, comm, send, recv));
}

ht_request *ht_ialltoall(ht_comm *comm, ht_tensor *send, ht_tensor *recv)
{
    return start_alltoall("ht_ialltoall", HT_POSTED, comm, send, recv);
}

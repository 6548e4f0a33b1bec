/* SPDX-License-Identifier: MIT
 *
 * Tensors from rank to rank. A blocking call is a non-blocking one and a polite wait. */

#include "core/collective/call.h"

/* peer: the rank that the parameter `name` gives. */
static bool valid(const ht_check *check, const ht_tensor *buffer, const char *name, int peer,
                  int tag)
{
    if (!ht__check_operand(check, "buffer", buffer))
        return false;
    if (peer < 0 || peer >= check->comm->size) {
        ht__check_failed(check, HT_ERR_ARGUMENT,
                         "%s is %s, expected a rank of a communicator of %d", name,
                         ht__int_str(peer), check->comm->size);
        return false;
    }
    if (tag < 0 || tag > 32767) {
        ht__check_failed(check, HT_ERR_ARGUMENT, "tag is %d, expected 0 to 32767", tag);
        return false;
    }
    return true;
}

/* MPI_Isend or one of its kind. */
typedef int send_fn(const void *data, int count, MPI_Datatype type, int dest, int tag, MPI_Comm on,
                    MPI_Request *request);

static ht_request *start_send(const char *what, send_fn *send, ht_comm *comm, ht_tensor *buffer,
                              int dest, int tag)
{
    const ht_check check = {what, comm, HT_ALIKE};

    if (!ht__check_comm(what, comm) || !valid(&check, buffer, "dest", dest, tag))
        return NULL;

    ht_request *request = ht__request_new(comm, what);
    ht_status status = ht__buffer_open(what, &request->send, buffer, true, false);

    if (status == HT_SUCCESS) {
        ht_message message = ht__request_message(request, request->send.count, request->send.dtype);

        status = ht__mpi_check(comm,
                               send(request->send.data, message.count, message.type, dest, tag,
                                    comm->mpi, ht__request_slots(request, 1)),
                               what);
    }
    return ht__request_posted(request, status);
}

/* Over at once: what travels is a copy (bsend.c). */
static ht_request *start_buffered(const char *what, ht_comm *comm, ht_tensor *buffer, int dest,
                                  int tag)
{
    const ht_check check = {what, comm, HT_ALIKE};

    if (!ht__check_comm(what, comm) || !valid(&check, buffer, "dest", dest, tag))
        return NULL;

    ht_request *request = ht__request_new(comm, what);

    return ht__request_posted(request, ht__bsend(what, comm, buffer, dest, tag));
}

static ht_request *start_recv(const char *what, ht_comm *comm, ht_tensor *buffer, int source,
                              int tag)
{
    const ht_check check = {what, comm, HT_ALIKE};

    if (!ht__check_comm(what, comm) || !valid(&check, buffer, "source", source, tag) ||
        !ht__check_writable(&check, buffer))
        return NULL;

    ht_request *request = ht__request_new(comm, what);
    ht_status status = ht__buffer_open(what, &request->recv, buffer, false, true);

    if (status == HT_SUCCESS) {
        ht_message message = ht__request_message(request, request->recv.count, request->recv.dtype);

        status = ht__mpi_check(comm,
                               MPI_Irecv(request->recv.data, message.count, message.type, source,
                                         tag, comm->mpi, ht__request_slots(request, 1)),
                               what);
    }
    return ht__request_posted(request, status);
}

ht_request *ht_isend(ht_comm *comm, ht_tensor *buffer, int dest, int tag)
{
    return start_send("ht_isend", MPI_Isend, comm, buffer, dest, tag);
}

ht_request *ht_issend(ht_comm *comm, ht_tensor *buffer, int dest, int tag)
{
    return start_send("ht_issend", MPI_Issend, comm, buffer, dest, tag);
}

ht_request *ht_irsend(ht_comm *comm, ht_tensor *buffer, int dest, int tag)
{
    return start_send("ht_irsend", MPI_Irsend, comm, buffer, dest, tag);
}

ht_request *ht_ibsend(ht_comm *comm, ht_tensor *buffer, int dest, int tag)
{
    return start_buffered("ht_ibsend", comm, buffer, dest, tag);
}

ht_request *ht_irecv(ht_comm *comm, ht_tensor *buffer, int source, int tag)
{
    return start_recv("ht_irecv", comm, buffer, source, tag);
}

ht_status ht_send(ht_comm *comm, ht_tensor *buffer, int dest, int tag)
{
    return ht__request_run(start_send("ht_send", MPI_Isend, comm, buffer, dest, tag));
}

ht_status ht_ssend(ht_comm *comm, ht_tensor *buffer, int dest, int tag)
{
    return ht__request_run(start_send("ht_ssend", MPI_Issend, comm, buffer, dest, tag));
}

ht_status ht_rsend(ht_comm *comm, ht_tensor *buffer, int dest, int tag)
{
    return ht__request_run(start_send("ht_rsend", MPI_Irsend, comm, buffer, dest, tag));
}

ht_status ht_bsend(ht_comm *comm, ht_tensor *buffer, int dest, int tag)
{
    return ht__request_run(start_buffered("ht_bsend", comm, buffer, dest, tag));
}

ht_status ht_recv(ht_comm *comm, ht_tensor *buffer, int source, int tag)
{
    return ht__request_run(start_recv("ht_recv", comm, buffer, source, tag));
}

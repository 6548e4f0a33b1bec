/* SPDX-License-Identifier: MIT
 *
 * Small collectives over host integers and bytes, for metadata. */

#include "core/comm/mpi.h"

static MPI_Op integer_op(ht_reduce_op op)
{
    switch (op) {
    case HT_OP_SUM:
        return MPI_SUM;
    case HT_OP_PROD:
        return MPI_PROD;
    case HT_OP_MIN:
        return MPI_MIN;
    case HT_OP_MAX:
        return MPI_MAX;
    case HT_OP_AND:
        return MPI_LAND;
    case HT_OP_OR:
        return MPI_LOR;
    }
    return MPI_OP_NULL;
}

ht_status ht__comm_allreduce_i64(ht_comm *comm, int64_t *values, int count, ht_reduce_op op,
                                 const char *what)
{
    MPI_Request request;

    ht__begin(comm, (ht_call){.what = what, .op = op, .count = count});
    return ht__wait_posted(comm,
                           MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, integer_op(op),
                                          comm->mpi, &request),
                           &request, what);
}

ht_status ht__meta_max(ht_comm *comm, int64_t *values, int count, const char *what)
{
    MPI_Request request;

    return ht__wait_posted(
        comm,
        MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, MPI_MAX, comm->mpi, &request),
        &request, what);
}

ht_status ht__meta_gather(ht_comm *comm, const int64_t *mine, int count, int64_t *all,
                          const char *what)
{
    MPI_Request request;

    return ht__wait_posted(
        comm,
        MPI_Iallgather(mine, count, MPI_INT64_T, all, count, MPI_INT64_T, comm->mpi, &request),
        &request, what);
}

ht_status ht__meta_gather_bytes(ht_comm *comm, MPI_Comm wire, const void *mine, size_t bytes,
                                void *all, const char *what)
{
    MPI_Request request;

    return ht__wait_posted(
        comm, MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, wire, &request),
        &request, what);
}

ht_status ht__comm_allgather_i64(ht_comm *comm, const int64_t *mine, int count, int64_t *all,
                                 const char *what)
{
    ht__begin(comm, (ht_call){.what = what, .count = count});
    return ht__meta_gather(comm, mine, count, all, what);
}

ht_status ht__comm_allgather_f64(ht_comm *comm, const double *mine, int count, double *all,
                                 const char *what)
{
    MPI_Request request;

    ht__begin(comm, (ht_call){.what = what, .count = count});
    return ht__wait_posted(
        comm, MPI_Iallgather(mine, count, MPI_DOUBLE, all, count, MPI_DOUBLE, comm->mpi, &request),
        &request, what);
}

ht_status ht__comm_alltoall_i64(ht_comm *comm, const int64_t *send, int64_t *recv, const char *what)
{
    MPI_Request request;

    ht__begin(comm, (ht_call){.what = what, .count = 1});
    return ht__wait_posted(
        comm, MPI_Ialltoall(send, 1, MPI_INT64_T, recv, 1, MPI_INT64_T, comm->mpi, &request),
        &request, what);
}

ht_status ht__comm_bcast_bytes(ht_comm *comm, void *data, size_t bytes, int root, const char *what)
{
    const size_t most = 1 << 30;
    char *at = data;

    ht__begin(comm, (ht_call){.what = what, .root = root, .count = (int64_t)bytes});
    do {
        int count = (int)(bytes < most ? bytes : most);
        MPI_Request request;
        ht_status status = ht__wait_posted(
            comm, MPI_Ibcast(at, count, MPI_BYTE, root, comm->mpi, &request), &request, what);

        if (status != HT_SUCCESS)
            return status;
        at += count;
        bytes -= (size_t)count;
    } while (bytes > 0);
    return HT_SUCCESS;
}

ht_status ht_barrier(ht_comm *comm)
{
    MPI_Request request;

    if (comm == NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "ht_barrier: comm is NULL");
    ht__begin(comm, (ht_call){.what = "ht_barrier"});
    return ht__wait_posted(comm, MPI_Ibarrier(comm->mpi, &request), &request, "ht_barrier");
}

/* SPDX-License-Identifier: MIT
 *
 * The difference between the clocks of hosts. A rank on another node than rank 0 asks rank 0 for
 * the time a few times, and uses the quickest answer. It assumes that the answer was given in the
 * middle of the round trip: the error is at most half of that. Ranks on rank 0's node read the same
 * clock. */

#include "core/comm/mpi.h"
#include "core/timeline/timeline.h"

enum { TAG = 1, ROUNDS = 16 };

static ht_status send_time(ht_comm *world, int to, int64_t time, const char *what)
{
    MPI_Request request;

    return ht__wait_posted(world, MPI_Isend(&time, 1, MPI_INT64_T, to, TAG, world->mpi, &request),
                           &request, what);
}

static ht_status receive_time(ht_comm *world, int from, int64_t *time, const char *what)
{
    MPI_Request request;

    return ht__wait_posted(world, MPI_Irecv(time, 1, MPI_INT64_T, from, TAG, world->mpi, &request),
                           &request, what);
}

static ht_status answer(ht_comm *world, int rank, const char *what)
{
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < ROUNDS && status == HT_SUCCESS; i++) {
        int64_t theirs;

        status = receive_time(world, rank, &theirs, what);
        if (status == HT_SUCCESS)
            status = send_time(world, rank, (int64_t)ht__timeline_now(), what);
    }
    return status;
}

static ht_status ask(ht_comm *world, int64_t *offset, int64_t *error, const char *what)
{
    ht_status status = HT_SUCCESS;

    *error = INT64_MAX;
    for (int i = 0; i < ROUNDS && status == HT_SUCCESS; i++) {
        int64_t sent = (int64_t)ht__timeline_now(), theirs = 0;

        status = send_time(world, 0, sent, what);
        if (status == HT_SUCCESS)
            status = receive_time(world, 0, &theirs, what);

        int64_t half = ((int64_t)ht__timeline_now() - sent + 1) / 2;

        if (status == HT_SUCCESS && half < *error) {
            *error = half;
            *offset = theirs - (sent + half);
        }
    }
    return status;
}

ht_status ht__comm_clock_offset(ht_comm *world, int64_t *offset, int64_t *error)
{
    static const char what[] = "aligning the clocks of the ranks";
    int64_t *nodes = ht__alloc((size_t)world->size * sizeof *nodes), node = world->node;
    ht_status status = ht__comm_allgather_i64(world, &node, 1, nodes, what);

    *offset = *error = 0;
    if (status == HT_SUCCESS && world->rank > 0 && node != nodes[0])
        status = ask(world, offset, error, what);
    for (int r = 1; r < world->size && world->rank == 0 && status == HT_SUCCESS; r++) {
        if (nodes[r] != nodes[0])
            status = answer(world, r, what);
    }
    ht__free(nodes);
    return status;
}

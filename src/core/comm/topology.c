/* SPDX-License-Identifier: MIT
 *
 * Which ranks share a node. MPI_Comm_split_type answers this. HT_RANKS_PER_NODE=k replaces its
 * answer by blocks of k consecutive ranks of the world, so that one machine can represent several.
 */
#define _GNU_SOURCE
#include "core/comm/mpi.h"
#include "core/base/environment.h"
#include "core/comm/topology_map.h"

#include <sched.h>
#include <stdlib.h>

static MPI_Comm shared_memory_comm(MPI_Comm mpi, int rank)
{
    MPI_Comm local = MPI_COMM_NULL;

    MPI_Comm_split_type(mpi, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &local);
    return local;
}

static int ranks_per_node(void)
{
    return ht__env_count(HT_ENV_HT_RANKS_PER_NODE);
}

const char *ht__topology_source(void)
{
    return ranks_per_node() > 0 ? "HT_RANKS_PER_NODE" : "shared memory";
}

/* A number that the ranks of one node share: the rank of their first one in `comm`. Rank 0's
 * environment counts for all: a launcher may not hand it on to other hosts. */
static int node_key(const ht_comm *comm)
{
    int key = comm->rank, ranks = ranks_per_node();

    MPI_Bcast(&ranks, 1, MPI_INT, 0, comm->mpi);
    if (ranks > 0)
        return ht__process.rank / ranks;

    MPI_Comm local = shared_memory_comm(comm->mpi, comm->rank);

    MPI_Bcast(&key, 1, MPI_INT, 0, local);
    MPI_Comm_free(&local);
    return key;
}

void ht__topology_fill(ht_comm *comm)
{
    int mine = node_key(comm);
    int *keys = ht__alloc(sizeof *keys * (size_t)comm->size);

    MPI_Allgather(&mine, 1, MPI_INT, keys, 1, MPI_INT, comm->mpi);
    comm->nodes = comm->node = comm->local_rank = comm->local_size = 0;
    for (int r = 0; r < comm->size; r++) {
        bool seen = false;

        for (int q = 0; q < r && !seen; q++)
            seen = keys[q] == keys[r];
        if (keys[r] == mine) {
            if (!seen)
                comm->node = comm->nodes;
            comm->local_rank += r < comm->rank;
            comm->local_size++;
        }
        comm->nodes += !seen;
    }
    ht__free(keys);
}

int ht__topology_cores(MPI_Comm world, int *ranks)
{
    MPI_Comm local = shared_memory_comm(world, 0);
    cpu_set_t mine, all;

    CPU_ZERO(&mine);
    if (sched_getaffinity(0, sizeof mine, &mine) != 0)
        CPU_SET(0, &mine);
    MPI_Allreduce(&mine, &all, sizeof mine, MPI_BYTE, MPI_BOR, local);
    MPI_Comm_size(local, ranks);
    MPI_Comm_free(&local);
    return CPU_COUNT(&all);
}

ht_status ht_comm_topology(const ht_comm *comm, int *nodes, int *node, int *local_rank,
                           int *local_size)
{
    if (comm == NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "ht_comm_topology: comm is NULL");
    if (nodes != NULL)
        *nodes = comm->nodes;
    if (node != NULL)
        *node = comm->node;
    if (local_rank != NULL)
        *local_rank = comm->local_rank;
    if (local_size != NULL)
        *local_size = comm->local_size;
    return HT_SUCCESS;
}

/* SPDX-License-Identifier: MIT
 *
 * DASO's communicators: one for each node, and one for each place in a node. */
#include "nn/parallel/daso/daso.h"

bool ht__daso_groups_init(ht_daso_groups *groups, ht_comm *comm)
{
    int64_t smallest = comm->local_size;

    *groups = (ht_daso_groups){.nodes = comm->nodes,
                               .place = comm->local_rank,
                               .weight = (double)comm->local_size * comm->nodes / comm->size};
    if (ht__comm_allreduce_i64(comm, &smallest, 1, HT_OP_MIN, "ht_optim_daso") != HT_SUCCESS)
        return false;
    groups->count = (int)smallest;
    groups->node_of = ht__alloc((size_t)comm->size * sizeof(double));
    if (ht__comm_allgather_f64(comm, &(double){comm->node}, 1, groups->node_of, "ht_optim_daso") !=
        HT_SUCCESS)
        return false;
    groups->node = ht__comm_part(comm, "DASO's nodes", 0, comm->node, comm->rank);
    if (groups->node == NULL)
        return false;
    groups->group = ht__comm_part(comm, "DASO's groups", 0,
                                  groups->place < groups->count ? groups->place : -1, comm->node);
    if (groups->place >= groups->count)
        return true;
    groups->between = groups->group != NULL ? ht__exchange_get(groups->group, HT_PURPOSE_REDUCER)
                                            : NULL;
    return groups->between != NULL;
}

void ht__daso_groups_fini(ht_daso_groups *groups)
{
    ht_release(groups->node);
    ht_release(groups->group);
    ht__free(groups->node_of);
}

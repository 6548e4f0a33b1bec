/* SPDX-License-Identifier: MIT
 *
 * The ranks of each node, in text for people. */
#ifndef HT_CORE_COMM_TOPOLOGY_MAP_H
#define HT_CORE_COMM_TOPOLOGY_MAP_H
#include "core/comm/comm.h"

/* How the nodes are known: "shared memory" or "HT_RANKS_PER_NODE". */
const char *ht__topology_source(void);

/* The node of each rank. Owned. Collective. */
int *ht__topology_nodes(const ht_comm *comm);

/* "ranks 0-3,8" of one node; and "node 0: ranks 0-3, node 1: rank 4" of all, where many equal nodes
 * in a row are one entry. Text that does not fit ends in "...". */
void ht__topology_ranks(const int *nodes, int size, int node, char *text, size_t room);
void ht__topology_map(const int *nodes, int size, char *text, size_t room);

#endif

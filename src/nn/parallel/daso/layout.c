/* SPDX-License-Identifier: MIT
 *
 * Which rank is on which node: compares the job that saved a state of DASO with this one. */
#include "nn/parallel/daso/daso.h"

#include <inttypes.h>
#include <stdio.h>

static int64_t count_nodes(const double *nodes, int64_t ranks)
{
    double last = 0;

    for (int64_t r = 0; r < ranks; r++)
        last = nodes[r] > last ? nodes[r] : last;
    return (int64_t)last + 1;
}

/* The first rank that is elsewhere; all: none is. */
static int64_t first_moved(const ht_daso *daso, const double *nodes)
{
    int64_t r = 0;

    while (r < daso->comm->size && nodes[r] == daso->groups.node_of[r])
        r++;
    return r;
}

bool ht__daso_same_layout(const ht_daso *daso, const double *nodes, int64_t ranks)
{
    return ranks == daso->comm->size && first_moved(daso, nodes) == ranks;
}

/* "4 ranks on 2 nodes (rank 1 on node 0)"; which rank only where the number of them says nothing.
 */
static void describe(ht_daso_layout_text text, const double *nodes, int64_t ranks, int64_t moved)
{
    int64_t count = count_nodes(nodes, ranks);
    int used = snprintf(text, sizeof(ht_daso_layout_text),
                        "%" PRId64 " rank%s on %" PRId64 " node%s", ranks, ranks > 1 ? "s" : "",
                        count, count > 1 ? "s" : "");

    if (moved >= 0)
        snprintf(text + used, sizeof(ht_daso_layout_text) - (size_t)used,
                 " (rank %" PRId64 " on node %" PRId64 ")", moved, (int64_t)nodes[moved]);
}

void ht__daso_describe_layouts(const ht_daso *daso, const double *nodes, int64_t ranks,
                               ht_daso_layout_text theirs, ht_daso_layout_text ours)
{
    int64_t moved = ranks == daso->comm->size ? first_moved(daso, nodes) : -1;

    describe(theirs, nodes, ranks, moved < ranks ? moved : -1);
    describe(ours, daso->groups.node_of, daso->comm->size, moved < ranks ? moved : -1);
}

/* SPDX-License-Identifier: MIT
 *
 * Nodes whose backward step exchanges data with other ranks. If an error keeps this rank from such
 * a step, it abandons the node instead, which tells the waiting ranks. */
#include "core/tensor/node.h"

static _Thread_local ht_collective_node *newest;

void ht__node_set_abandon(ht_node *node, void (*abandon)(ht_node *node))
{
    ht_collective_node *added = ht__alloc(sizeof *added);

    *added = (ht_collective_node){.node = node, .abandon = abandon, .older = newest};
    if (newest != NULL)
        newest->newer = added;
    newest = added;
    node->collective = added;
}

void ht__node_leave(ht_node *node)
{
    ht_collective_node *gone = node->collective;

    if (gone->newer != NULL)
        gone->newer->older = gone->older;
    else
        newest = gone->older;
    if (gone->older != NULL)
        gone->older->newer = gone->newer;
    ht__free(gone);
    node->collective = NULL;
}

void ht__node_abandon(ht_node *node)
{
    ht_error_kept cause;

    ht__error_set_aside(&cause);
    node->collective->abandon(node);
    ht__error_put_back(&cause);
}

void ht__abandon_nodes(uint64_t begin, uint64_t end)
{
    ht_collective_node *one = newest;

    while (one != NULL && (one->node->sequence <= begin || one->node->sequence > end))
        one = one->older;
    if (one == NULL)
        return;
    if (one->node->segment != NULL && !one->node->segment->again)
        ht__segment_miss(one->node->segment);
    else
        ht__node_abandon(one->node);
}

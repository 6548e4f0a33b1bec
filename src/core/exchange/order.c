/* SPDX-License-Identifier: MIT
 *
 * The tree of additions, written down for a link: the devices of all ranks take part in each of its
 * sums, and add what exchange/plan.c has as steps of single ranks.
 *
 * On several nodes of one size there are two levels. The ranks of a node sum first, a part each.
 * Then each has its counterparts on the other nodes, with the same part. So nodes exchange the data
 * once. Otherwise there is one level, of all ranks. */
#include "core/exchange/path.h"

/* The additions of a group at once: the fold (bit 0), or those of numbers that differ in a bit.
 * ranks: NULL: 0, 1, 2, ... Returns how many. */
static int add_steps(const int *ranks, int count, int bit, ht_link_step *steps)
{
    int power = ht__tree_power(count), made = 0;

    for (int i = 0; bit == 0 && i < count - power; i++)
        steps[made++] = (ht_link_step){2 * i + 1, 2 * i};
    for (int number = 0; bit > 0 && number + bit < power; number += 2 * bit)
        steps[made++] = (ht_link_step){ht__tree_holder(count, number),
                                       ht__tree_holder(count, number + bit)};
    for (int i = 0; ranks != NULL && i < made; i++)
        steps[i] = (ht_link_step){ranks[steps[i].to], ranks[steps[i].from]};
    return made;
}

static int next_bit(int bit)
{
    return bit == 0 ? 1 : 2 * bit;
}

/* The ranks of a node, in order. Returns how many. */
static int ranks_of(const ht_exchange *exchange, int node, int *ranks)
{
    int count = 0;

    for (int r = 0; r < exchange->size; r++) {
        if (exchange->node_of[r] == node)
            ranks[count++] = r;
    }
    return count;
}

static ht_link_level level_new(int count, int mine, int **ranks, ht_link_step **steps)
{
    *ranks = ht__alloc(sizeof **ranks * (size_t)count);
    *steps = ht__alloc(sizeof **steps * (size_t)count);
    return (ht_link_level){count, mine, *ranks, *steps};
}

/* Those of a tree over members 0 ... count - 1. */
static void add_tree(int count, ht_link_step *steps)
{
    for (int bit = 0, made = 0; bit < count; bit = next_bit(bit))
        made += add_steps(NULL, count, bit, steps + made);
}

/* The trees of all nodes side by side, and that of the ranks that have their sums. */
static ht_link_level one_level(const ht_exchange *exchange)
{
    int size = exchange->size, nodes = exchange->comm->nodes, made = 0;
    int *members = ht__alloc(sizeof *members * (size_t)size), *ranks;
    int *heads = ht__alloc(sizeof *heads * (size_t)nodes);
    ht_link_step *steps;
    ht_link_level level = level_new(size, exchange->rank, &ranks, &steps);

    for (int r = 0; r < size; r++)
        ranks[r] = r;
    for (int bit = 0; bit < size; bit = next_bit(bit)) {
        for (int node = 0; node < nodes; node++) {
            int count = ranks_of(exchange, node, members);

            made += add_steps(members, count, bit, steps + made);
            heads[node] = members[ht__tree_holder(count, 0)];
        }
    }
    for (int bit = 0; bit < nodes; bit = next_bit(bit))
        made += add_steps(heads, nodes, bit, steps + made);
    ht__free(members);
    ht__free(heads);
    return level;
}

static ht_link_level within_node(const ht_exchange *exchange)
{
    const ht_comm *comm = exchange->comm;
    int *ranks;
    ht_link_step *steps;
    ht_link_level level = level_new(comm->local_size, comm->local_rank, &ranks, &steps);

    ranks_of(exchange, comm->node, ranks);
    add_tree(level.count, steps);
    return level;
}

/* The ranks with this one's place on their nodes. */
static ht_link_level between_nodes(const ht_exchange *exchange)
{
    const ht_comm *comm = exchange->comm;
    int *members = ht__alloc(sizeof *members * (size_t)exchange->size), *ranks;
    ht_link_step *steps;
    ht_link_level level = level_new(comm->nodes, comm->node, &ranks, &steps);

    for (int node = 0; node < comm->nodes; node++) {
        ranks_of(exchange, node, members);
        ranks[node] = members[comm->local_rank];
    }
    add_tree(level.count, steps);
    ht__free(members);
    return level;
}

/* Whether there are several nodes, all of one size of at least 2. */
static bool has_levels(const ht_exchange *exchange)
{
    int nodes = exchange->comm->nodes, *ranks = ht__alloc(sizeof *ranks * (size_t)exchange->size);
    bool even = nodes > 1 && exchange->size > nodes;

    for (int node = 0; node < nodes; node++)
        even &= ranks_of(exchange, node, ranks) * nodes == exchange->size;
    ht__free(ranks);
    return even;
}

ht_link_order ht__order_new(const ht_exchange *exchange)
{
    const bool both = has_levels(exchange);
    ht_link_level *levels = ht__alloc(2 * sizeof *levels);

    levels[0] = both ? within_node(exchange) : one_level(exchange);
    if (both)
        levels[1] = between_nodes(exchange);
    return (ht_link_order){exchange->rank, exchange->size, both ? 2 : 1, levels};
}

void ht__order_free(ht_link_order *order)
{
    for (int i = 0; i < order->count; i++) {
        ht__free((void *)(uintptr_t)order->levels[i].ranks);
        ht__free((void *)(uintptr_t)order->levels[i].steps);
    }
    ht__free((void *)(uintptr_t)order->levels);
}

/* SPDX-License-Identifier: MIT
 *
 * Who exchanges with whom: the tree of additions, as a list of steps for this rank.
 *
 * In a group of P, the first 2 (P - p) fold in pairs, the even one giving its data to the odd one,
 * which leaves p, a power of two, numbered 0 … p - 1. In step k numbers that differ in bit k meet:
 * they swap halves of what they both hold, or the upper one gives all. An element thus sees
 * ((0+1)+(2+3))+… whoever owns it.
 *
 * On several nodes the ranks of a node come first, giving all, until one rank has the sum of its
 * node; these go on among themselves, by halves. On one node, and where each rank is a node, there
 * is one group, which swaps halves.
 *
 * Through shared memory each node sums in place, and the first ranks of the nodes carry a slice
 * each to their counterparts, by halves. Nodes may be unequal: as many ranks carry as the smallest
 * node has. The tree is the same. */
#include "core/exchange/path.h"

/* A group by the ranks of its members, in order. */
typedef struct group {
    const int *ranks;
    int count, mine;
    bool swap; /* halves; otherwise all is given */
    bool far;  /* its members are on different nodes */
} group;

static void add(exchange_plan *plan, const group *g, step_kind kind, int member, bool upper)
{
    plan->steps[plan->count++] = (exchange_step){
        .kind = kind, .peer = g->ranks[member], .upper = upper, .far = g->far};
}

/* Whether this rank still holds something afterwards. */
static bool add_group(exchange_plan *plan, const group *g)
{
    int power = 1, number;

    while (2 * power <= g->count)
        power *= 2;

    int folded = g->count - power;

    number = g->mine - folded;
    if (g->mine < 2 * folded) {
        bool gives = g->mine % 2 == 0;

        add(plan, g, gives ? STEP_GIVE : STEP_TAKE, g->mine ^ 1, false);
        if (gives)
            return false;
        number = g->mine / 2;
    }
    for (int bit = 1; bit < power; bit *= 2) {
        int other = number ^ bit;
        bool upper = number & bit;

        add(plan, g,
            g->swap ? STEP_SWAP
            : upper ? STEP_GIVE
                    : STEP_TAKE,
            other < folded ? 2 * other + 1 : other + folded, upper);
        if (upper && !g->swap)
            return false;
    }
    return true;
}

/* The member that ends with everything when all is given. */
static int last_holder(int count)
{
    int power = 1;

    while (2 * power <= count)
        power *= 2;
    return count > power ? 1 : 0;
}

/* The rank of the member `local` of a node; -1: it has fewer. */
static int rank_at(const int *node_of, int size, int node, int local)
{
    for (int r = 0; r < size; r++) {
        if (node_of[r] == node && local-- == 0)
            return r;
    }
    return -1;
}

static int members_of(const int *node_of, int size, int node)
{
    int count = 0;

    for (int r = 0; r < size; r++)
        count += node_of[r] == node;
    return count;
}

static void plan_all(ht_exchange *exchange, const int *node_of, int *heads)
{
    int size = exchange->size, nodes = exchange->comm->nodes, mine = exchange->comm->node;
    int *members = ht__alloc(sizeof *members * (size_t)size);
    group local = {.ranks = members,
                   .count = members_of(node_of, size, mine),
                   .mine = exchange->comm->local_rank,
                   .swap = nodes == 1},
          across = {.ranks = heads, .count = nodes, .mine = mine, .swap = true, .far = true};

    for (int i = 0; i < local.count; i++)
        members[i] = rank_at(node_of, size, mine, i);
    for (int node = 0; node < nodes; node++)
        heads[node] = rank_at(node_of, size, node, last_holder(members_of(node_of, size, node)));
    if (add_group(&exchange->plan, &local) && nodes > 1)
        add_group(&exchange->plan, &across);
    ht__free(members);
}

static void plan_carriers(ht_exchange *exchange, const int *node_of, int *counterparts)
{
    int size = exchange->size, nodes = exchange->comm->nodes;
    group across = {.ranks = counterparts,
                    .count = nodes,
                    .mine = exchange->comm->node,
                    .swap = true,
                    .far = true};

    exchange->local = exchange->comm->local_rank;
    exchange->local_size = exchange->carriers = exchange->comm->local_size;
    for (int node = 0; node < nodes; node++) {
        int count = members_of(node_of, size, node);

        exchange->carriers = count < exchange->carriers ? count : exchange->carriers;
        counterparts[node] = rank_at(node_of, size, node, exchange->local);
    }
    if (nodes > 1 && exchange->local < exchange->carriers)
        add_group(&exchange->across, &across);
}

void ht__plan_open(ht_exchange *exchange)
{
    int *node_of = ht__alloc(sizeof *node_of * (size_t)exchange->size);
    int *ranks = ht__alloc(sizeof *ranks * (size_t)exchange->comm->nodes);

    MPI_Allgather(&exchange->comm->node, 1, MPI_INT, node_of, 1, MPI_INT, exchange->mpi);
    plan_all(exchange, node_of, ranks);
    plan_carriers(exchange, node_of, ranks);
    ht__free(node_of);
    ht__free(ranks);
}

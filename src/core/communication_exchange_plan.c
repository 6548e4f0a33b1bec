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
 * is one group, which swaps halves. */
#include "exchange_path.h"

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

void ht__plan_open(ht_exchange *exchange)
{
    int size = exchange->size, nodes = exchange->comm->nodes;
    int *node_of = ht__alloc(sizeof *node_of * (size_t)size);
    int *members = ht__alloc(sizeof *members * (size_t)size);
    int *heads = ht__alloc(sizeof *heads * (size_t)nodes);
    group local = {.ranks = members, .swap = nodes == 1},
          across = {.ranks = heads, .count = nodes, .swap = true, .far = true};

    MPI_Allgather(&exchange->comm->node, 1, MPI_INT, node_of, 1, MPI_INT, exchange->mpi);
    for (int node = 0; node < nodes; node++) {
        int count = 0;

        for (int r = 0; r < size; r++)
            count += node_of[r] == node;

        int wanted = last_holder(count);

        for (int r = 0; r < size; r++) {
            if (node_of[r] == node && wanted-- == 0)
                heads[node] = r;
        }
    }
    for (int r = 0; r < size; r++) {
        if (node_of[r] != exchange->comm->node)
            continue;
        if (r == exchange->rank)
            local.mine = local.count;
        members[local.count++] = r;
    }
    across.mine = exchange->comm->node;
    exchange->plan.count = 0;
    if (add_group(&exchange->plan, &local) && nodes > 1)
        add_group(&exchange->plan, &across);
    ht__free(node_of);
    ht__free(members);
    ht__free(heads);
}

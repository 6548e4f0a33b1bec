/* SPDX-License-Identifier: MIT
 *
 * The plan of an exchange: the tree of additions, written down for this rank in a list of steps
 * with their partners.
 *
 * In a group of P ranks, the first 2 (P - p) fold in pairs: the even one gives its data to the odd
 * one. This leaves p ranks, a power of two, numbered 0 … p - 1. In step k the numbers that differ
 * in bit k meet. They swap halves of their data, or the upper one gives all. So the additions of an
 * element are ((0+1)+(2+3))+… for every owner of it.
 *
 * On several nodes the ranks of a node come first, giving all, until one rank has the sum of its
 * node. These ranks then meet each other, by halves. There is one group, which swaps halves, on a
 * single node, and if each rank is a node.
 *
 * Through shared memory each node sums in place. The first ranks of the nodes carry a slice each to
 * their counterparts, by halves. Nodes may be unequal: the number of carriers is that of the
 * smallest node. The tree is the same.
 *
 * For the halves there is an order of the ranks in which those whose data meet in a step are
 * neighbours. Ranks that swap halves are ordered by their numbers with reversed bits, because the
 * first step separates even from odd ones. Each one's fold follows it. Ranks that give all to one
 * rank of their node stay together, in their own order. */
#include "core/exchange/path.h"

/* A group by the ranks of its members, in order. */
typedef struct group {
    const int *ranks;
    const range *places; /* of each member, a rank or a node, in the order of the halves */
    int count, mine;
    bool swap; /* halves; otherwise all is given */
    bool far;  /* its members are on different nodes */
} group;

/* The first member that goes by this number; one more is folded into it where the next number has
 * the one after. */
static int member_of(const group *g, int number)
{
    int folded = g->count - ht__tree_power(g->count);

    return number < folded ? 2 * number : number + folded;
}

/* The places of all members whose numbers equal `number` in the bits of `mask`: they are
 * adjacent. */
static range places_of(const group *g, int number, int mask)
{
    range places = {INT64_MAX, 0};

    for (int i = 0; i < ht__tree_power(g->count); i++) {
        for (int m = member_of(g, i); m < member_of(g, i + 1) && !((i ^ number) & mask); m++) {
            if (g->places[m].begin < places.begin)
                places.begin = g->places[m].begin;
            if (g->places[m].end > places.end)
                places.end = g->places[m].end;
        }
    }
    return places;
}

static exchange_step *add(exchange_plan *plan, const group *g, step_kind kind, int member)
{
    exchange_step *step = &plan->steps[plan->count++];

    *step = (exchange_step){.kind = kind, .peer = g->ranks[member], .far = g->far};
    return step;
}

static void add_swap(exchange_plan *plan, const group *g, int member, int number, int bit)
{
    exchange_step *step = add(plan, g, STEP_SWAP, member);

    step->upper = number & bit;
    step->keep = places_of(g, number, 2 * bit - 1);
    step->give = places_of(g, number ^ bit, 2 * bit - 1);
}

/* Whether this rank still holds something afterwards. */
static bool add_group(exchange_plan *plan, const group *g)
{
    int power = ht__tree_power(g->count), folded = g->count - power, number = g->mine - folded;

    if (g->mine < 2 * folded) {
        bool gives = g->mine % 2 == 0;

        add(plan, g, gives ? STEP_GIVE : STEP_TAKE, g->mine ^ 1)
            ->under = g->places[g->mine / 2 * 2];
        if (gives)
            return false;
        number = g->mine / 2;
    }
    for (int bit = 1; bit < power; bit *= 2) {
        int other = number ^ bit, member = ht__tree_holder(g->count, other);
        bool gives = number & bit;

        if (g->swap) {
            add_swap(plan, g, member, number, bit);
            continue;
        }
        add(plan, g, gives ? STEP_GIVE : STEP_TAKE, member)->under = places_of(g, number | bit,
                                                                               ~(bit - 1));
        if (gives)
            return false;
    }
    return true;
}

/* Gives each member as many places as `widths` says (NULL: one), in the order of numbers with their
 * bits reversed. */
static void lay_reversed(range *places, int count, const int *widths)
{
    group g = {.count = count};
    int power = ht__tree_power(count);
    int64_t next = 0;

    for (int i = 0; i < power; i++) {
        int number = 0;

        for (int bit = 1, to = power / 2; bit < power; bit *= 2, to /= 2)
            number |= i & bit ? to : 0;
        for (int m = member_of(&g, number); m < member_of(&g, number + 1); m++) {
            places[m] = (range){next, next + (widths != NULL ? widths[m] : 1)};
            next = places[m].end;
        }
    }
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

/* Where the nodes and, on this one or the only one, the ranks lie in the order of the halves. */
typedef struct layout {
    int *node_of, *members; /* of each rank; of each node */
    range *nodes;
    range *local; /* this node's ranks */
} layout;

static void lay_node(range *places, int node, const layout *l, int nodes)
{
    if (nodes == 1) {
        lay_reversed(places, l->members[node], NULL);
        return;
    }
    for (int i = 0; i < l->members[node]; i++)
        places[i] = (range){l->nodes[node].begin + i, l->nodes[node].begin + i + 1};
}

static void lay_out(ht_exchange *exchange, layout *l)
{
    int size = exchange->size, nodes = exchange->comm->nodes;

    l->members = ht__alloc(sizeof *l->members * (size_t)nodes);
    l->nodes = ht__alloc(sizeof *l->nodes * (size_t)nodes);
    l->local = ht__alloc(sizeof *l->local * (size_t)size);
    exchange->rank_at = ht__alloc(sizeof *exchange->rank_at * (size_t)size);
    exchange->places = ht__alloc(sizeof *exchange->places * (size_t)exchange->comm->local_size);
    for (int node = 0; node < nodes; node++)
        l->members[node] = members_of(l->node_of, size, node);
    lay_reversed(l->nodes, nodes, l->members);
    for (int node = 0; node < nodes; node++) {
        lay_node(l->local, node, l, nodes);
        for (int i = 0; i < l->members[node]; i++)
            exchange->rank_at[l->local[i].begin] = rank_at(l->node_of, size, node, i);
    }
    lay_node(l->local, exchange->comm->node, l, nodes);
    for (int i = 0; i < exchange->comm->local_size; i++)
        exchange->places[i] = (int)l->local[i].begin;
}

static void plan_all(ht_exchange *exchange, const layout *l, int *heads)
{
    int size = exchange->size, nodes = exchange->comm->nodes, mine = exchange->comm->node;
    int *members = ht__alloc(sizeof *members * (size_t)size);
    group local = {.ranks = members,
                   .places = l->local,
                   .count = l->members[mine],
                   .mine = exchange->comm->local_rank,
                   .swap = nodes == 1},
          across = {.ranks = heads,
                    .places = l->nodes,
                    .count = nodes,
                    .mine = mine,
                    .swap = true,
                    .far = true};

    for (int i = 0; i < local.count; i++)
        members[i] = rank_at(l->node_of, size, mine, i);
    for (int node = 0; node < nodes; node++)
        heads[node] = rank_at(l->node_of, size, node, ht__tree_holder(l->members[node], 0));
    if (add_group(&exchange->plan, &local) && nodes > 1)
        add_group(&exchange->plan, &across);
    ht__free(members);
}

static void plan_carriers(ht_exchange *exchange, const layout *l, int *counterparts)
{
    int nodes = exchange->comm->nodes;
    group across = {.ranks = counterparts,
                    .places = l->nodes,
                    .count = nodes,
                    .mine = exchange->comm->node,
                    .swap = true,
                    .far = true};

    exchange->local = exchange->comm->local_rank;
    exchange->local_size = exchange->carriers = exchange->comm->local_size;
    for (int node = 0; node < nodes; node++) {
        int count = l->members[node];

        exchange->carriers = count < exchange->carriers ? count : exchange->carriers;
        counterparts[node] = rank_at(l->node_of, exchange->size, node, exchange->local);
    }
    if (nodes > 1 && exchange->local < exchange->carriers)
        add_group(&exchange->across, &across);
}

void ht__plan_open(ht_exchange *exchange)
{
    layout l = {.node_of = ht__alloc(sizeof *l.node_of * (size_t)exchange->size)};
    int *ranks = ht__alloc(sizeof *ranks * (size_t)exchange->comm->nodes);

    exchange->node_of = l.node_of;
    MPI_Allgather(&exchange->comm->node, 1, MPI_INT, l.node_of, 1, MPI_INT, exchange->mpi);
    lay_out(exchange, &l);
    plan_all(exchange, &l, ranks);
    plan_carriers(exchange, &l, ranks);
    ht__free(l.members);
    ht__free(l.nodes);
    ht__free(l.local);
    ht__free(ranks);
}

void ht__plan_end(ht_exchange *exchange)
{
    ht__free(exchange->rank_at);
    ht__free(exchange->places);
    ht__free(exchange->node_of);
}

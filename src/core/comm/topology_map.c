/* SPDX-License-Identifier: MIT
 *
 * The map of ranks to nodes for people to read: "node 0: ranks 0-3, node 1: ranks 4-5". */
#include "core/comm/comm.h"
#include "core/comm/topology_map.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ALIKE = 5 }; /* adjacent nodes that are equal are reported as one entry */

int *ht__topology_nodes(const ht_comm *comm)
{
    int *nodes = ht__alloc(sizeof *nodes * (size_t)comm->size);

    MPI_Allgather(&comm->node, 1, MPI_INT, nodes, 1, MPI_INT, comm->mpi);
    return nodes;
}

__attribute__((format(printf, 3, 4))) static void add(char *text, size_t room, const char *format,
                                                      ...)
{
    size_t used = strlen(text);
    va_list arguments;

    va_start(arguments, format);
    if ((size_t)vsnprintf(text + used, room - used, format, arguments) >= room - used)
        memcpy(text + room - 4, "...", 4);
    va_end(arguments);
}

/* The first rank of `node` from `from` on that is followed by one of another node, or by none. */
static int end_of_run(const int *nodes, int size, int from)
{
    int last = from;

    while (last + 1 < size && nodes[last + 1] == nodes[from])
        last++;
    return last;
}

static int next_of(const int *nodes, int size, int node, int from)
{
    while (from < size && nodes[from] != node)
        from++;
    return from;
}

/* Appends "ranks 0-3,8" or "rank 4". */
static void add_ranks(const int *nodes, int size, int node, char *text, size_t room)
{
    int first = next_of(nodes, size, node, 0), last = end_of_run(nodes, size, first);
    int next = next_of(nodes, size, node, last + 1);

    add(text, room, "%s ", first == last && next == size ? "rank" : "ranks");
    for (;;) {
        add(text, room, "%d", first);
        if (last > first)
            add(text, room, "-%d", last);
        if (next == size)
            return;
        add(text, room, ",");
        first = next;
        last = end_of_run(nodes, size, first);
        next = next_of(nodes, size, node, last + 1);
    }
}

/* How many nodes from `node` on have ranks in a row of the same number, each after the one before;
 * `*ranks` is that number. 0: `node` itself has none such. */
static int alike(const int *nodes, int size, int count, int node, int *ranks)
{
    int first = next_of(nodes, size, node, 0), last = end_of_run(nodes, size, first), n = 0;

    *ranks = last - first + 1;
    while (node + n < count && first < size && nodes[first] == node + n) {
        last = end_of_run(nodes, size, first);
        if (last - first + 1 != *ranks || next_of(nodes, size, node + n, last + 1) < size)
            break;
        first = last + 1;
        n++;
    }
    return n;
}

void ht__topology_ranks(const int *nodes, int size, int node, char *text, size_t room)
{
    *text = '\0';
    add_ranks(nodes, size, node, text, room);
}

void ht__topology_map(const int *nodes, int size, char *text, size_t room)
{
    int count = 0, step, ranks;

    for (int r = 0; r < size; r++)
        count = nodes[r] >= count ? nodes[r] + 1 : count;
    *text = '\0';
    for (int node = 0; node < count; node += step) {
        const char *comma = node > 0 ? ", " : "";

        step = alike(nodes, size, count, node, &ranks);
        if (step >= ALIKE) {
            int first = next_of(nodes, size, node, 0);

            add(text, room, "%snodes %d-%d: ranks %d-%d, %d each", comma, node, node + step - 1,
                first, first + step * ranks - 1, ranks);
        } else {
            step = 1;
            add(text, room, "%snode %d: ", comma, node);
            add_ranks(nodes, size, node, text, room);
        }
    }
}

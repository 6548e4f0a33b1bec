/* SPDX-License-Identifier: MIT
 *
 * Communicators that were split off from another one. MPI frees them collectively: the next split of
 * their parent does it, in which all of their ranks take part, once no rank uses them. Parts that a
 * higher folder asks for again and again are kept by their parent. */
#include "core/comm/mpi.h"

#include <string.h>

struct ht_parts {
    const char *family; /* a literal */
    int size;
    ht_comm *comm; /* retained; NULL: this rank is in none */
    ht_parts *next;
};

/* One split: on each rank of the parent, in the same order. */
struct ht_child {
    ht_child *next;
    ht_comm *comm; /* not owned; NULL: released, or this rank is in none */
    uint64_t id;   /* of it; 0: this rank is in none */
};

void ht__child_new(ht_comm *parent, ht_comm *comm)
{
    ht_child **at = &parent->children, *child = ht__alloc(sizeof *child);

    while (*at != NULL)
        at = &(*at)->next;
    *at = child;
    *child = (ht_child){.comm = comm, .id = comm != NULL ? comm->id : 0};
    if (comm != NULL)
        comm->child = child;
}

void ht__child_end(ht_comm *comm)
{
    if (comm->child != NULL)
        comm->child->comm = NULL;
    while (comm->children != NULL) {
        ht_child *child = comm->children;

        comm->children = child->next;
        if (child->comm != NULL)
            child->comm->child = NULL;
        ht__free(child);
    }
}

void ht__comm_release_parts(ht_comm *comm)
{
    while (comm->parts != NULL) {
        ht_parts *parts = comm->parts;

        comm->parts = parts->next;
        ht_release(parts->comm);
        ht__free(parts);
    }
}

/* Engines of the exchange hold it, too, and alone do not use it. */
static bool is_unused(const ht_child *child)
{
    const ht_comm *comm = child->comm;

    return comm == NULL || (comm->engines > 0 && ht__object_count(comm) == comm->engines &&
                            comm->engine_calls->idle(comm));
}

/* One that no rank uses; where it has engines, it has them on all of its ranks. */
static void end_unused(ht_child *child)
{
    ht_comm *comm = child->comm;

    if (comm != NULL) {
        ht__comm_release_parts(comm);
        ht__children_free(comm);
        comm->engine_calls->end(comm);
    }
    ht__comm_free(child->id);
    ht__free(child);
}

void ht__children_free(ht_comm *parent)
{
    ht_child **at = &parent->children;
    int count = 0, i = 0;
    int64_t *unused;

    for (const ht_child *child = *at; child != NULL; child = child->next)
        count++;
    if (count == 0)
        return;
    unused = ht__alloc(sizeof *unused * (size_t)count);
    for (const ht_child *child = *at; child != NULL; child = child->next)
        unused[i++] = is_unused(child);
    if (ht__comm_allreduce_i64(parent, unused, count, HT_OP_MIN, "ht_comm_split") != HT_SUCCESS)
        *unused = count = 0;
    for (i = 0; i < count; i++) {
        ht_child *child = *at;

        if (unused[i] != 0) {
            *at = child->next;
            end_unused(child);
        } else {
            at = &child->next;
        }
    }
    ht__free(unused);
}

/* The parts of a family that were asked for before; NULL: none. */
static const ht_parts *parts_again(const ht_comm *comm, const char *family, int size)
{
    const ht_parts *parts = comm->parts;

    while (parts != NULL && (parts->size != size || strcmp(parts->family, family) != 0))
        parts = parts->next;
    return parts;
}

ht_comm *ht__comm_part(ht_comm *comm, const char *family, int size, int color, int key)
{
    const ht_parts *again = parts_again(comm, family, size);
    ht_comm *part = again != NULL ? again->comm : ht_comm_split(comm, color, key);
    ht_parts *parts;

    if (again == NULL && (part != NULL || color < 0)) {
        parts = ht__alloc(sizeof *parts);
        *parts = (ht_parts){family, size, part, comm->parts};
        comm->parts = parts;
    }
    if (part != NULL)
        part->handler = comm->handler;
    return ht_retain(part);
}

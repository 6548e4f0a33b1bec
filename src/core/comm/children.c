/* SPDX-License-Identifier: MIT
 *
 * Communicators that were split off from another one. MPI frees them collectively: the next split of
 * their parent does it, in which all of their ranks take part, once no rank uses them. Parts that a
 * higher folder asks for again and again are kept by their parent. */
#include "core/comm/mpi.h"

#include <string.h>

static void child_new(ht_comm *parent, ht_comm *comm)
{
    ht_child **at = &parent->children, *child = ht__alloc(sizeof *child);

    while (*at != NULL)
        at = &(*at)->next;
    *at = child;
    *child = (ht_child){.comm = comm, .id = comm != NULL ? comm->id : 0};
    if (comm != NULL)
        comm->child = child;
}

/* Engines of the exchange hold it, too, and alone do not use it. */
static bool is_unused(const ht_child *child)
{
    const ht_comm *comm = child->comm;

    return comm == NULL || (comm->engines > 0 && ht__object_count(comm) == comm->engines &&
                            comm->engine_calls->idle(comm));
}

static void free_children(ht_comm *parent);

/* One that no rank uses; where it has engines, it has them on all of its ranks. */
static void end_unused(ht_child *child)
{
    ht_comm *comm = child->comm;

    if (comm != NULL) {
        ht__comm_release_parts(comm);
        free_children(comm);
        comm->engine_calls->end(comm);
    }
    ht__comm_free(child->id);
    ht__free(child);
}

static void free_children(ht_comm *parent)
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

ht_comm *ht_comm_split(ht_comm *comm, int color, int key)
{
    MPI_Comm part = MPI_COMM_NULL;

    if (HT_IS_NULL(comm, "ht_comm_split", "comm"))
        return NULL;
    ht__begin(comm, (ht_call){.what = "ht_comm_split"});
    free_children(comm);

    const char *outer = ht__watch_guard("ht_comm_split");
    int result = MPI_Comm_split(comm->mpi, color < 0 ? MPI_UNDEFINED : color, key, &part);

    ht__watch_unguard(outer);
    if (ht__mpi_check(comm, result, "ht_comm_split") != HT_SUCCESS)
        return NULL;

    ht_comm *made = part != MPI_COMM_NULL ? ht__comm_new("ht_comm_split", part, false) : NULL;

    child_new(comm, made);
    if (made == NULL)
        return NULL;
    made->handler = comm->handler;
    return made;
}

/* The parts of a family that were asked for before; NULL: none. */
static const ht_kept_part *parts_again(const ht_comm *comm, const char *family, int size)
{
    const ht_kept_part *parts = comm->parts;

    while (parts != NULL && (parts->size != size || strcmp(parts->family, family) != 0))
        parts = parts->next;
    return parts;
}

ht_comm *ht__comm_part(ht_comm *comm, const char *family, int size, int color, int key)
{
    const ht_kept_part *again = parts_again(comm, family, size);
    ht_comm *part = again != NULL ? again->comm : ht_comm_split(comm, color, key);
    ht_kept_part *parts;

    if (again == NULL && (part != NULL || color < 0)) {
        parts = ht__alloc(sizeof *parts);
        *parts = (ht_kept_part){family, size, part, comm->parts};
        comm->parts = parts;
    }
    if (part != NULL)
        part->handler = comm->handler;
    return ht_retain(part);
}

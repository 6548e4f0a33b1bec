/* SPDX-License-Identifier: MIT
 *
 * HT_DEBUG_COLLECTIVE=1: before a collective operation the ranks exchange a record of their
 * arguments. The first field that differs ends the job with the values of two ranks. Records travel
 * on separate communicators: one for the calls on a communicator, and one for each engine on it,
 * whose operations may come earlier or later among the calls. The record of an operation that does
 * not wait does not wait either; it is compared in a later wait. */
#define _GNU_SOURCE
#include "core/comm/mpi.h"
#include "core/base/environment.h"
#include "core/base/site.h"

#include <execinfo.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FRAMES = 64 };

/* All that is compared, and what a message about it needs. */
struct record {
    char what[80];
    int root, op, dtype, wire;
    int64_t count, key;
    int refused;     /* its rank passes wrong arguments, and says so when it has begun */
    uint64_t notes;  /* of the tensors made before it; 0: not compared */
    int rank;        /* in the world, for any communicator; not compared */
    uint64_t number; /* of the call or operation; not compared */
    int ndim;        /* -1: no local part to be shown */
    int64_t shape[HT_MAX_NDIM];
    char counts[64]; /* as much of them as has room; "": none */
    char caller[64]; /* the public function; "": not known */
    char site[112];  /* where the program calls it; "": not known */
};

/* In the order in which they are compared. */
enum field { OPERATION, TENSORS, ROOT, REDUCTION, DTYPE, WIRE, COUNT, COUNTS, NO_FIELD };

struct ht_comparison {
    ht_comparison *next;
    ht_comm *comm; /* retained */
    int on;        /* which records of it */
    MPI_Request request;
    struct record mine, all[]; /* of all ranks */
};

bool ht__compare_on;
const ht_note_calls *ht__notes;

/* Those of operations that do not wait, in the order in which they were posted. */
static ht_comparison *first_posted, **last_posted = &first_posted;

void ht__compare_start(MPI_Comm world)
{
    int wanted = ht__env_flag(HT_ENV_HT_DEBUG_COLLECTIVE);

    /* A launcher may give the variable to some of the ranks only. */
    MPI_Allreduce(MPI_IN_PLACE, &wanted, 1, MPI_INT, MPI_MAX, world);
    ht__compare_on = wanted;
}

static void write_counts(struct record *record, const ht_comm *comm, const ht_call *call)
{
    size_t room = sizeof record->counts, at = 0;

    record->key = ht__call_key(comm, call);
    for (int r = 0; record->key != 0 && r < comm->size && at < room; r++)
        at += (size_t)snprintf(record->counts + at, room - at, "%s%" PRId64, r > 0 ? ", " : "",
                               call->counts[r]);
}

static void fill(struct record *record, const ht_comm *comm, const ht_call *call)
{
    snprintf(record->what, sizeof record->what, "%s", call->what);
    record->root = call->root;
    record->op = (int)call->op;
    record->dtype = (int)call->dtype;
    record->wire = (int)call->wire;
    record->count = call->count;
    write_counts(record, comm, call);
    record->refused = call->refused;
    record->rank = ht__process.rank;
    record->ndim = -1;
    if (call->lshape != NULL) {
        record->ndim = call->ndim;
        memcpy(record->shape, call->lshape, sizeof *call->lshape * (size_t)call->ndim);
    }

    void *frames[FRAMES];

    ht__site_find(frames, backtrace(frames, FRAMES), record->caller, sizeof record->caller,
                  record->site, sizeof record->site);
}

static enum field first_difference(const struct record *a, const struct record *b)
{
    if (a->refused || b->refused)
        return strcmp(a->what, b->what) != 0 ? OPERATION : NO_FIELD;
    return strcmp(a->what, b->what) != 0 ? OPERATION
           : a->notes != b->notes        ? TENSORS
           : a->root != b->root          ? ROOT
           : a->op != b->op              ? REDUCTION
           : a->dtype != b->dtype        ? DTYPE
           : a->wire != b->wire          ? WIRE
           : a->count != b->count        ? COUNT
           : a->key != b->key            ? COUNTS
                                         : NO_FIELD;
}

static const char *name_of(const struct record *record, char text[160])
{
    if (record->caller[0] == '\0' || strcmp(record->caller, record->what) == 0)
        return record->what;
    snprintf(text, 160, "%s (%s)", record->caller, record->what);
    return text;
}

static const char *value_of(const struct record *record, enum field field, char text[160])
{
    switch (field) {
    case REDUCTION:
        return ht__op_name((ht_reduce_op)record->op);
    case DTYPE:
        return ht_dtype_name((ht_dtype)record->dtype);
    case WIRE:
        return ht_dtype_name((ht_dtype)record->wire);
    case ROOT:
        snprintf(text, 160, "%d", record->root);
        return text;
    case COUNTS:
        return record->counts;
    default:
        snprintf(text, 160, record->ndim < 0 ? "%" PRId64 : "%" PRId64 ", shape %s", record->count,
                 ht__shape_str(record->ndim, record->shape));
        return text;
    }
}

/* Every rank makes the same message, so that it is printed once. */
static _Noreturn void end_job(const ht_comparison *it, int differing, enum field field)
{
    static const char *const names[] = {[TENSORS] = "the number of tensors made",
                                        [ROOT] = "root",
                                        [REDUCTION] = "op",
                                        [DTYPE] = "the dtype",
                                        [WIRE] = "the dtype that travels",
                                        [COUNT] = "the number of elements",
                                        [COUNTS] = "the list of counts"};
    const struct record *a = &it->all[0], *b = &it->all[differing];
    char of_a[160], of_b[160], site_a[160], site_b[160], sites[400] = "", text[1016];

    if (a->site[0] != '\0') {
        ht__site_resolve(a->site, site_a, sizeof site_a);
        ht__site_resolve(b->site, site_b, sizeof site_b);
        snprintf(sites, sizeof sites, "; rank %d at %s, rank %d at %s", a->rank, site_a, b->rank,
                 site_b);
    }
    if (field == OPERATION)
        snprintf(text, sizeof text,
                 "rank %d calls %s where rank %d calls %s: all ranks of a communicator make the "
                 "same collective calls in the same order (call %" PRIu64 " on %s%s)",
                 a->rank, name_of(a, of_a), b->rank, name_of(b, of_b), a->number, it->comm->name,
                 sites);
    else
        snprintf(text, sizeof text,
                 "%s: %s is %s on rank %d and %s on rank %d, expected the same on all ranks "
                 "(call %" PRIu64 " on %s%s)",
                 a->what, names[field], value_of(a, field, of_a), a->rank, value_of(b, field, of_b),
                 b->rank, a->number, it->comm->name, sites);
    ht__abort(HT_ERR_COMM, text);
}

static bool all_have_notes(const ht_comparison *it)
{
    bool all = true;

    for (int r = 0; r < it->comm->size; r++)
        all &= it->all[r].notes != 0;
    return all;
}

/* `fewer`: that a rank has made fewer is a difference too. */
static void tensors_differ(const ht_comparison *it, bool fewer)
{
    int *ranks = ht__alloc(sizeof *ranks * (size_t)it->comm->size);

    for (int r = 0; r < it->comm->size; r++)
        ranks[r] = it->all[r].rank;
    ht__notes->differ(it->comm, it->comm->purpose[HT_PURPOSE_RECORDS + it->on], ranks, fewer);
    ht__free(ranks);
}

static void compare(const ht_comparison *it)
{
    enum field first = NO_FIELD;
    int rank = 0;

    for (int r = 1; r < it->comm->size; r++) {
        enum field field = first_difference(&it->all[0], &it->all[r]);

        if (field < first) {
            first = field;
            rank = r;
        }
    }
    /* A tensor that is other on two ranks came before the calls that are. */
    if (first == TENSORS || (first == OPERATION && all_have_notes(it)))
        tensors_differ(it, first == TENSORS);
    if (first != NO_FIELD)
        end_job(it, rank, first);
}

static ht_comparison *post(ht_comm *comm, const ht_call *call)
{
    ht_comparison *it = ht__alloc(sizeof *it + sizeof *it->all * (size_t)comm->size);

    it->comm = ht_retain(comm);
    it->on = call->on;
    fill(&it->mine, comm, call);
    it->mine.number = ++comm->compared[call->on];
    if (!call->later && call->on == HT_PURPOSE_CALLS)
        it->mine.notes = ht__notes->sum(comm);
    MPI_Iallgather(&it->mine, sizeof it->mine, MPI_BYTE, it->all, sizeof it->mine, MPI_BYTE,
                   comm->purpose[HT_PURPOSE_RECORDS + call->on], &it->request);
    return it;
}

static void drop(ht_comparison *it)
{
    ht_release(it->comm);
    ht__free(it);
}

ht_comparison *ht__compare_post(ht_comm *comm, const ht_call *call, MPI_Request **request)
{
    ht_comparison *it = post(comm, call);

    *request = &it->request;
    if (!call->later)
        return it;
    *last_posted = it;
    last_posted = &it->next;
    return NULL;
}

void ht__compare_finish(ht_comparison *it, bool came)
{
    if (came) {
        ht__compare_posted(); /* those before it */
        compare(it);
    }
    if (it->on == HT_PURPOSE_CALLS)
        ht__notes->clear(it->comm);
    drop(it);
}

/* Records may come in another order than they were sent; the first difference is the cause. */
static bool is_next(const ht_comparison *it)
{
    const ht_comparison *other = first_posted;

    while (other != it && (other->comm != it->comm || other->on != it->on))
        other = other->next;
    return other == it;
}

bool ht__compare_posted(void)
{
    ht_comparison **at = &first_posted;

    while (*at != NULL) {
        ht_comparison *it = *at;
        int done = 0;

        ht__mpi_test(1, &it->request, &done);
        if (!done || !is_next(it)) {
            at = &it->next;
            continue;
        }
        compare(it);
        *at = it->next;
        drop(it);
    }
    last_posted = at;
    return first_posted == NULL;
}

void ht__compare_settle(void)
{
    enum { PATIENCE = 1000 };

    for (int ms = 0; ms < PATIENCE && !ht__compare_posted(); ms++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

ht_status ht__mpi_check(ht_comm *comm, int result, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;

    if (result == MPI_SUCCESS)
        return HT_SUCCESS;
    if (ht__compare_on)
        ht__compare_settle();
    MPI_Error_string(result, text, &length);
    return HT_FAIL_HERE(comm, HT_ERR_COMM, "%s: MPI failed: %.*s%s", what, length, text,
                        ht__compare_on ? ""
                                       : " (HT_DEBUG_COLLECTIVE=1 compares what the ranks pass)");
}

/* SPDX-License-Identifier: MIT
 *
 * Communicators: the world, HT_COMM_SELF, those made by splitting, and private duplicates of each.
 * MPI frees a communicator collectively, but a count reaches zero on each rank at another time. So
 * the MPI communicators outlive their handles. A list keeps them in the order of creation, which is
 * the same on all members. They are freed in that order, by the next split of the communicator that
 * they were split off from (children.c) or by ht_finalize. */
#include "core/comm/mpi.h"
#include "core/base/environment.h"

#include <stdio.h>

struct made {
    MPI_Comm mpi;
    uint64_t of; /* the communicator's id */
    struct made *next;
};

static struct made *first_made, **last_made = &first_made;
static ht_comm *world, *self;
static _Atomic(ht_comm *) in_use; /* retained */

void ht__comm_release_parts(ht_comm *comm)
{
    while (comm->parts != NULL) {
        ht_kept_part *parts = comm->parts;

        comm->parts = parts->next;
        ht_release(parts->comm);
        ht__free(parts);
    }
}

static void end_children(ht_comm *comm)
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

static void comm_destroy(void *object)
{
    ht__comm_release_parts(object);
    end_children(object);
    ht__free(((ht_comm *)object)->notes);
    ht__object_fini(object);
    ht__free(object);
}

static ht_kind comm_kind = {.name = "comm", .destroy = comm_destroy};

/* Errors of MPI come back as codes, so that they can be reported with the name of the operation. */
static void remember(MPI_Comm mpi, uint64_t of)
{
    struct made *made = ht__alloc(sizeof *made);

    MPI_Comm_set_errhandler(mpi, MPI_ERRORS_RETURN);
    made->mpi = mpi;
    made->of = of;
    *last_made = made;
    last_made = &made->next;
}

bool ht__mpi_usable(void)
{
    int initialized = 0, finalized = 0, level = MPI_THREAD_SINGLE, is_main = 0;

    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (!initialized || finalized)
        return false;
    MPI_Query_thread(&level);
    MPI_Is_thread_main(&is_main);
    return level == MPI_THREAD_MULTIPLE || is_main;
}

static void make_private(ht_comm *comm, ht_purpose purpose, const char *what)
{
    MPI_Comm *copy = &comm->purpose[purpose];
    const char *outer = ht__watch_guard(what);
    int result = MPI_Comm_dup(comm->mpi, copy);

    ht__watch_unguard(outer);
    if (ht__mpi_check(comm, result, what) == HT_SUCCESS)
        remember(*copy, comm->id);
}

ht_comm *ht__comm_new(const char *what, MPI_Comm mpi, bool duplicate)
{
    if (duplicate) {
        MPI_Comm copy = MPI_COMM_NULL;
        const char *outer = ht__watch_guard(what);
        int result = MPI_Comm_dup(mpi, &copy);

        ht__watch_unguard(outer);
        if (ht__mpi_check(ht__comm_world_if_any(), result, what) != HT_SUCCESS)
            return NULL;
        mpi = copy;
    }

    static uint64_t ids;
    ht_comm *comm = ht__alloc(sizeof *comm);

    ht__object_init(comm, &comm_kind);
    comm->id = ++ids;
    remember(mpi, comm->id);
    comm->mpi = mpi;
    comm->handler = HT_ERRORS_ABORT;
    MPI_Comm_rank(mpi, &comm->rank);
    MPI_Comm_size(mpi, &comm->size);
    comm->shared = comm->size > 1 || ht__env_flag(HT_ENV_HT_DEBUG_ONE_AS_MANY);
    for (int i = 0; i < HT_PURPOSE_COUNT; i++)
        comm->purpose[i] = MPI_COMM_NULL;
    snprintf(comm->name, sizeof comm->name, "comm of %d", comm->size);

    const char *outer = ht__watch_guard(what);

    ht__topology_fill(comm);
    if (comm->size > 1)
        make_private(comm, HT_PURPOSE_POSTED, what); /* its first use must not wait */
    if (ht__compare_on && comm->size > 1) {
        make_private(comm, HT_PURPOSE_RECORDS, what);
        comm->notes = ht__notes->make();
    }
    ht__watch_unguard(outer);
    return comm;
}

void ht__comm_start(MPI_Comm from)
{
    MPI_Comm_rank(from, &ht__process.rank);
    MPI_Comm_size(from, &ht__process.size);
    world = ht__comm_new("ht_init", from, true);
    snprintf(world->name, sizeof world->name, "world");
    self = ht__comm_new("ht_init", MPI_COMM_SELF, true);
    snprintf(self->name, sizeof self->name, "self");
    self->shared = false;
    ht__object_stay(world, true);
    ht__object_stay(self, true);
    atomic_store(&in_use, ht_retain(world));
}

/* Objects that were not released may have it and be released after the next ht_init. */
static void end(ht_comm *comm)
{
    const int64_t own = comm == self ? 2 : 1;

    if (ht_live_objects(NULL) > own) {
        ht__object_fini(comm);
        return;
    }
    ht__object_stay(comm, false);
    ht_release(comm);
}

void ht__comm_end(void)
{
    ht_release(atomic_exchange(&in_use, NULL));
    ht__comm_release_parts(self);
    ht__comm_release_parts(world);
    end(self);
    end(world);
    self = world = NULL;
}

static void free_made(struct made **at)
{
    struct made *made = *at;

    *at = made->next;
    MPI_Comm_free(&made->mpi);
    ht__free(made);
}

void ht__comm_free(uint64_t id)
{
    struct made **at = &first_made;

    while (*at != NULL) {
        if ((*at)->of == id)
            free_made(at);
        else
            at = &(*at)->next;
    }
    last_made = at;
}

void ht__comm_free_all(void)
{
    while (first_made != NULL)
        free_made(&first_made);
    last_made = &first_made;
    ht__process.rank = 0;
    ht__process.size = 1;
}

ht_comm *ht__comm_world_if_any(void)
{
    return world;
}

static ht_comm *existing(ht_comm *comm, const char *what)
{
    if (comm == NULL)
        HT_FAIL(NULL, HT_ERR_STATE, "%s: the library is not initialised, call ht_init first", what);
    return comm;
}

ht_comm *ht_comm_world(void)
{
    return existing(world, "ht_comm_world");
}

ht_comm *ht_comm_self(void)
{
    return existing(self, "ht_comm_self");
}

ht_comm *ht__comm_in_use(const char *what)
{
    return existing(atomic_load(&in_use), what);
}

ht_comm *ht_get_comm(void)
{
    return ht__comm_in_use("ht_get_comm");
}

ht_status ht_use_comm(ht_comm *comm)
{
    if (comm == NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "ht_use_comm: comm is NULL");
    ht_release(atomic_exchange(&in_use, ht_retain(comm)));
    return HT_SUCCESS;
}

ht_comm *ht_comm_from_mpi(MPI_Comm comm)
{
    if (existing(world, "ht_comm_from_mpi") == NULL)
        return NULL;
    if (comm == MPI_COMM_NULL) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "ht_comm_from_mpi: comm is MPI_COMM_NULL");
        return NULL;
    }
    return ht__comm_new("ht_comm_from_mpi", comm, true);
}

int ht_comm_rank(const ht_comm *comm)
{
    return HT_IS_NULL(comm, "ht_comm_rank", "comm") ? -1 : comm->rank;
}

int ht_comm_size(const ht_comm *comm)
{
    return HT_IS_NULL(comm, "ht_comm_size", "comm") ? 0 : comm->size;
}

MPI_Comm ht_comm_mpi(const ht_comm *comm)
{
    return HT_IS_NULL(comm, "ht_comm_mpi", "comm") ? MPI_COMM_NULL : comm->mpi;
}

void ht_comm_chunk(const ht_comm *comm, int64_t length, int rank, int64_t *start, int64_t *count)
{
    int64_t each, more;

    if (HT_IS_NULL(comm, "ht_comm_chunk", "comm"))
        return;
    if (length < 0 || rank < 0 || rank >= comm->size) {
        HT_FAIL((ht_comm *)comm, HT_ERR_ARGUMENT,
                "ht_comm_chunk: length is %lld and rank is %d, expected a length of at least 0 and "
                "a rank from 0 to %d",
                (long long)length, rank, comm->size - 1);
        return;
    }
    each = length / comm->size;
    more = length % comm->size;
    if (start != NULL)
        *start = rank * each + (rank < more ? rank : more);
    if (count != NULL)
        *count = each + (rank < more);
}

ht_status ht_comm_counts_displs_shape(ht_comm *comm, int ndim, const int64_t shape[], int axis,
                                      int64_t counts[], int64_t displs[], int64_t output_shape[])
{
    static const char what[] = "ht_comm_counts_displs_shape";
    int64_t mine;

    if (!ht__check_comm(what, comm))
        return ht_error_get(NULL);
    if (ndim < 1 || ndim > HT_MAX_NDIM || shape == NULL)
        return HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: ndim is %s, expected 1 to %d and a shape", what,
                       ht__int_str(ndim), HT_MAX_NDIM);
    if (axis < -ndim || axis >= ndim)
        return HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: axis is %s, expected -%d to %d", what,
                       ht__int_str(axis), ndim, ndim - 1);
    axis += axis < 0 ? ndim : 0;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0)
            return HT_FAIL(comm, HT_ERR_SHAPE, "%s: shape is %s, expected lengths of at least 0",
                           what, ht__shape_str(ndim, shape));
    }
    for (int r = 0; r < comm->size; r++)
        ht_comm_chunk(comm, shape[axis], r, displs != NULL ? &displs[r] : NULL,
                      counts != NULL ? &counts[r] : NULL);
    ht_comm_chunk(comm, shape[axis], comm->rank, NULL, &mine);
    for (int i = 0; output_shape != NULL && i < ndim; i++)
        output_shape[i] = i == axis ? mine * comm->size : shape[i];
    return HT_SUCCESS;
}

MPI_Comm ht__comm_private(ht_comm *comm, ht_purpose purpose)
{
    static const char what[] = "private communicator";
    MPI_Comm *copy = &comm->purpose[purpose];

    if (*copy != MPI_COMM_NULL)
        return *copy;
    if (ht__compare_on && comm->size > 1 && purpose < HT_PURPOSE_RECORDS) {
        ht__begin(comm, (ht_call){.what = what, .count = (int64_t)purpose});
        ht__comm_private(comm, HT_PURPOSE_RECORDS + purpose);
    }
    make_private(comm, purpose, what);
    return *copy;
}

ht_status ht_comm_set_errhandler(ht_comm *comm, ht_errhandler handler)
{
    int64_t extremes[2] = {handler, -(int64_t)handler};

    if (!ht__check_comm("ht_comm_set_errhandler", comm))
        return ht_error_get(NULL);

    ht_status status = ht__comm_allreduce_i64(comm, extremes, 2, HT_OP_MAX,
                                              "ht_comm_set_errhandler");

    if (status != HT_SUCCESS)
        return status;
    if (extremes[0] != -extremes[1])
        return HT_FAIL(comm, HT_ERR_ARGUMENT,
                       "ht_comm_set_errhandler: the ranks pass different handlers");
    if (handler != HT_ERRORS_ABORT && handler != HT_ERRORS_RETURN)
        return HT_FAIL(comm, HT_ERR_ARGUMENT,
                       "ht_comm_set_errhandler: handler is %d, expected an ht_errhandler",
                       (int)handler);
    comm->handler = handler;
    return HT_SUCCESS;
}

bool ht__check_comm(const char *what, const ht_comm *comm)
{
    if (ht__alive(comm, what, "comm") != NULL)
        return true;
    HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: comm is NULL", what);
    return false;
}

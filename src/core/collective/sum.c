/* SPDX-License-Identifier: MIT
 *
 * Partial sums of the ranks, added in the order of the ranks. The tree of additions of an element
 * depends only on the number of ranks, never on the number of elements or their place.
 *
 * A few elements are gathered by all, and each rank adds them itself. If there are more, each rank
 * adds its share of them, which takes two rounds of blocks between all ranks. Memory and traffic
 * are those of the elements once, not once per rank. */

#include <math.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

enum {
    BLOCK = 256,          /* numbers added up at a time: they stay in the first cache */
    GATHERED = 16 * 1024, /* bytes from all ranks up to which each rank adds all of them */
    ROUND = 256 * 1024,   /* numbers of one round: int counts them, and memory is bounded */
};

#define T               uint64_t
#define ACC             uint64_t
#define NAME(x)         x##_i64
#define OVER(sum, over) (sum)
#include "core/collective/call.h"
#include "core/collective/sum.inc.c"
#undef T
#undef ACC
#undef NAME
#undef OVER

#define OVER(sum, over) ((sum) / (over))
#define T               float
#define ACC             double
#define NAME(x)         x##_f32
#include "core/collective/sum.inc.c"
#undef T
#undef NAME

#define T       double
#define NAME(x) x##_f64
#include "core/collective/sum.inc.c"
#undef T
#undef ACC
#undef NAME
#undef OVER

#define PARTS   1
#define NAME(x) x##_real
#include "core/collective/moments.inc.c"
#undef PARTS
#undef NAME

#define PARTS   2
#define NAME(x) x##_complex
#include "core/collective/moments.inc.c"
#undef PARTS
#undef NAME

/* The terms; a complex number counts as two. */
typedef struct numbers {
    int unit; /* this many stay in sequence */
    size_t bytes;
    MPI_Datatype type;
    void (*total)(void *y, const void *pieces, int64_t n, int first, int count, int step,
                  double divisor);
    void (*running)(void *pieces, int64_t n, int first, int count, int step);
} numbers;

static numbers numbers_of(ht_dtype dtype)
{
    numbers of = {1, sizeof(double), MPI_DOUBLE, total_f64, running_f64};

    if (dtype == HT_INT64)
        of = (numbers){1, sizeof(int64_t), MPI_INT64_T, total_i64, running_i64};
    else if (dtype == HT_FLOAT32 || dtype == HT_COMPLEX64)
        of = (numbers){1, sizeof(float), MPI_FLOAT, total_f32, running_f32};
    return of;
}

typedef struct job {
    ht_comm *comm;
    numbers of;
    ht_sum_of which;
    double divisor;
    const char *what;
} job;

/* The ranks whose parts make up rank r's result: a number of them from `first` on, up or down. */
static int first_of(const job *j)
{
    return j->which == HT_SUM_AFTER ? j->comm->size - 1 : 0;
}

static int step_of(const job *j)
{
    return j->which == HT_SUM_AFTER ? -1 : 1;
}

static int count_of(const job *j)
{
    return j->which == HT_SUM_ALL      ? j->comm->size
           : j->which == HT_SUM_BEFORE ? j->comm->rank
                                       : j->comm->size - 1 - j->comm->rank;
}

static ht_status by_gathering(const job *j, void *data, int n)
{
    void *pieces = ht__alloc((size_t)j->comm->size * (size_t)n * j->of.bytes);
    MPI_Request request;
    ht_status status = ht__wait_posted(
        j->comm, MPI_Iallgather(data, n, j->of.type, pieces, n, j->of.type, j->comm->mpi, &request),
        &request, j->what);

    if (status == HT_SUCCESS)
        j->of.total(data, pieces, n, first_of(j), count_of(j), step_of(j), j->divisor);
    ht__free(pieces);
    return status;
}

/* Shares of n numbers, and what this rank receives of them: a piece of its own share per rank. */
typedef struct shares {
    int *counts, *starts, *piece_counts, *piece_starts; /* one memory */
    int mine;
} shares;

static void fill_shares(const job *j, shares *s, int64_t n)
{
    for (int r = 0; r < j->comm->size; r++) {
        int64_t start, count;

        ht_comm_chunk(j->comm, n / j->of.unit, r, &start, &count);
        s->starts[r] = (int)start * j->of.unit;
        s->counts[r] = (int)count * j->of.unit;
    }
    s->mine = s->counts[j->comm->rank];
    for (int r = 0; r < j->comm->size; r++) {
        s->piece_counts[r] = s->mine;
        s->piece_starts[r] = r * s->mine;
    }
}

static ht_status round_of(const job *j, const shares *s, char *data, char *pieces)
{
    char *own = data + (size_t)s->starts[j->comm->rank] * j->of.bytes;
    MPI_Request request;
    ht_status status = ht__wait_posted(j->comm,
                                       MPI_Ialltoallv(data, s->counts, s->starts, j->of.type,
                                                      pieces, s->piece_counts, s->piece_starts,
                                                      j->of.type, j->comm->mpi, &request),
                                       &request, j->what);

    if (status != HT_SUCCESS)
        return status;
    if (j->which == HT_SUM_ALL) {
        j->of.total(own, pieces, s->mine, 0, j->comm->size, 1, j->divisor);
        return ht__wait_posted(j->comm,
                               MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, s->counts,
                                               s->starts, j->of.type, j->comm->mpi, &request),
                               &request, j->what);
    }
    j->of.running(pieces, s->mine, first_of(j), j->comm->size, step_of(j));
    return ht__wait_posted(j->comm,
                           MPI_Ialltoallv(pieces, s->piece_counts, s->piece_starts, j->of.type,
                                          data, s->counts, s->starts, j->of.type, j->comm->mpi,
                                          &request),
                           &request, j->what);
}

static ht_status by_shares(const job *j, char *data, int64_t n)
{
    const int64_t most = ROUND / j->of.unit * j->of.unit, round = n < most ? n : most;
    const int64_t room = round + (int64_t)j->comm->size * j->of.unit;
    int *memory = ht__alloc(4 * (size_t)j->comm->size * sizeof *memory);
    shares s = {memory, memory + j->comm->size, memory + 2 * j->comm->size,
                memory + 3 * j->comm->size, 0};
    ht_storage *pieces = ht__storage_new(ht__device_cpu(), (size_t)room * j->of.bytes);
    ht_status status = HT_SUCCESS;

    if (pieces == NULL)
        status = HT_FAIL_HERE(j->comm, HT_ERR_MEMORY,
                              "%s: out of memory: %zu bytes for partial sums", j->what,
                              (size_t)room * j->of.bytes);
    for (int64_t done = 0; done < n && status == HT_SUCCESS; done += round) {
        fill_shares(j, &s, n - done < round ? n - done : round);
        status = round_of(j, &s, data + (size_t)done * j->of.bytes, ht__storage_raw(pieces));
    }
    ht_release(pieces);
    ht__free(memory);
    return status;
}

static ht_status run(const job *j, ht_tensor *x, int64_t n)
{
    ht_buffer buffer;
    ht_status status;

    ht__begin(j->comm, (ht_call){.what = j->what,
                                 .op = HT_OP_SUM,
                                 .dtype = x->body->dtype,
                                 .count = x->body->lsize,
                                 .ndim = x->body->ndim,
                                 .lshape = x->body->lshape});
    status = ht__buffer_open(j->what, &buffer, x, true, true);
    if (status == HT_SUCCESS && n > 0)
        status = (size_t)n * j->of.bytes * (size_t)j->comm->size <= GATHERED
                     ? by_gathering(j, buffer.data, (int)n)
                     : by_shares(j, buffer.data, n);
    ht__buffer_close(j->what, &buffer, status == HT_SUCCESS);
    return status;
}

ht_status ht__comm_sum(ht_comm *comm, ht_tensor *x, ht_sum_of which, double divisor,
                       const char *what)
{
    const job j = {comm, numbers_of(x->body->dtype), which, divisor, what};

    return run(&j, x, x->body->lsize * (ht_dtype_is_complex(x->body->dtype) ? 2 : 1));
}

ht_status ht__comm_moments(ht_comm *comm, ht_tensor *records, bool is_complex, double divisor,
                           const char *what)
{
    const job j = {comm,
                   {ht__moments_record(is_complex), sizeof(double), MPI_DOUBLE,
                    is_complex ? merge_complex : merge_real, NULL},
                   HT_SUM_ALL,
                   divisor,
                   what};

    return run(&j, records, records->body->lsize);
}

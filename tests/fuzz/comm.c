/* SPDX-License-Identifier: MIT
 *
 * Random sequences of communication: values of each rank from a seed, so that every rank knows what
 * all have. Misuse comes from all ranks or one, must end in the same way on all, and leaves later
 * calls right. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"

enum {
    ALLREDUCE,
    REDUCE,
    SCAN,
    EXSCAN,
    BCAST,
    ALLGATHER,
    GATHER,
    SCATTER,
    REDUCE_SCATTER,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    RING,
    FROM_LOCAL,
    DRAW,
    CALLS
};
static const char *const names[] = {"allreduce",      "reduce",     "scan",      "exscan",
                                    "bcast",          "allgather",  "gather",    "scatter",
                                    "reduce_scatter", "alltoall",   "alltoallv", "alltoallw",
                                    "ring",           "from_local", "draw"};
enum { RIGHT, OTHER_DTYPE, NO_TARGET, READ_ONLY, OTHER_LENGTH, NO_ROOT, ALIASED, MISUSES };

struct call {
    int what, misuse, root, op;
    int odd;    /* the rank that misuses it; -1: all */
    bool waits; /* the non-blocking form */
    bool strided;
    ht_dtype dtype;
    int64_t rows; /* of each rank; its columns are 2 */
    uint64_t seed;
};

static char failure[512];
static ht_comm *comm;
static int rank, size;

static void complain(const struct call *call, const char *text)
{
    if (failure[0] == '\0')
        snprintf(failure, sizeof failure,
                 "%s of %lld x 2 %s, root %d, op %d, misuse %d by rank %d%s%s, seed %llx: %s",
                 names[call->what], (long long)call->rows, ht_dtype_name(call->dtype), call->root,
                 call->op, call->misuse, call->odd, call->waits ? ", non-blocking" : "",
                 call->strided ? ", strided" : "", (unsigned long long)call->seed, text);
}

static double value(const struct call *call, int of, int64_t index)
{
    int64_t small = (int64_t)(hash_of(call->seed + (uint64_t)of, (uint64_t)index) % 5);

    return call->dtype == HT_BOOL ? (double)(small % 2) : (double)small;
}

/* (rows, 2) of this rank, or zeros; strided: the transpose of a (2, rows) one. */
static ht_tensor *buffer(const struct call *call, int64_t rows, bool filled, int64_t skip)
{
    int64_t shape[] = {rows, 2}, turned[] = {2, rows};
    char *bytes = calloc((size_t)(rows * 2 + 1), 16);
    ht_tensor *x;

    for (int64_t i = 0; filled && i < rows * 2; i++) {
        int64_t at = call->strided ? i % 2 * rows + i / 2 : i;

        store(call->dtype, bytes + (size_t)at * ht_dtype_size(call->dtype),
              convert(number_real(HT_FLOAT64, value(call, rank, skip * 2 + i)), HT_FLOAT64,
                      call->dtype));
    }
    x = ht_array(bytes, 2, call->strided ? turned : shape, call->dtype, HT_LOCAL);
    free(bytes);
    return call->strided ? ht_transpose(x, 0, 1) : x;
}

static double reduced(const struct call *call, int from, int to, int64_t index)
{
    double r = value(call, from, index);

    for (int of = from + 1; of <= to; of++) {
        double x = value(call, of, index);

        switch (call->op) {
        case HT_OP_SUM:
            r += x;
            break;
        case HT_OP_PROD:
            r *= x;
            break;
        case HT_OP_MIN:
            r = fmin(r, x);
            break;
        case HT_OP_MAX:
            r = fmax(r, x);
            break;
        case HT_OP_AND:
            r = r != 0 && x != 0;
            break;
        default:
            r = r != 0 || x != 0;
        }
    }
    if (call->op == HT_OP_AND || call->op == HT_OP_OR)
        return r != 0;
    return kind_of(call->dtype) == KIND_INT ? (double)wrap_to(call->dtype, (int64_t)r) : r;
}

/* The final value of element `index` of the target; NAN: not checked. */
static double expected(const struct call *call, int64_t index)
{
    int64_t part = call->rows * 2, block;

    switch (call->what) {
    case ALLREDUCE:
        return reduced(call, 0, size - 1, index);
    case REDUCE:
        return rank == call->root ? reduced(call, 0, size - 1, index) : (double)NAN;
    case SCAN:
        return reduced(call, 0, rank, index);
    case EXSCAN:
        return rank > 0 ? reduced(call, 0, rank - 1, index) : (double)NAN;
    case BCAST:
        return value(call, call->root, index);
    case ALLGATHER:
        return part > 0 ? value(call, (int)(index / part), index % part) : (double)NAN;
    case GATHER:
        return rank == call->root && part > 0 ? value(call, (int)(index / part), index % part)
                                              : (double)NAN;
    case SCATTER:
        return value(call, call->root, rank * part + index);
    case REDUCE_SCATTER:
        return reduced(call, 0, size - 1, rank * part + index);
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW:
        block = part;
        return value(call, (int)(index / block), rank * block + index % block);
    default:
        return value(call, (rank + size - 1) % size, index);
    }
}

static int64_t wide(const struct call *call)
{
    return call->rows * size;
}

/* Pieces of both, from each rank to each other. */
static ht_status exchange(const struct call *call, ht_tensor *send, ht_tensor *recv)
{
    ht_tensor **out = calloc((size_t)size * 2, sizeof *out), **in = out + size;
    ht_status status;

    for (int r = 0; r < size && recv != NULL; r++) {
        out[r] = ht_narrow(send, 0, r * call->rows, (r + 1) * call->rows);
        in[r] = ht_narrow(recv, 0, r * call->rows, (r + 1) * call->rows);
    }
    status = ht_alltoallw(comm, out, recv != NULL ? in : NULL);
    free(out);
    return status;
}

/* In each of four manners; a ready one once the receive has begun everywhere. */
static ht_status pass_on(const struct call *call, ht_tensor *send, ht_tensor *recv)
{
    typedef ht_request *send_fn(ht_comm *, ht_tensor *, int, int);
    static send_fn *const sends[] = {ht_isend, ht_issend, ht_ibsend, ht_irsend};
    ht_request *requests[2];

    requests[0] = ht_irecv(comm, recv, (rank + size - 1) % size, 3);
    ht_barrier(comm);
    requests[1] = sends[call->seed % 4](comm, send, (rank + 1) % size, 3);
    return ht_wait_all(2, requests);
}

/* NULL: there is none that does not wait. */
static ht_request *post_waitless(const struct call *call, const int64_t counts[], ht_tensor *send,
                                 ht_tensor *recv)
{
    ht_reduce_op op = (ht_reduce_op)call->op;
    bool counted = call->seed % 2 == 0;

    switch (call->what) {
    case ALLREDUCE:
        return ht_iallreduce(comm, send, recv, op);
    case REDUCE:
        return ht_ireduce(comm, send, recv, op, call->root);
    case SCAN:
        return ht_iscan(comm, send, recv, op);
    case EXSCAN:
        return ht_iexscan(comm, send, recv, op);
    case BCAST:
        return ht_ibcast(comm, recv, call->root);
    case ALLGATHER:
        return counted ? ht_iallgatherv(comm, send, recv, counts) : ht_iallgather(comm, send, recv);
    case GATHER:
        return counted ? ht_igatherv(comm, send, recv, counts, call->root)
                       : ht_igather(comm, send, recv, call->root);
    case SCATTER:
        return counted ? ht_iscatterv(comm, send, recv, counts, call->root)
                       : ht_iscatter(comm, send, recv, call->root);
    case ALLTOALL:
        return ht_ialltoall(comm, send, recv);
    default:
        return ht_ialltoallv(comm, send, counts, recv, counts);
    }
}

static ht_status post_waiting(const struct call *call, const int64_t counts[], ht_tensor *send,
                              ht_tensor *recv)
{
    ht_reduce_op op = (ht_reduce_op)call->op;

    switch (call->what) {
    case ALLREDUCE:
        return ht_allreduce(comm, send, recv, op);
    case REDUCE:
        return ht_reduce(comm, send, recv, op, call->root);
    case SCAN:
        return ht_scan(comm, send, recv, op);
    case EXSCAN:
        return ht_exscan(comm, send, recv, op);
    case BCAST:
        return ht_bcast(comm, recv, call->root);
    case ALLGATHER:
        return ht_allgather(comm, send, recv);
    case GATHER:
        return ht_gather(comm, send, recv, call->root);
    case SCATTER:
        return ht_scatter(comm, send, recv, call->root);
    case REDUCE_SCATTER:
        return ht_reduce_scatter(comm, send, recv, op);
    case ALLTOALL:
        return ht_alltoall(comm, send, recv);
    case ALLTOALLV:
        return ht_alltoallv(comm, send, counts, recv, counts);
    case ALLTOALLW:
        return exchange(call, send, recv);
    default:
        return pass_on(call, send, recv);
    }
}

static ht_status post(const struct call *call, ht_tensor *send, ht_tensor *recv)
{
    bool waits = !call->waits || call->what == REDUCE_SCATTER || call->what >= ALLTOALLW;
    int64_t *counts = calloc((size_t)size, sizeof *counts);
    ht_request *request = NULL;
    ht_status status;

    for (int r = 0; r < size; r++)
        counts[r] = call->rows;
    if (!waits)
        request = post_waitless(call, counts, send, recv);
    status = waits ? post_waiting(call, counts, send, recv) : ht_wait(&request);
    free(counts);
    return status;
}

static void check_result(const struct call *call, ht_tensor *found)
{
    ht_tensor *recv = on_host(found);
    const int64_t *stride = ht_tensor_stride(recv);
    size_t width = ht_dtype_size(call->dtype);

    for (int64_t i = 0; i < ht_tensor_size(recv); i++) {
        int64_t at = i / 2 * stride[0] + i % 2 * stride[1];
        double right = expected(call, i);
        struct number a = convert(number_real(HT_FLOAT64, right), HT_FLOAT64, call->dtype);
        char text[120];

        if (isnan(right) ||
            matches(call->dtype, (const char *)ht_tensor_data(recv) + at * (int64_t)width, a))
            continue;
        snprintf(text, sizeof text, "element %lld on rank %d is not %g", (long long)i, rank, right);
        complain(call, text);
        return;
    }
}

/* Draws on a part of the ranks leave the world's draws alone. */
static void draw(const struct call *call)
{
    int64_t length = call->rows + 1;
    ht_tensor *x;
    double sum, least, most;

    if (rank == call->root) {
        ht_use_comm(HT_COMM_SELF);
        ht_rand(1, &length, HT_FLOAT64, HT_NONE);
        ht_use_comm(HT_COMM_WORLD);
    }
    x = ht_rand(1, &length, HT_FLOAT64, HT_NONE);
    sum = x != NULL ? ((const double *)ht_tensor_data(on_host(x)))[0] : 0;
    MPI_Allreduce(&sum, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&sum, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (least != most)
        complain(call, "ranks have drawn different numbers");
}

/* Parts of all ranks' rows; what one rank has wrongly is an error on all. */
static void from_local(const struct call *call)
{
    bool odd = call->misuse != RIGHT && (call->odd < 0 || call->odd == rank);
    int64_t mine = (int64_t)(hash_of(call->seed, (uint64_t)rank) % 4), all = 0;
    int64_t shape[] = {mine, 2 + (odd && call->misuse == OTHER_LENGTH)};
    bool alike = call->odd < 0 || size == 1, fails;
    char bytes[16 * 3 * 16] = {0};
    ht_dtype dtype = call->dtype;
    ht_tensor *x;
    int status[2], most[2];

    if (odd && call->misuse == OTHER_DTYPE)
        dtype = call->dtype == HT_INT16 ? HT_FLOAT64 : HT_INT16;
    if (odd && call->misuse == NO_TARGET)
        dtype = HT_DTYPE_COUNT;
    fails = call->misuse == NO_TARGET || call->misuse == NO_ROOT ||
            (!alike && (call->misuse == OTHER_DTYPE || call->misuse == OTHER_LENGTH));
    x = ht_array_from_local_ext(bytes, odd && call->misuse == NO_ROOT ? -1 : 2, shape, dtype, 0,
                                ht_get_device(), comm);
    status[0] = x == NULL ? (int)ht_error_get(NULL) : HT_SUCCESS;
    status[1] = -status[0];
    ht_error_clear();
    MPI_Allreduce(status, most, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (most[0] != -most[1])
        complain(call, "statuses differ between ranks");
    else if ((status[0] != 0) != fails)
        complain(call, fails ? "succeeded" : "failed");
    else if (!fails && (ht_tensor_shape(x)[0] != all || ht_tensor_dtype(x) != dtype))
        complain(call, "it has other rows or another dtype");
}

static void run_call(const struct call *call)
{
    bool all_to_all = call->what >= ALLTOALL && call->what <= ALLTOALLW;
    bool gathers = call->what == ALLGATHER || call->what == GATHER || all_to_all;
    bool deals = call->what == SCATTER || call->what == REDUCE_SCATTER || all_to_all;
    ht_tensor *send = buffer(call, deals ? wide(call) : call->rows, true, 0);
    ht_tensor *recv = buffer(call, gathers ? wide(call) : call->rows,
                             call->what == BCAST && rank == call->root, 0);
    ht_tensor *target = recv;
    int status[2], most[2], misuse = call->misuse;
    struct call passed = *call;

    if (call->odd >= 0 && call->odd != rank)
        misuse = RIGHT;
    if (misuse == OTHER_LENGTH)
        target = buffer(call, ht_tensor_shape(recv)[0] + 1, false, 0);
    if (misuse == NO_ROOT)
        passed.root = size;
    if (misuse == OTHER_DTYPE)
        target = ht_astype(recv, call->dtype == HT_INT16 ? HT_FLOAT64 : HT_INT16);
    if (misuse == NO_TARGET)
        target = NULL;
    if (misuse == READ_ONLY) {
        int64_t shape[] = {3, ht_tensor_shape(recv)[0], 2};

        target = ht_broadcast_to(recv, 3, shape);
    }
    if (misuse == ALIASED)
        target = ht_detach(send);
    status[0] = (int)post(&passed, send, target);
    status[1] = -status[0];
    ht_error_clear();
    MPI_Allreduce(status, most, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (most[0] != -most[1])
        complain(call, "statuses differ between ranks");
    else if (status[0] != 0 && call->misuse == RIGHT)
        complain(call, "failed");
    else if (status[0] == 0 && call->misuse == RIGHT)
        check_result(call, recv);
}

static void check_sum(const struct call *call)
{
    double five = 5;
    ht_tensor *x = ht_array(&five, 0, NULL, HT_FLOAT64, HT_LOCAL);

    if (ht_allreduce(comm, x, x, HT_OP_SUM) != HT_SUCCESS ||
        *(const double *)ht_tensor_data(on_host(x)) != 5.0 * size)
        complain(call, "after it, a sum of fives is wrong");
}

static struct call random_call(struct random *random)
{
    struct call call = {.what = (int)random_below(random, CALLS),
                        .root = (int)random_below(random, size),
                        .dtype = (ht_dtype)random_below(random, HT_DTYPE_COUNT),
                        .op = (int)random_below(random, 6),
                        .rows = random_below(random, 4),
                        .waits = random_chance(random, 30),
                        .strided = random_chance(random, 30),
                        .seed = random_next(random)};

    if (call.dtype >= HT_FLOAT16 && call.op >= HT_OP_AND)
        call.op = HT_OP_SUM;
    if (call.dtype == HT_BOOL && call.op <= HT_OP_PROD)
        call.op = HT_OP_OR;
    if (kind_of(call.dtype) == KIND_COMPLEX)
        call.op = HT_OP_SUM;
    if (random_chance(random, 20) && (call.what <= ALLTOALLW || call.what == FROM_LOCAL))
        call.misuse = (int)random_below(random, MISUSES);
    call.odd = random_chance(random, 30) || call.misuse == ALIASED
                   ? -1
                   : (int)random_below(random, size);
    if (call.misuse > READ_ONLY || (call.what == BCAST && call.misuse != NO_TARGET))
        call.waits = false; /* what ranks have otherwise ends the job there */
    if (call.misuse == OTHER_DTYPE && call.what == SCATTER) /* what it has, too, is a part's */
        call.waits = false;
    if (call.what == ALLTOALLW && call.misuse != NO_TARGET)
        call.misuse = RIGHT;
    if (call.misuse == ALIASED && call.what != ALLREDUCE)
        call.misuse = RIGHT;
    if (call.rows == 0 && call.what >= ALLTOALL && call.what <= ALLTOALLW)
        call.rows = 1;
    return call;
}

bool family_comm(uint64_t seed, bool trace)
{
    struct random random = {hash_of(seed, 4242)};
    int failed = 0;

    comm = HT_COMM_WORLD;
    rank = ht_comm_rank(comm);
    size = ht_comm_size(comm);
    failure[0] = '\0';
    for (int i = 0; i < 12 && !failed; i++) {
        struct call call = random_call(&random);
        ht_scope *scope = ht_scope_open();

        if (trace && rank == 0)
            fprintf(stderr, "  %s, misuse %d, seed %llx\n", names[call.what], call.misuse,
                    (unsigned long long)call.seed);
        if (call.what == DRAW)
            draw(&call);
        else if (call.what == FROM_LOCAL)
            from_local(&call);
        else
            run_call(&call);
        failed = failure[0] != '\0';
        MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (!failed)
            check_sum(&call);
        failed = failure[0] != '\0';
        MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        ht_scope_close(scope);
    }
    if (failed) {
        int first = failure[0] != '\0' ? rank : size;

        MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        if (first == rank)
            fprintf(stderr, "fuzz: comm, seed %llu, %d ranks: %s\n", (unsigned long long)seed, size,
                    failure);
    }
    return !failed;
}

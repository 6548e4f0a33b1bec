/* SPDX-License-Identifier: MIT */
/* One MPI job for scripts of tests: what a program does before ht_init, how jobs end, how long
 * messages take. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/exchange/exchange.h"
#include "ht/factories.h"
#include "ht/manipulations.h"
#include "ht/signals.h"

/* For tests/core/jobs.sh, which stops this rank, or continues it. */
static void print_pid(void)
{
    ht_stop_signals_catch();
    printf("%d\n", (int)getpid());
    fflush(stdout);
}

/* By the script, or by the launcher when it ends the job. */
static void wait_until_asked(void)
{
    while (ht_stop_signal() == 0)
        usleep(1000);
}

static void never_come(void)
{
    for (;;)
        pause();
}

/* Something of each kind that a program would do. Returns the exit code. */
static int use_library(MPI_Comm expected)
{
    int size;
    int64_t ranks = 1;

    MPI_Comm_size(expected, &size);
    if (ht_comm_size(HT_COMM_WORLD) != size)
        return 3;
    ht__comm_allreduce_i64(HT_COMM_WORLD, &ranks, 1, HT_OP_SUM, "job");
    if (ranks != size || ht_barrier(HT_COMM_WORLD) != HT_SUCCESS)
        return 4;
    return ht_finalize();
}

/* Rank 1 starts MPI and does something else. */
static int without_one(void)
{
    int rank, level;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1)
        never_come();
    ht_init(NULL, NULL);
    return 9;
}

static bool mpi_is_alive(void)
{
    int finalized;

    MPI_Finalized(&finalized);
    return !finalized;
}

/* The program starts MPI at the given level; libht must leave it running. */
static int with_level(int level)
{
    int provided, code;

    MPI_Init_thread(NULL, NULL, level, &provided);
    if (ht_init(NULL, NULL) != HT_SUCCESS)
        return 2;
    code = use_library(MPI_COMM_WORLD);
    if (code != 0 || !mpi_is_alive())
        return 5;
    if (ht_init(NULL, NULL) != HT_SUCCESS) /* and can start again */
        return 6;
    code = use_library(MPI_COMM_WORLD);
    MPI_Finalize();
    return code;
}

static int on_half(void)
{
    int rank, code = 0;
    MPI_Comm half;

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    if (rank % 2 == 0 && ht_init_comm(half) == HT_SUCCESS)
        code = use_library(half);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return code;
}

static int by_itself(void)
{
    ht_init(NULL, NULL);
    ht_init(NULL, NULL);
    if (ht_finalize() != 0 || !ht_is_initialized())
        return 7;

    int code = use_library(MPI_COMM_WORLD);

    return code == 0 && !ht_is_initialized() && !mpi_is_alive() ? 0 : 8;
}

/* Every kind of allocation of the communication layer, for a rank on which one of them fails. */
static int allocate(void)
{
    enum { ROWS = 3, COLUMNS = 5 };
    ht_scope *scope = ht_scope_open();
    ht_comm *world = HT_COMM_WORLD, *part = ht_comm_split(world, ht_comm_rank(world) % 2, 0);
    ht_tensor *x = ht_ones(HT_SHAPE(ROWS, COLUMNS), HT_FLOAT32, 0);
    ht_tensor *y = ht_resplit(ht_transpose(x, 0, 1), 0);
    ht_exchange *exchange = ht__exchange_get(world, HT_PURPOSE_REDUCER);
    float *shared = ht__exchange_memory(exchange, 4000), plain[1000] = {0}, large[4000] = {0};
    ht_exchange_op *one = ht__exchange_start(exchange, shared, 1000, HT_FLOAT32, 1, 0);
    ht_exchange_op *two = ht__exchange_start(exchange, plain, 1000, HT_FLOAT32, 1, 0);
    ht_exchange_op *three = ht__exchange_all_gather(exchange, large, 4000, HT_FLOAT32, 0);

    ht_tensor *local = ht_transpose(ht_tensor_local(ht_resplit(y, HT_NONE)), 0, 1);

    ht_allreduce(world, local, local, HT_OP_SUM);
    ht__exchange_release(exchange, one);
    ht__exchange_release(exchange, two);
    ht__exchange_release(exchange, three);
    ht_release(part);
    ht_scope_close(scope);
    return ht_finalize();
}

/* Messages from rank 0 to rank 1 and back, which must take at least `least` seconds in all. */
static int round_trips(int count, double least)
{
    double seconds = MPI_Wtime();

    for (int i = 0; i < 2 * count; i++)
        ht__comm_bcast_bytes(HT_COMM_WORLD, &(char){0}, 1, i % 2, "job");
    seconds = MPI_Wtime() - seconds;
    if (ht_comm_rank(HT_COMM_WORLD) == 0)
        printf("%d round trips: %g s\n", count, seconds);
    if (ht_comm_rank(HT_COMM_WORLD) == 0 && seconds < least)
        return 11;
    return ht_finalize();
}

static void fail(const char *how)
{
    ht_comm *world = HT_COMM_WORLD;
    int rank = ht_comm_rank(world);

    if (strcmp(how, "alike") == 0)
        HT_FAIL(world, HT_ERR_SHAPE, "ht_job: the same everywhere");
    if (strcmp(how, "returning") == 0)
        ht_comm_set_errhandler(world, HT_ERRORS_RETURN); /* which does not hold for one rank */
    if ((strcmp(how, "alone") == 0 || strcmp(how, "returning") == 0) && rank == 1)
        HT_FAIL_HERE(world, HT_ERR_MEMORY, "ht_job: out of memory");
    if (strcmp(how, "late") == 0) {
        if (rank == 0) { /* fails when the others have spoken */
            ht_stop_signals_catch();
            wait_until_asked();
        }
        HT_FAIL(world, HT_ERR_SHAPE, "ht_job: the same everywhere");
    }
    if (strcmp(how, "differently") == 0)
        HT_FAIL_HERE(world, HT_ERR_SHAPE, "ht_job: half %d", rank / 2);
    if (strcmp(how, "agreed") == 0)
        ht__agree("ht_job", world,
                  rank != 1 ? HT_SUCCESS : ht__error_set(HT_ERR_IO, "ht_job: no such file"));
    if (strcmp(how, "absent") == 0 && rank == 1)
        never_come();
    if (strcmp(how, "stopped") == 0 && rank == 1)
        raise(SIGSTOP);
    if (strcmp(how, "endless") == 0 && rank == 1) {
        for (volatile int on = 1; on;)
            continue;
    }
    if (strcmp(how, "slow") == 0 && rank == 1) {
        ht__watch_at("ht_job");
        print_pid();
        wait_until_asked();
    }
    if (strcmp(how, "behind") == 0) { /* a root does not wait, and rank 1 listens elsewhere */
        ht_comm *other = ht_comm_from_mpi(MPI_COMM_WORLD);

        for (int i = 0; i < 2; i++)
            ht__comm_bcast_bytes(rank == 1 ? other : world, &rank, sizeof rank, 0, "ht_bcast");
    }
    if (strcmp(how, "early") == 0 && rank == 1)
        exit(ht_finalize());
    if (strcmp(how, "unread") == 0) { /* too long for MPI to return before it is received */
        if (rank == 1)
            ht_bsend(world, ht_zeros(HT_SHAPE(1 << 20), HT_FLOAT32, HT_LOCAL), 0, 3);
        exit(ht_finalize());
    }
    if (strcmp(how, "setup") == 0 && rank != 1)
        ht_comm_split(world, 0, 0);
    if (strcmp(how, "setup") == 0)
        never_come();
    if (strcmp(how, "memory") == 0) {
        ht_exchange *exchange = ht__exchange_get(world, HT_PURPOSE_REDUCER);

        if (rank != 1)
            ht__exchange_memory(exchange, 1000);
        never_come();
    }
    if (strcmp(how, "exchange") == 0) {
        ht_exchange *exchange = ht__exchange_get(world, HT_PURPOSE_REDUCER);
        float data[1000] = {0};

        ht__exchange_release(
            exchange, ht__exchange_start(exchange, data, rank == 1 ? 900 : 1000, HT_FLOAT32, 1, 0));
    }
    if (strcmp(how, "away") == 0) {
        ht_tensor *x = ht_ones(HT_SHAPE(3), HT_FLOAT32, HT_NONE);

        ht_comm_set_errhandler(world, HT_ERRORS_RETURN); /* which has no address either */
        ht__storage_put_away(x->body->storage, "fc1.weight");
        ht_fill_(x, 2);
    }
    if (strcmp(how, "different") == 0) {
        ht_comm *other = ht_comm_from_mpi(MPI_COMM_WORLD);
        int64_t one = 1;

        if (rank == 1)
            ht__comm_allreduce_i64(other, &one, 1, HT_OP_SUM, "ht_job");
    }
    ht_barrier(world);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "level") == 0)
        return with_level(atoi(argv[2]));
    if (strcmp(what, "half") == 0)
        return on_half();
    if (strcmp(what, "itself") == 0)
        return by_itself();
    if (strcmp(what, "uninvited") == 0)
        return without_one();
    if (strcmp(what, "unborn") == 0 && getenv("OMPI_COMM_WORLD_RANK") != NULL &&
        atoi(getenv("OMPI_COMM_WORLD_RANK")) == 1)
        raise(SIGSTOP);
    if (strcmp(what, "uninitialised") == 0)
        return ht_comm_size(HT_COMM_WORLD);
    if (strcmp(what, "unmade") == 0)
        return ht_zeros(0, NULL, HT_FLOAT32, HT_NONE) != NULL;
    ht_init(&argc, &argv);
    if (strcmp(what, "topology") == 0) {
        int nodes, node, local_rank, local_size;

        ht_comm_topology(HT_COMM_WORLD, &nodes, &node, &local_rank, &local_size);
        printf("%d: node %d of %d, %d of %d\n", ht_comm_rank(HT_COMM_WORLD), node, nodes,
               local_rank, local_size);
        return ht_finalize();
    }
    if (strcmp(what, "threads") == 0) {
        printf("%d\n", ht_get_num_threads());
        return ht_finalize();
    }
    if (strcmp(what, "leak") == 0) {
        for (int i = 0; i < 256; i++)
            ht_retain(ht_ones(HT_SHAPE(3), HT_FLOAT32, HT_NONE));
        return ht_finalize();
    }
    if (strcmp(what, "outlives") == 0) {
        ht_tensor *x = ht_retain(ht_ones(HT_SHAPE(3), HT_FLOAT32, HT_NONE));

        ht_finalize();
        ht_release(x);
        ht_release(x);
        return 0;
    }
    if (strcmp(what, "allocate") == 0)
        return allocate();
    if (strcmp(what, "trips") == 0)
        return round_trips(atoi(argv[2]), atof(argv[3]));
    if (strcmp(what, "suspended") == 0) { /* by the script, while rank 0 waits */
        print_pid();
        if (ht_comm_rank(HT_COMM_WORLD) == 1)
            wait_until_asked();
        return use_library(MPI_COMM_WORLD);
    }
    fail(what);
    if (strcmp(what, "slow") == 0)
        return ht_finalize();
    return 9; /* the failure should have ended the job */
}

/* SPDX-License-Identifier: MIT
 *
 * The exchange, and its halves one after the other, against MPI_Allreduce: milliseconds until all
 * ranks have the sum, median of interleaved runs (least ... most), and the ratio of the medians.
 * usage: mpirun -n RANKS bench/exchange [RUNS] */
#include <stdio.h>
#include <stdlib.h>

#include "core/exchange/exchange.h"

enum { SHARED, SHARED_HALVES, MESSAGES, MESSAGE_HALVES, ALLREDUCE, WAYS, MOST_RUNS = 1000 };

static const char *const names[WAYS] = {"shared memory", "  its halves", "messages",
                                        "  their halves", "MPI_Allreduce"};

typedef struct buffers {
    ht_exchange *exchange;
    float *shared, *plain;
    int64_t n;
} buffers;

static void finish(const buffers *b, ht_exchange_op *op)
{
    ht__exchange_wait(b->exchange, op, "bench");
    ht__exchange_release(b->exchange, op);
}

static void sum_once(const buffers *b, int way)
{
    float *data = way == SHARED || way == SHARED_HALVES ? b->shared : b->plain;

    if (way == ALLREDUCE) {
        MPI_Allreduce(MPI_IN_PLACE, data, (int)b->n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        return;
    }

    double scale = 1.0 / ht_comm_size(HT_COMM_WORLD);

    if (way == SHARED || way == MESSAGES) {
        finish(b, ht__exchange_start(b->exchange, data, b->n, HT_FLOAT32, scale, 0));
        return;
    }
    finish(b,
           ht__exchange_reduce_scatter(b->exchange, data, b->n, HT_FLOAT32, HT_FLOAT32, scale, 0));
    finish(b, ht__exchange_all_gather(b->exchange, data, b->n, HT_FLOAT32, 0));
}

static double timed(const buffers *b, int way)
{
    double begin;

    for (int64_t i = 0; way == ALLREDUCE && i < b->n; i++)
        b->plain[i] = 1; /* its sums are not scaled, and would overflow */
    ht_barrier(HT_COMM_WORLD);
    begin = MPI_Wtime();
    sum_once(b, way);
    ht_barrier(HT_COMM_WORLD);
    return 1e3 * (MPI_Wtime() - begin);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void compare(const buffers *b, int runs)
{
    static double ms[WAYS][MOST_RUNS];

    for (int run = -2; run < runs; run++) { /* two to warm up */
        for (int way = 0; way < WAYS; way++)
            ms[way][run < 0 ? 0 : run] = timed(b, way);
    }
    for (int way = 0; way < WAYS; way++)
        qsort(ms[way], (size_t)runs, sizeof(double), ascending);
    if (ht_comm_rank(HT_COMM_WORLD) != 0)
        return;
    printf("%lld floats on %d ranks\n", (long long)b->n, ht_comm_size(HT_COMM_WORLD));
    for (int way = 0; way < WAYS; way++)
        printf("  %-14s %8.3f ms (%.3f ... %.3f)  ratio %.2f\n", names[way], ms[way][runs / 2],
               ms[way][0], ms[way][runs - 1], ms[ALLREDUCE][runs / 2] / ms[way][runs / 2]);
}

int main(int argc, char **argv)
{
    static const int64_t lengths[] = {1, 10000, 669706, 1199882,
                                      4194304}; /* scalar; bias; MLP; CNN; 16 MiB */

    ht_init(&argc, &argv);

    int runs = argc > 1 ? atoi(argv[1]) : 15;

    if (runs < 1 || runs > MOST_RUNS) {
        fprintf(stderr, "usage: exchange [RUNS], at most %d\n", MOST_RUNS);
        return 2;
    }
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        buffers b = {.exchange = ht__exchange_get(HT_COMM_WORLD, HT_PURPOSE_REDUCER),
                     .n = lengths[i]};

        b.shared = ht__exchange_memory(b.exchange, (size_t)b.n * sizeof *b.shared);
        b.plain = calloc((size_t)b.n, sizeof *b.plain);
        compare(&b, runs);
        free(b.plain);
        ht__exchange_memory_release(b.exchange, b.shared);
    }
    return ht_finalize();
}

/* SPDX-License-Identifier: MIT
 *
 * How much of the exchange a training step hides: an MLP 1024-4096-1024, its batch chosen so that
 * forward + backward + update takes as long as the exchange of its gradients. Milliseconds of a
 * step in each mode, median of interleaved runs (least ... most), and its ratio to the longer of
 * the two. Meant for hosts joined by a network; bench/overlap.sh simulates two. usage: mpirun -n
 * RANKS bench/overlap [RUNS] */
#include <stdio.h>
#include <stdlib.h>

#include "core/exchange/exchange.h"
#include "ht.h"

enum { FEATURES = 1024, HIDDEN = 4096, STEPS = 4, MOST_RUNS = 99, FIRST_BATCH = 256 };

typedef enum mode {
    COMPUTE,
    EXCHANGE,
    ONE_AFTER_OTHER,
    SIDE_BY_SIDE,
    BLOCKING,
    NON_BLOCKING,
    BF16,
    MODES
} mode;

static const char *const names[MODES] = {"compute",           "exchange", "one after the other",
                                         "side by side",      "blocking", "non-blocking",
                                         "non-blocking, bf16"};

/* A model of its own for each mode. */
typedef struct training {
    ht_module *model; /* owned; wrapped where gradients are averaged by the library */
    ht_optimizer *optimizer;
} training;

typedef struct bench {
    training modes[MODES];
    ht_tensor *x, *target;
    ht_exchange *exchange;
    float *gradients; /* memory of the size of all gradients */
    int64_t count;
    double megabytes[MODES]; /* that this rank sends to other hosts in a step */
} bench;

static bool is_wrapped(mode m)
{
    return m == BLOCKING || m == NON_BLOCKING || m == BF16;
}

static training training_new(mode m)
{
    training t = {.model = ht_nn_sequential(HT_LIST(ht_module *, ht_nn_linear(FEATURES, HIDDEN),
                                                    ht_nn_relu(), ht_nn_linear(HIDDEN, FEATURES)))};

    t.optimizer = ht_optim_sgd(ht_module_parameters(t.model), 1e-6, NULL);
    if (is_wrapped(m)) {
        ht_module *inner = t.model;

        t.model = ht_nn_data_parallel(inner, HT_COMM_WORLD, t.optimizer, m == BLOCKING);
        ht_release(inner);
    }
    if (m == BF16)
        ht_data_parallel_register_comm_hook(t.model, ht_comm_hook_bf16, NULL);
    return t;
}

static ht_exchange_op *start_exchange(const bench *b)
{
    double scale = 1.0 / ht_comm_size(HT_COMM_WORLD);

    return ht__exchange_start(b->exchange, b->gradients, b->count, HT_FLOAT32, scale, 0);
}

/* Side by side: an exchange that depends on nothing, begun before and awaited after. It takes
 * longer than each alone by as much as the two delay each other on this machine. */
static void step(const bench *b, mode m)
{
    const training *t = &b->modes[m];
    ht_scope *scope = ht_scope_open();
    ht_exchange_op *op = NULL;

    if (m == EXCHANGE || m == SIDE_BY_SIDE)
        op = start_exchange(b);
    if (m != EXCHANGE) {
        ht_optimizer_zero_grad(t->optimizer);
        ht_backward(ht_cross_entropy(ht_forward(t->model, b->x), b->target, HT_MEAN));
        ht_optimizer_step(t->optimizer);
    }
    if (m == ONE_AFTER_OTHER)
        op = start_exchange(b);
    if (op != NULL) {
        ht__exchange_wait(b->exchange, op, "bench");
        ht__exchange_release(b->exchange, op);
    }
    ht_scope_close(scope);
}

/* From the end of one step to the end of another: the same work is outstanding at both. */
static double timed(bench *b, mode m)
{
    uint64_t bytes = ht__exchange_bytes_sent(b->exchange);

    step(b, m);
    ht_barrier(HT_COMM_WORLD);

    double begin = MPI_Wtime();

    for (int i = 0; i < STEPS; i++)
        step(b, m);

    double ms = 1e3 * (MPI_Wtime() - begin) / STEPS;

    if (is_wrapped(m))
        ht_data_parallel_drain(b->modes[m].model);
    bytes = ht__exchange_bytes_sent(b->exchange) - bytes;
    b->megabytes[m] = 1e-6 * (double)bytes / (STEPS + 1);
    MPI_Allreduce(MPI_IN_PLACE, &ms, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return ms;
}

static void set_batch(bench *b, int64_t rows)
{
    ht_use_comm(HT_COMM_SELF);
    ht_release(b->x);
    ht_release(b->target);
    b->x = ht_retain(ht_randn(HT_SHAPE(rows, FEATURES), HT_FLOAT32, HT_NONE));
    b->target = ht_retain(ht_randint(0, FEATURES, HT_SHAPE(rows), HT_INT64, HT_NONE));
    for (int m = 0; m < MODES; m++)
        step(b, (mode)m);
    for (int m = 0; m < MODES; m++) {
        if (is_wrapped((mode)m))
            ht_data_parallel_drain(b->modes[m].model);
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median_of(bench *b, mode m, int runs)
{
    double ms[MOST_RUNS];

    for (int run = 0; run < runs; run++)
        ms[run] = timed(b, m);
    qsort(ms, (size_t)runs, sizeof *ms, ascending);
    return ms[runs / 2];
}

/* The batch at which computing takes as long as the exchange. */
static int64_t balance(bench *b)
{
    int64_t rows = FIRST_BATCH;

    for (int tries = 0; tries < 4; tries++) {
        set_batch(b, rows);

        double ratio = median_of(b, EXCHANGE, 3) / median_of(b, COMPUTE, 5);

        if (ratio > 0.95 && ratio < 1.05)
            break;
        rows = ((int64_t)((double)rows * ratio) + 15) / 16 * 16;
    }
    set_batch(b, rows);
    return rows;
}

static void report(const bench *b, double ms[MODES][MOST_RUNS], int runs, int64_t rows)
{
    printf("MLP %d-%d-%d on %d ranks, %lld rows a rank, %d runs of %d steps\n", FEATURES, HIDDEN,
           FEATURES, ht_comm_size(HT_COMM_WORLD), (long long)rows, runs, STEPS);
    for (int m = 0; m < MODES; m++)
        qsort(ms[m], (size_t)runs, sizeof(double), ascending);

    double compute = ms[COMPUTE][runs / 2], exchange = ms[EXCHANGE][runs / 2];
    double longer = compute > exchange ? compute : exchange;

    for (int m = 0; m < MODES; m++)
        printf("  %-20s %7.1f ms (%.1f ... %.1f)  %.2f x  %.1f MB sent\n", names[m],
               ms[m][runs / 2], ms[m][0], ms[m][runs - 1], ms[m][runs / 2] / longer,
               b->megabytes[m]);
    printf("  blocking / non-blocking %.2f\n", ms[BLOCKING][runs / 2] / ms[NON_BLOCKING][runs / 2]);
}

int main(int argc, char **argv)
{
    static double ms[MODES][MOST_RUNS];
    bench b = {.count = 2 * FEATURES * HIDDEN + FEATURES + HIDDEN};
    int runs = argc > 1 ? atoi(argv[1]) : 7;

    if (runs < 1 || runs > MOST_RUNS) {
        fprintf(stderr, "usage: overlap [RUNS], at most %d\n", MOST_RUNS);
        return 2;
    }
    ht_init(&argc, &argv);
    ht_use_comm(HT_COMM_SELF);
    b.exchange = ht__exchange_get(HT_COMM_WORLD, HT_PURPOSE_REDUCER);
    b.gradients = ht__exchange_memory(b.exchange, (size_t)b.count * sizeof *b.gradients);
    for (int m = 0; m < MODES; m++) {
        if (m != EXCHANGE)
            b.modes[m] = training_new((mode)m);
    }

    int64_t rows = balance(&b);

    for (int run = 0; run < runs; run++) {
        for (int m = 0; m < MODES; m++)
            ms[m][run] = timed(&b, (mode)m);
    }
    if (ht_comm_rank(HT_COMM_WORLD) == 0)
        report(&b, ms, runs, rows);
    for (int m = 0; m < MODES; m++) {
        ht_release(b.modes[m].model);
        ht_release(b.modes[m].optimizer);
    }
    ht_release(b.x);
    ht_release(b.target);
    ht__exchange_memory_release(b.exchange, b.gradients);
    return ht_finalize() != HT_SUCCESS;
}

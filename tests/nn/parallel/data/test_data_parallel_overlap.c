/* ranks 2 */
/* SPDX-License-Identifier: MIT */
/* The trace over a network of limited rate, with the progress thread, of a model with enough layers
 * to hide the exchange. The exchange lies under backward and forward, at least half of it under
 * computing. tests/examples/trace.sh runs it over two simulated hosts. */
#include "core/tensor/tensor.h"
#include "ht_test.h"
#include "tensor_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/start/start.h"
#include "core/timeline/timeline.h"
#include "trace.h"

enum { LAYERS = 6, WIDTH = 512, ROWS = 2048, WARM_UP = 2, STEPS = 6, ROUNDS = 6 };

static ht_module *new_model(void)
{
    ht_module *layers[2 * LAYERS];

    ht_nn_seed(1);
    for (int i = 0; i < LAYERS; i++) {
        layers[2 * i] = ht_nn_linear(WIDTH, WIDTH);
        layers[2 * i + 1] = ht_nn_relu();
    }
    return ht_nn_sequential(2 * LAYERS, layers);
}

static void train(ht_module *dp, ht_optimizer *optimizer, ht_tensor *x, ht_tensor *y, int steps)
{
    for (int i = 0; i < steps; i++) {
        ht_scope *scope = ht_scope_open();

        ht_optimizer_zero_grad(optimizer);
        ht_backward(ht_cross_entropy(ht_forward(dp, x), y, HT_MEAN));
        ht_optimizer_step(optimizer);
        ht_scope_close(scope);
    }
    ht_data_parallel_drain(dp);
}

/* The results of one round of steps. */
struct round {
    struct trace *trace;
    ht_timeline_summary summary;
    double wall; /* seconds */
};

static struct trace *read_trace(const char *path)
{
    char name[80];
    const char *wrong;
    struct trace *trace;

    snprintf(name, sizeof name, "%s.%d", path, ht_test_rank);
    trace = trace_read(name, &wrong);
    unlink(name);
    if (trace == NULL)
        fail_msg("%s: %s", name, wrong);
    return trace;
}

static struct round run_round(ht_module *dp, ht_optimizer *optimizer, ht_tensor *x, ht_tensor *y)
{
    struct round round;
    char path[64];

    snprintf(path, sizeof path, "/tmp/ht-overlap-%ld", (long)getpid());
    ht_barrier(HT_COMM_WORLD);
    ht__timeline_open(path);

    uint64_t begin = ht__timeline_now();

    train(dp, optimizer, x, y, STEPS);
    round.wall = 1e-9 * (double)(ht__timeline_now() - begin);
    assert_int_equal(ht_timeline_summarize(&round.summary), HT_SUCCESS);
    ht__timeline_close();
    round.trace = read_trace(path);
    return round;
}

/* Nanoseconds of the exchange in which the program's thread was in a span of the category. */
static int64_t exchange_under(const struct trace *trace, const char *category)
{
    struct trace_time flights = trace_time_of(trace, "exchange", -1);
    struct trace_time others = trace_time_of(trace, category, 0);
    struct trace_time both = trace_time_both(flights, others);
    int64_t length = trace_length(both);

    free(flights.spans);
    free(others.spans);
    free(both.spans);
    return length;
}

static bool over_a_network(void)
{
    const char *thread = getenv("HT_PROGRESS_THREAD");
    int nodes;

    ht_comm_topology(HT_COMM_WORLD, &nodes, NULL, NULL, NULL);
    return nodes == 2 && getenv("HT_RANKS_PER_NODE") == NULL && thread != NULL &&
           strcmp(thread, "1") == 0;
}

/* Whether it is so on both ranks. */
static bool is_half_hidden(const struct round *round)
{
    int64_t all = exchange_under(round->trace, "exchange");
    int64_t busy = exchange_under(round->trace, "wait") + exchange_under(round->trace, "moving") +
                   exchange_under(round->trace, "communication");
    int64_t hidden = all - busy >= all / 2;

    print_message("exchange %.1f ms a step, under computing %.1f ms; step %.1f ms\n",
                  1e-6 * (double)all / STEPS, 1e-6 * (double)(all - busy) / STEPS,
                  1e3 * round->wall / STEPS);
    ht__comm_allreduce_i64(HT_COMM_WORLD, &hidden, 1, HT_OP_MIN, "test");
    return hidden != 0;
}

/* Checks that apply to every round. */
static void check_round(const struct round *round)
{
    const ht_timeline_times *t = &round->summary.mine;
    double parts = t->compute + t->exposed + t->moving + t->communication + t->loader;
    double bytes = (double)STEPS * LAYERS * WIDTH * WIDTH * sizeof(float);

    assert_true(trace_nests(round->trace));
    assert_true(exchange_under(round->trace, "backward") > 0);
    assert_true(exchange_under(round->trace, "forward") > 0);
    assert_true(fabs(parts - round->wall) < 0.05 * round->wall);
    assert_true(t->hidden <= t->in_flight && t->in_flight <= t->wall);
    /* Two ranks: each sends what it has once in all. */
    assert_true(t->sent >= bytes && t->sent <= 1.05 * bytes);
}

/* Where other jobs hold up one of the ranks the other waits for it, so there are several rounds. */
static void test_half_of_the_exchange_lies_under_computing(void **state)
{
    ht_data_parallel_options options = ht_data_parallel_options_default();
    ht_module *net, *dp;
    ht_optimizer *optimizer;
    ht_tensor *x, *y;
    bool hidden = false;

    (void)state;
    if (!over_a_network())
        HT_TEST_SKIP("needs two hosts and HT_PROGRESS_THREAD=1; tests/examples/trace.sh has them");
    ht_use_comm(HT_COMM_SELF);
    x = ht_randn(HT_SHAPE(ROWS, WIDTH), HT_FLOAT32, HT_NONE);
    y = ht_randint(0, WIDTH, HT_SHAPE(ROWS), HT_INT64, HT_NONE);
    ht_use_comm(HT_COMM_WORLD);
    net = new_model();
    optimizer = ht_optim_sgd(ht_module_parameters(net), 1e-3, NULL);
    options.first_bucket_mb = options.bucket_cap_mb = 1; /* a layer each */
    dp = ht_nn_data_parallel_ext(net, HT_COMM_WORLD, optimizer, &options);
    train(dp, optimizer, x, y, WARM_UP);
    for (int i = 0; i < ROUNDS && !hidden; i++) {
        struct round round = run_round(dp, optimizer, x, y);

        check_round(&round);
        hidden = is_half_hidden(&round);
        trace_free(round.trace);
    }
    assert_true(hidden);
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
}

HT_TEST_SUITE(test_data_parallel_overlap,
              cmocka_unit_test(test_half_of_the_exchange_lies_under_computing));

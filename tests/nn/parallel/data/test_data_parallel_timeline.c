/* ranks 2 */
/* SPDX-License-Identifier: MIT */
/* The trace of training on two ranks: layers, nodes and buckets have their names, and the exchange
 * lies under backward and under the next forward. */
#include "core/tensor/tensor.h"
#include "data_parallel_test.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/start/start.h"
#include "core/timeline/timeline.h"
#include "trace.h"

enum { STEPS = 6 };

static char base[64];

static void start_file(void)
{
    snprintf(base, sizeof base, "/tmp/ht-timeline-%ld", (long)getpid());
    ht__timeline_open(base);
}

static struct trace *stop_and_read(void)
{
    char name[80];
    const char *wrong;
    struct trace *trace;

    snprintf(name, sizeof name, "%s.%d", base, ht_test_rank);
    ht__timeline_close();
    trace = trace_read(name, &wrong);
    if (trace == NULL)
        fail_msg("%s: %s", name, wrong);
    unlink(name);
    return trace;
}

static bool has(const struct trace *trace, const char *category, const char *name, const char *of)
{
    for (int i = 0; i < trace->count; i++) {
        const struct trace_event *e = &trace->events[i];

        if (strcmp(e->category, category) == 0 && strcmp(e->name, name) == 0 &&
            (of == NULL || strcmp(e->of, of) == 0))
            return true;
    }
    return false;
}

/* Time in which both categories were on this rank. */
static int64_t shared(const struct trace *trace, const char *one, const char *other)
{
    struct trace_time a = trace_time_of(trace, one, -1), b = trace_time_of(trace, other, -1);
    struct trace_time both = trace_time_both(a, b);
    int64_t length = trace_length(both);

    free(a.spans);
    free(b.spans);
    free(both.spans);
    return length;
}

static bool late; /* this rank takes its time */
static bool mean; /* no weights, so that the first to wait for is a bucket */

static void a_step(ht_module *dp, ht_optimizer *optimizer, int step)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *y = ht_forward(dp, batch_rows(step, 4));

    if (late)
        nanosleep(&(struct timespec){.tv_nsec = 20 * 1000 * 1000}, NULL);
    ht_backward(ht_nll_loss(y, batch_classes(step, 4), HT_MEAN));
    ht_optimizer_step(optimizer);
    ht_optimizer_zero_grad(optimizer);
    ht_scope_close(scope);
}

static struct trace *trace_of_training(bool blocking, ht_comm_hook hook, ht_timeline_summary *s)
{
    ht_module *net = new_net(3), *dp;
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_data_parallel_options options = ht_data_parallel_options_default();
    struct trace *trace;

    options.blocking = blocking;
    options.averaging = mean ? HT_AVERAGE_MEAN : HT_AVERAGE_WEIGHTED;
    start_file();
    dp = ht_nn_data_parallel_ext(net, HT_COMM_WORLD, optimizer, &options);
    if (hook != NULL)
        ht_data_parallel_register_comm_hook(dp, hook, NULL);
    for (int step = 0; step < STEPS; step++)
        a_step(dp, optimizer, step);
    ht_data_parallel_drain(dp);
    assert_int_equal(ht_timeline_summarize(s), HT_SUCCESS);
    trace = stop_and_read(); /* what follows is not in the summary */
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
    return trace;
}

static void spans_of_a_step_have_their_names(void **state)
{
    static const char bucket[] = "averaging the gradients of";
    ht_timeline_summary s;
    struct trace *trace = trace_of_training(true, NULL, &s);
    int flights = 0;

    (void)state;
    assert_true(trace_nests(trace));
    assert_true(has(trace, "forward", "DataParallel", "DataParallel"));
    assert_true(has(trace, "forward", "net", "net"));
    assert_true(has(trace, "forward", "fc1", "Linear"));
    assert_true(has(trace, "backward", "ht_backward", NULL));
    assert_true(has(trace, "backward", "fc1", "ht_linear"));
    assert_true(has(trace, "backward", "net", "ht_log_softmax"));
    assert_true(has(trace, "backward", "ht_nll_loss", NULL));
    assert_true(has(trace, "update", "ht_optimizer_step", "SGD"));
    assert_true(has(trace, "update", "fc2.weight", "SGD"));
    for (int i = 0; i < trace->count; i++) {
        if (trace->events[i].phase == 'b')
            flights += strncmp(trace->events[i].name, bucket, sizeof bucket - 1) == 0;
    }
    assert_true(flights >= STEPS && flights % STEPS == 0);
    assert_int_equal(s.steps, STEPS);
    assert_true(s.mine.exchanged >= STEPS * VALUES * sizeof(double));
    trace_free(trace);
}

/* A hook's bucket is drawn from its start to the end of its last round, and so is the wait for it.
 */
static void test_buckets_of_hooks_are_drawn(void **state)
{
    ht_timeline_summary s;
    struct trace *trace;

    (void)state;
    late = ht_test_rank == 1;
    mean = true;
    trace = trace_of_training(false, ht_comm_hook_bf16, &s);
    assert_true(trace_nests(trace));
    assert_true(shared(trace, "exchange", "exchange") > 0);
    if (!late)
        assert_true(shared(trace, "wait", "wait") > 0);
    late = mean = false;
    trace_free(trace);
}

/* The summary agrees with the trace. A bucket may be started while another is waited for; that time
 * does not count as waiting. One rank is late, so the other waits. */
static void compare_summary(void)
{
    ht_timeline_summary s;
    struct trace *trace = trace_of_training(true, NULL, &s);
    struct trace_time waits = trace_time_of(trace, "wait", 0);
    double drawn = 1e-9 * (double)(trace_length(waits) - shared(trace, "wait", "moving"));
    const ht_timeline_times *t = &s.mine;

    if (!late)
        assert_true(t->exposed > 0 && t->in_flight > 0);
    assert_true(fabs(t->exposed - drawn) < 1e-6);
    assert_true(fabs(t->forward + t->backward + t->update + t->program - t->compute) < 1e-9);
    assert_true(fabs(t->compute + t->exposed + t->moving + t->communication + t->loader - t->wall) <
                1e-6);
    assert_true(t->hidden <= t->in_flight && t->in_flight <= t->wall);
    free(waits.spans);
    trace_free(trace);
}

static void test_the_summary_is_that_of_the_trace(void **state)
{
    (void)state;
    late = ht_test_rank == 1;
    for (int i = 0; i < 2; i++) {
        mean = i == 1;
        compare_summary();
    }
    late = mean = false;
}

/* By order, not by time: rank 1 enters backward of a step only after a message that rank 0 sends
 * in the forward of its next one. So the exchange of rank 0 is under way in that forward. */
static void announce(MPI_Comm comm, int step)
{
    MPI_Request request;

    MPI_Isend(NULL, 0, MPI_BYTE, 1, step, comm, &request);
    MPI_Request_free(&request);
}

/* Continues without it after a while: then the trace shows no exchange under forward. */
static void await(MPI_Comm comm, int step)
{
    int came = 0;

    for (int ms = 0; ms < 5000 && !came; ms++) {
        MPI_Iprobe(0, step, comm, &came, MPI_STATUS_IGNORE);
        nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
    }
}

static MPI_Comm messages;
static int entered;

static ht_value *in_forward(ht_module *module, ht_value *inputs, void *user)
{
    (void)module;
    (void)user;
    if (ht_test_rank == 0 && entered++ > 0)
        announce(messages, entered - 1);
    return inputs;
}

/* Its layers wait for their own parameters, and nothing does before the hook is called. */
static ht_module *new_chain(void)
{
    ht_module *chain = ht_nn_sequential(
        HT_LIST(ht_module *, ht_nn_linear(IN, IN), ht_nn_linear(IN, OUT)));

    ht_module_to_dtype(chain, HT_FLOAT64);
    ht_module_register_forward_pre_hook(chain, in_forward, NULL);
    return chain;
}

static void test_exchange_lies_under_backward_and_forward(void **state)
{
    ht_use_device(ht_device_get("cpu")); /* another one may do its work later */

    ht_module *net = new_chain(), *dp;
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_data_parallel_options options = ht_data_parallel_options_default();
    struct trace *trace;

    (void)state;
    entered = 0;
    MPI_Comm_dup(ht_comm_mpi(HT_COMM_WORLD), &messages);
    options.averaging = HT_AVERAGE_MEAN; /* weighted, buckets would wait for the sum of weights */
    dp = ht_nn_data_parallel_ext(net, HT_COMM_WORLD, optimizer, &options);
    start_file();
    for (int step = 1; step <= STEPS; step++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *y = ht_log_softmax(ht_forward(dp, batch_rows(step, 4)), 1);

        if (ht_test_rank == 1 && step < STEPS)
            await(messages, step);
        ht_backward(ht_nll_loss(y, batch_classes(step, 4), HT_MEAN));
        ht_optimizer_step(optimizer);
        ht_optimizer_zero_grad(optimizer);
        ht_scope_close(scope);
    }
    ht_data_parallel_drain(dp);
    trace = stop_and_read();
    assert_true(trace_nests(trace));
    if (ht_test_rank == 0) {
        assert_true(shared(trace, "exchange", "backward") > 0);
        assert_true(shared(trace, "exchange", "forward") > 0);
    }
    trace_free(trace);
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
    for (int step = 1; ht_test_rank == 1 && step < STEPS; step++)
        MPI_Recv(NULL, 0, MPI_BYTE, 0, step, messages, MPI_STATUS_IGNORE);
    MPI_Comm_free(&messages);
}

HT_TEST_SUITE(test_data_parallel_timeline, cmocka_unit_test(spans_of_a_step_have_their_names),
              cmocka_unit_test(test_buckets_of_hooks_are_drawn),
              cmocka_unit_test(test_the_summary_is_that_of_the_trace),
              cmocka_unit_test(test_exchange_lies_under_backward_and_forward));

/* SPDX-License-Identifier: MIT */
/* A small float64 network with what data parallelism finds hard (a parameter of the root, a weight
 * used directly), its data, and a training loop with and without the wrapper. */
#ifndef HT_TESTS_NN_PARALLEL_DATA_DATA_PARALLEL_TEST_H
#define HT_TESTS_NN_PARALLEL_DATA_DATA_PARALLEL_TEST_H

#include <math.h>
#include <string.h>

#include "ht_test.h"
#include "tensor_check.h"

#include "ht.h"
#include "optimizer_kinds.h"

enum { IN = 6, OUT = 4, PARAMETERS = 5 };

struct net {
    ht_module *fc1, *fc2;
    ht_tensor *shift; /* of the root */
    bool tied;        /* fc1's weight is used once more, directly */
    bool skip_fc1;    /* fc1 does not run */
};

static inline ht_tensor *net_forward(ht_module *self, ht_tensor *x)
{
    struct net *net = ht_module_data(self);

    if (!net->skip_fc1)
        x = ht_relu(ht_forward(net->fc1, x));
    if (net->tied) {
        ht_module *fc1 = net->fc1;
        ht_tensor *weight = NULL;
        ht_value *all = ht_module_parameters(fc1);

        weight = ht_value_as_tensor(ht_value_at(all, 0));
        x = ht_tanh(ht_linear(x, weight, NULL));
    }
    return ht_log_softmax(ht_add(ht_forward(net->fc2, x), net->shift), 1);
}

static const ht_module_type net_type = {.name = "net", .forward = net_forward};

/* The same network on every rank for the same seed. */
static inline ht_module *new_net(uint64_t seed)
{
    ht_module *self = ht_module_new(sizeof(struct net), &net_type);
    struct net *net = ht_module_data(self);
    double zeros[OUT] = {0};
    int64_t shape[] = {OUT};

    ht_nn_seed(seed);
    ht_module_add(self, "fc1", &net->fc1, ht_nn_linear(IN, IN));
    ht_module_add(self, "fc2", &net->fc2, ht_nn_linear(IN, OUT));
    ht_module_add_parameter(self, "shift", &net->shift,
                            ht_array(zeros, 1, shape, HT_FLOAT64, HT_LOCAL));
    ht_module_to_dtype(self, HT_FLOAT64);
    return self;
}

static inline ht_optimizer *new_optimizer(ht_module *net, enum optimizer_kind kind)
{
    return optimizer_of(kind, ht_module_parameters(net));
}

/* Rows first ... first + count - 1 of an endless data set. */
static inline ht_tensor *batch_rows(int64_t first, int64_t count)
{
    double values[4096];
    int64_t shape[] = {count, IN};

    for (int64_t i = 0; i < count * IN; i++)
        values[i] = sin(0.7 * (double)(first * IN + i) + 0.1 * (double)((first * IN + i) % 17));
    return ht_array(values, 2, shape, HT_FLOAT64, HT_LOCAL);
}

static inline ht_tensor *batch_classes(int64_t first, int64_t count)
{
    int64_t classes[512], shape[] = {count};

    for (int64_t i = 0; i < count; i++)
        classes[i] = ((first + i) * 7 + (first + i) / 3) % OUT;
    return ht_array(classes, 1, shape, HT_INT64, HT_LOCAL);
}

static inline ht_status backward_rows(ht_module *model, int64_t first, int64_t count)
{
    ht_tensor *y = ht_forward(model, batch_rows(first, count));

    return ht_backward(ht_nll_loss(y, batch_classes(first, count), HT_MEAN));
}

static inline void collect_values(const char *name, ht_tensor *x, void *user)
{
    double **at = user;
    size_t count = (size_t)ht_tensor_size(x);

    (void)name;
    memcpy(*at, ht_test_data(x), count * sizeof(double));
    *at += count;
}

enum { VALUES = IN * IN + IN + OUT * IN + OUT + OUT };

static inline void read_parameters(ht_module *model, double values[VALUES])
{
    ht_module_named_parameters(model, collect_values, &values);
}

static inline double distance(const double a[VALUES], const double b[VALUES])
{
    double most = 0;

    for (int i = 0; i < VALUES; i++)
        most = fmax(most, isnan(a[i]) ? INFINITY : fabs(a[i] - b[i]) / (1 + fabs(b[i])));
    return most;
}

/* How a training run goes. */
struct run {
    enum optimizer_kind kind;
    bool mean, sum; /* another average than the weighted one */
    bool blocking, tied, frozen;
    int micro;          /* backward passes for each step; 0 is 1 */
    bool always_sync;   /* every one of them synchronised */
    bool uneven;        /* batches that the ranks cannot share evenly, some with no row */
    double bucket_mb;   /* 0: default */
    bool own_gradients; /* gradients are not views of buckets */
    bool find_unused, static_graph;
    bool skip_fc1;   /* no rank runs it */
    bool reads;      /* reads all parameters after each step */
    bool schedule;   /* the learning rate changes after each step */
    bool cycle;      /* and the momentum with it */
    double max_norm; /* clips gradients; 0: does not */
    int steps;
};

static inline void set_up(ht_module *net, const struct run *run)
{
    struct net *n = ht_module_data(net);

    n->tied = run->tied;
    n->skip_fc1 = run->skip_fc1;
    if (run->frozen)
        ht_tensor_set_requires_grad(ht_module_find_parameter(net, "fc1.bias"), false);
}

/* By a list that nothing was drained for. */
static inline void clip_gradients(ht_optimizer *optimizer, const struct run *run)
{
    ht_value *list = ht_value_list();

    for (int i = 0; i < ht_optimizer_parameter_count(optimizer); i++)
        ht_value_append(list, ht_value_tensor(ht_optimizer_parameter(optimizer, i)));
    if (run->max_norm > 0)
        assert_true(ht_clip_grad_norm_(list, run->max_norm, 2, true) > 0);
}

/* Calls that a program may make after a step. */
static inline void between_steps(ht_module *net, ht_scheduler *schedule, const struct run *run)
{
    double values[VALUES];

    if (run->reads)
        read_parameters(net, values);
    if (run->schedule)
        assert_int_equal(ht_scheduler_step(schedule), HT_SUCCESS);
}

static inline int64_t rows_of_step(const struct run *run, int step)
{
    return run->uneven && step % 2 == 1 ? 1 + step / 2 : 12;
}

static inline ht_module *wrap(ht_module *net, ht_comm *comm, ht_optimizer *optimizer,
                              const struct run *run)
{
    ht_data_parallel_options options = ht_data_parallel_options_default();

    options.blocking = run->blocking;
    if (run->mean || run->sum)
        options.averaging = run->mean ? HT_AVERAGE_MEAN : HT_AVERAGE_SUM;
    options.gradient_as_bucket_view = !run->own_gradients;
    options.find_unused_parameters = run->find_unused;
    options.static_graph = run->static_graph;
    if (run->bucket_mb > 0)
        options.first_bucket_mb = options.bucket_cap_mb = run->bucket_mb;
    return ht_nn_data_parallel_ext(net, comm, optimizer, &options);
}

static inline ht_scheduler *new_schedule(ht_optimizer *optimizer, const struct run *run)
{
    if (run->cycle)
        return ht_optim_one_cycle_lr(optimizer, 0.1, run->steps + 1, NULL);
    return ht_optim_step_lr(optimizer, 1, 0.9);
}

/* This rank's part of each batch, with the wrapper. */
static inline void train(const struct run *run, double values[VALUES])
{
    int micros = run->micro > 0 ? run->micro : 1;
    ht_module *net = new_net(3), *dp;
    ht_optimizer *optimizer = NULL;
    ht_scheduler *schedule;

    set_up(net, run);
    optimizer = new_optimizer(net, run->kind);
    schedule = new_schedule(optimizer, run);
    if (run->sum)
        ht_optimizer_set_lr(optimizer, ht_optimizer_lr(optimizer) / ht_test_size);
    dp = wrap(net, HT_COMM_WORLD, optimizer, run);
    for (int step = 0; step < run->steps; step++) {
        ht_scope *scope = ht_scope_open();
        int64_t rows = rows_of_step(run, step), first, count;

        ht_comm_chunk(HT_COMM_WORLD, rows, ht_test_rank, &first, &count);
        ht_optimizer_zero_grad(optimizer);
        for (int m = 0; m < micros; m++) {
            ht_data_parallel_set_sync(dp, run->always_sync || m == micros - 1);
            if (count == 0 && step % 4 == 1) /* else: a forward and a loss of no rows */
                assert_int_equal(ht_data_parallel_backward(dp, NULL), HT_SUCCESS);
            else
                assert_int_equal(backward_rows(dp, 100 * step + m * rows + first, count),
                                 HT_SUCCESS);
        }
        clip_gradients(optimizer, run);
        assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
        between_steps(net, schedule, run);
        ht_scope_close(scope);
    }
    read_parameters(net, values);
    ht_release(schedule);
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
}

/* All rows of a step in one batch, without a wrapper. */
static inline void train_alone(const struct run *run, double values[VALUES])
{
    int micros = run->micro > 0 ? run->micro : 1;
    ht_module *net = new_net(3);
    ht_optimizer *optimizer;
    ht_scheduler *schedule;

    set_up(net, run);
    optimizer = new_optimizer(net, run->kind);
    schedule = new_schedule(optimizer, run);
    for (int step = 0; step < run->steps; step++) {
        ht_scope *scope = ht_scope_open();

        ht_optimizer_zero_grad(optimizer);
        backward_rows(net, 100 * step, micros * rows_of_step(run, step));
        clip_gradients(optimizer, run);
        ht_optimizer_step(optimizer);
        between_steps(net, schedule, run);
        ht_scope_close(scope);
    }
    read_parameters(net, values);
    ht_release(schedule);
    ht_release(net);
    ht_release(optimizer);
}

#endif

/* SPDX-License-Identifier: MIT */
/* Training with a communication hook, and a bucket of known gradients. */
#ifndef HT_TESTS_NN_PARALLEL_DATA_COMM_HOOK_TEST_H
#define HT_TESTS_NN_PARALLEL_DATA_COMM_HOOK_TEST_H

#include <stdlib.h>

#include "data_parallel_test.h"

/* Ten steps; every rank its own batch. */
static inline void train_hooked(bool blocking, double bucket_mb, enum optimizer_kind kind,
                                ht_comm_hook hook, void *state, double values[VALUES])
{
    const struct run run = {.blocking = blocking, .bucket_mb = bucket_mb};
    ht_module *net = new_net(3), *dp;
    ht_optimizer *optimizer = new_optimizer(net, kind);

    dp = wrap(net, HT_COMM_WORLD, optimizer, &run);
    if (hook != NULL)
        assert_int_equal(ht_data_parallel_register_comm_hook(dp, hook, state), HT_SUCCESS);
    for (int step = 0; step < 10; step++) {
        ht_scope *scope = ht_scope_open();
        int64_t rows = 3 + (ht_test_rank + step) % 3;

        ht_optimizer_zero_grad(optimizer);
        assert_int_equal(backward_rows(dp, 100 * step + 10 * ht_test_rank, rows), HT_SUCCESS);
        assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
        ht_scope_close(scope);
    }
    read_parameters(net, values);
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
}

static const double hook_bucket_sizes[] = {1e-9, 2.1e-4, 4.4e-4, 1};

/* One parameter of rows x columns whose gradient a test chooses, on a communicator in which each
 * rank is a node; plain SGD does not come into it. */
struct probe {
    ht_comm *comm;
    ht_module *linear, *dp;
    ht_tensor *weight;
    int rows, columns;
};

static inline struct probe open_probe(int rows, int columns, ht_dtype dtype, ht_comm_hook hook,
                                      void *state)
{
    ht_data_parallel_options options = ht_data_parallel_options_default();
    struct probe p = {.rows = rows, .columns = columns};

    setenv("HT_RANKS_PER_NODE", "1", true);
    p.comm = ht_comm_split(HT_COMM_WORLD, 0, ht_test_rank);
    unsetenv("HT_RANKS_PER_NODE");
    options.averaging = HT_AVERAGE_MEAN;
    p.linear = ht_nn_linear(columns, rows);
    ht_module_to_dtype(p.linear, dtype);
    p.weight = ht_module_find_parameter(p.linear, "weight");
    ht_tensor_set_requires_grad(ht_module_find_parameter(p.linear, "bias"), false);
    p.dp = ht_nn_data_parallel_ext(p.linear, p.comm, NULL, &options);
    assert_int_equal(ht_data_parallel_register_comm_hook(p.dp, hook, state), HT_SUCCESS);
    return p;
}

/* This rank's gradient becomes `values`; returns what all ranks get. Borrowed. */
static inline ht_tensor *probe_average(struct probe *p, const double *values)
{
    int64_t shape[] = {p->rows, p->columns}, one[] = {p->rows, p->rows};
    ht_dtype dtype = ht_tensor_dtype(p->weight);
    double eye[64 * 64] = {0};
    ht_tensor *g = ht_astype(ht_array(values, 2, shape, HT_FLOAT64, HT_LOCAL), dtype), *y;

    /* y = x W' with x the rows of `values` and the seed the identity: dW = I' x. */
    for (int i = 0; i < p->rows; i++)
        eye[i * p->rows + i] = 1;
    ht_tensor_set_grad(p->weight, NULL);
    y = ht_forward(p->dp, g);
    assert_int_equal(
        ht_backward(ht_sum(ht_mul(y, ht_astype(ht_array(eye, 2, one, HT_FLOAT64, HT_LOCAL), dtype)),
                           HT_NONE)),
        HT_SUCCESS);
    return ht_tensor_grad(p->weight);
}

static inline void close_probe(struct probe *p)
{
    ht_release(p->dp);
    ht_release(p->linear);
    ht_release(p->comm);
}

#endif

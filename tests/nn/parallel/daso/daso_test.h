/* SPDX-License-Identifier: MIT */
/* Nodes made of the ranks of one machine, and a model whose parameters a test sets as it likes. */
#ifndef HT_TESTS_NN_PARALLEL_DASO_DASO_TEST_H
#define HT_TESTS_NN_PARALLEL_DASO_DASO_TEST_H

#include <stdio.h>
#include <stdlib.h>

#include "nn/parallel/data/data_parallel_test.h"
#include "nn/parallel/daso/daso.h"

/* The world, as nodes of `ranks` ranks (the last may have fewer). Owned. */
static inline ht_comm *nodes_of(int ranks)
{
    char text[16];

    snprintf(text, sizeof text, "%d", ranks);
    setenv("HT_RANKS_PER_NODE", text, true);
    return ht_comm_split(HT_COMM_WORLD, 0, ht_test_rank);
}

/* Two parameters with a frozen one between them, and a buffer. */
struct points {
    ht_tensor *first, *frozen, *second, *buffer;
};

static inline ht_tensor *points_forward(ht_module *self, ht_tensor *x)
{
    struct points *points = ht_module_data(self);

    return ht_add(ht_sum(ht_mul(points->first, x), HT_NONE), ht_sum(points->second, HT_NONE));
}

static const ht_module_type points_type = {.name = "points", .forward = points_forward};

static inline ht_module *new_points(ht_dtype dtype, double value)
{
    ht_module *self = ht_module_new(sizeof(struct points), &points_type);
    struct points *points = ht_module_data(self);
    int64_t three = 3, two = 2;

    ht_module_add_parameter(
        self, "first", &points->first,
        ht_full_ext(1, &three, HT_NUM(value), dtype, HT_NONE, ht_get_device(), HT_COMM_SELF));
    ht_module_add_parameter(
        self, "frozen", &points->frozen,
        ht_full_ext(1, &two, HT_NUM(7), dtype, HT_NONE, ht_get_device(), HT_COMM_SELF));
    ht_module_add_parameter(
        self, "second", &points->second,
        ht_full_ext(1, &two, HT_NUM(value), dtype, HT_NONE, ht_get_device(), HT_COMM_SELF));
    ht_module_add_buffer(
        self, "buffer", &points->buffer,
        ht_full_ext(1, &two, HT_NUM(value), dtype, HT_NONE, ht_get_device(), HT_COMM_SELF));
    ht_tensor_set_requires_grad(points->frozen, false);
    return self;
}

static inline ht_value *trainable(ht_module *module)
{
    struct points *points = ht_module_data(module);
    ht_tensor *list[] = {points->first, points->second};

    return ht_value_tensors(2, list);
}

/* A model under DASO on nodes of `ranks` ranks. */
struct setting {
    ht_comm *comm;
    ht_module *net, *model;
    ht_optimizer *optimizer;
    ht_daso *daso;
};

static inline ht_daso_options options_of(int warmup, int cooldown, ht_dtype wire)
{
    ht_daso_options o = ht_daso_options_default();

    o.warmup_epochs = warmup;
    o.cooldown_epochs = cooldown;
    o.downcast_type = wire;
    return o;
}

/* Around `net` and `optimizer`, which it takes over. */
static inline struct setting set_daso(int ranks_per_node, ht_module *net, ht_optimizer *optimizer,
                                      int epochs, int batches, const ht_daso_options *options)
{
    struct setting s = {.comm = nodes_of(ranks_per_node), .net = net, .optimizer = optimizer};

    s.daso = ht_optim_daso(optimizer, epochs, s.comm, options);
    s.model = ht_nn_data_parallel_multi_gpu(net, s.daso, s.comm);
    ht_daso_set_last_batch(s.daso, batches - 1);
    return s;
}

/* Gradients are off until end(): tests write to the parameters. */
static inline struct setting set_points(int ranks_per_node, ht_dtype dtype, double value,
                                        int batches, const ht_daso_options *options)
{
    ht_module *net = new_points(dtype, value);
    ht_optimizer *optimizer = ht_optim_sgd(trainable(net), 1, NULL);

    ht_set_grad_enabled(false);
    return set_daso(ranks_per_node, net, optimizer, 10, batches, options);
}

static inline void end(struct setting *s)
{
    ht_release(s->model);
    ht_release(s->daso);
    ht_release(s->net);
    ht_release(s->optimizer);
    ht_release(s->comm);
    unsetenv("HT_RANKS_PER_NODE");
    ht_set_grad_enabled(true);
}

/* This status, with exactly this message, which is cleared. */
static inline void expect(ht_status status, ht_status code, const char *text)
{
    const char *message;

    assert_int_equal(status, code);
    ht_error_get(&message);
    assert_string_equal(message, text);
    ht_error_clear();
}

static inline struct points *points_of(const struct setting *s)
{
    return ht_module_data(s->net);
}

static inline double value_of(ht_tensor *x)
{
    return ht_item(ht_narrow(x, 0, 1, 2));
}

#endif

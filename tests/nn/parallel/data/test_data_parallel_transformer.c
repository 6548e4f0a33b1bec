/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* A small Transformer whose embedding is also its last layer: P ranks on their parts of each batch
 * against one rank, one mode against the other bit for bit, and a run that resumes from a file. */
#include <math.h>
#include <mpi.h>
#include <string.h>
#include <unistd.h>

#include "ht.h"
#include "ht_test.h"
#include "tensor_check.h"

enum { WORDS = 11, FEATURES = 8, LENGTH = 5, BATCH = 6, STEPS = 4, VALUES = 2048 };

struct model {
    ht_module *embedding, *encoder; /* slots */
    ht_tensor *weight;              /* slot; that of embedding */
};

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    const struct model *m = ht_module_data(self);
    ht_value *inputs = ht_value_map();
    ht_tensor *y = ht_forward(m->embedding, x);
    ht_tensor *mask = ht_astype(ht_generate_square_subsequent_mask(LENGTH), HT_FLOAT64);

    ht_value_set(inputs, "src", ht_value_tensor(y));
    ht_value_set(inputs, "mask", ht_value_tensor(mask));
    ht_value_set(inputs, "is_causal", ht_value_number(1));
    y = ht_value_as_tensor(ht_forward_value(m->encoder, inputs));
    return ht_linear(y, m->weight, NULL);
}

static const ht_module_type type = {.name = "Model", .forward = forward};

static ht_module *new_model(double dropout)
{
    ht_transformer_options options = ht_transformer_options_default();
    ht_module *self = ht_module_new(sizeof(struct model), &type);
    struct model *m = ht_module_data(self);

    options.dim_feedforward = 16;
    options.dropout = dropout;
    options.batch_first = options.norm_first = true;
    ht_nn_seed(7);
    ht_module_add(self, "embedding", &m->embedding, ht_nn_embedding(WORDS, FEATURES));
    ht_module_add(self, "encoder", &m->encoder,
                  ht_nn_transformer_encoder(ht_nn_transformer_encoder_layer(FEATURES, 2, &options),
                                            2, ht_nn_layer_norm(HT_SHAPE(FEATURES))));
    ht_module_add_parameter(self, "weight", &m->weight,
                            ht_module_find_parameter(m->embedding, "weight"));
    assert_int_equal(ht_module_to_dtype(self, HT_FLOAT64), HT_SUCCESS);
    return self;
}

/* Rows first ... first + count - 1 of a step: sequences that count up, and the words after them. */
static ht_status backward(ht_module *model, int step, int first, int count)
{
    int64_t words[BATCH * LENGTH], next[BATCH * LENGTH];
    ht_tensor *x, *y, *target;

    for (int i = 0; i < count * LENGTH; i++) {
        const int row = step * BATCH + first + i / LENGTH;

        words[i] = (row * 3 + i % LENGTH * (1 + row % 2)) % WORDS;
        next[i] = (words[i] + 1 + row % 2) % WORDS;
    }
    x = ht_array(words, HT_SHAPE(count, LENGTH), HT_INT64, HT_LOCAL);
    target = ht_array(next, HT_SHAPE(count * LENGTH), HT_INT64, HT_LOCAL);
    y = ht_reshape(ht_forward(model, x), HT_SHAPE(count * LENGTH, WORDS));
    return ht_backward(ht_cross_entropy(y, target, HT_MEAN));
}

static void run_steps(ht_module *model, ht_optimizer *optimizer, int begin, int end, bool alone)
{
    const int count = alone ? BATCH : BATCH / ht_test_size;

    for (int step = begin; step < end; step++) {
        ht_scope *scope = ht_scope_open();

        assert_int_equal(ht_optimizer_zero_grad(optimizer), HT_SUCCESS);
        assert_int_equal(backward(model, step, alone ? 0 : ht_test_rank * count, count),
                         HT_SUCCESS);
        assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
        ht_scope_close(scope);
    }
}

static void read_value(const char *name, ht_tensor *x, void *user)
{
    double **at = user;

    (void)name;
    memcpy(*at, ht_test_data(x), (size_t)ht_tensor_size(x) * sizeof **at);
    *at += ht_tensor_size(x);
}

static void read_values(ht_module *model, double values[VALUES])
{
    double *at = values;

    assert_true(ht_module_parameter_count(model) <= VALUES);
    memset(values, 0, VALUES * sizeof *values);
    ht_module_named_parameters(model, read_value, &at);
}

static void train(bool alone, bool blocking, double values[VALUES])
{
    ht_scope *scope = ht_scope_open();
    ht_module *model = new_model(0), *wrapped = model;
    ht_optimizer *optimizer = ht_optim_adam(ht_module_parameters(model), 0.01, NULL);

    if (!alone)
        wrapped = ht_nn_data_parallel(model, HT_COMM_WORLD, optimizer, blocking);
    assert_non_null(wrapped);
    run_steps(wrapped, optimizer, 0, STEPS, alone);
    if (!alone)
        ht_release(wrapped);
    read_values(model, values);
    ht_release(model);
    ht_release(optimizer);
    ht_scope_close(scope);
}

static void modes_agree_with_each_other_and_with_one_rank(void **state)
{
    static double alone[VALUES], blocking[VALUES], other[VALUES];
    double largest = 0;

    (void)state;
    train(true, true, alone);
    train(false, true, blocking);
    train(false, false, other);
    assert_memory_equal(blocking, other, sizeof other);
    for (int i = 0; i < VALUES; i++)
        largest = fmax(largest, fabs(blocking[i] - alone[i]));
    assert_true(largest <= 1e-10);
}

/* A model with dropout in data-parallel training, for a part of the steps. */
static void train_part(const char *path, int begin, int end, bool load, bool save,
                       double values[VALUES])
{
    ht_scope *scope = ht_scope_open();
    ht_module *model = new_model(0.2), *wrapped;
    ht_optimizer *optimizer = ht_optim_adam(ht_module_parameters(model), 0.01, NULL);
    ht_value *map = ht_value_map(), *loaded;

    if (load) {
        loaded = ht_checkpoint_load(path, HT_COMM_WORLD, NULL);
        assert_int_equal(ht_module_load_state_dict(model, ht_value_get(loaded, "model")),
                         HT_SUCCESS);
        assert_int_equal(ht_optimizer_load_state_dict(optimizer, ht_value_get(loaded, "optimizer")),
                         HT_SUCCESS);
        assert_int_equal(
            ht_nn_random_load_state_dict(model, ht_value_get(loaded, "random"), HT_COMM_WORLD),
            HT_SUCCESS);
    }
    wrapped = ht_nn_data_parallel(model, HT_COMM_WORLD, optimizer, false);
    run_steps(wrapped, optimizer, begin, end, false);
    if (save) {
        ht_value_set(map, "model", ht_module_state_dict(wrapped));
        ht_value_set(map, "optimizer", ht_optimizer_state_dict(optimizer));
        ht_value_set(map, "random", ht_nn_random_state_dict(wrapped, HT_COMM_WORLD));
        assert_int_equal(ht_checkpoint_save(map, path, HT_COMM_WORLD, NULL), HT_SUCCESS);
    }
    ht_release(wrapped);
    read_values(model, values);
    ht_release(model);
    ht_release(optimizer);
    ht_scope_close(scope);
}

static void a_run_resumes_from_a_file(void **state)
{
    static double once[VALUES], resumed[VALUES];
    char path[64];
    long id = ht_test_rank == 0 ? (long)getpid() : 0;

    MPI_Bcast(&id, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "/tmp/ht-test-transformer-%ld.h5", id);
    (void)state;
    train_part(path, 0, STEPS, false, false, once);
    train_part(path, 0, STEPS / 2, false, true, resumed);
    train_part(path, STEPS / 2, STEPS, true, false, resumed);
    assert_memory_equal(once, resumed, sizeof once);
    ht_test_remove(path);
}

HT_TEST_SUITE(test_data_parallel_transformer,
              cmocka_unit_test(modes_agree_with_each_other_and_with_one_rank),
              cmocka_unit_test(a_run_resumes_from_a_file));

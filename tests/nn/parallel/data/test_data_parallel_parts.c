/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Large weights between nodes: a gradient leaves while the rest of it is made, and a weight is
 * updated block by block while it is used. Neither changes a bit. */
#include "data_parallel_test.h"

#include <stdlib.h>

#include "nn/parallel/data/data_parallel.h"

enum {
    WIDE = 800,
    ROWS = 3,
    STEPS = 3,
    WEIGHT = WIDE * WIDE
}; /* in 5.1 MB: a block of 2 MiB and one of the rest */

static ht_module *new_mlp(void)
{
    ht_module *net;

    ht_nn_seed(5);
    net = ht_nn_sequential(
        HT_LIST(ht_module *, ht_nn_linear(WIDE, WIDE), ht_nn_relu(), ht_nn_linear(WIDE, WIDE)));
    ht_module_to_dtype(net, HT_FLOAT64);
    return net;
}

/* Every rank on a separate node: between nodes there are messages only. */
static ht_comm *comm_of_nodes(void)
{
    ht_comm *comm;

    setenv("HT_RANKS_PER_NODE", "1", true);
    comm = ht_comm_split(HT_COMM_WORLD, 0, ht_test_rank);
    unsetenv("HT_RANKS_PER_NODE");
    return comm;
}

static ht_tensor *numbers(int64_t first, int64_t rows)
{
    double *values = malloc(sizeof *values * (size_t)(rows * WIDE));
    ht_tensor *x;

    for (int64_t i = 0; i < rows * WIDE; i++)
        values[i] = sin(0.7 * (double)(first * WIDE + i) + 0.1 * (double)((first * WIDE + i) % 17));
    x = ht_array(values, HT_SHAPE(rows, WIDE), HT_FLOAT64, HT_LOCAL);
    free(values);
    return x;
}

static void step(ht_module *model, ht_optimizer *optimizer, int64_t first, int64_t rows)
{
    ht_scope *scope = ht_scope_open();

    ht_optimizer_zero_grad(optimizer);
    assert_int_equal(ht_backward(ht_mse_loss(ht_forward(model, numbers(first, rows)),
                                             numbers(first + 1, rows), HT_MEAN)),
                     HT_SUCCESS);
    assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
    ht_scope_close(scope);
}

/* Trains on this rank's rows of each batch, or on all of them; returns the first layer's weight. */
static double *train_mlp(ht_comm *comm, bool blocking, double bucket_mb)
{
    ht_module *net = new_mlp(), *model = net;
    ht_optimizer *optimizer = new_optimizer(net, ADAM);
    double *weight = malloc(sizeof *weight * WEIGHT);
    int64_t ranks = ht_test_size, mine = ROWS * ht_test_rank;

    if (comm != NULL) {
        ht_data_parallel_options options = ht_data_parallel_options_default();

        options.blocking = blocking;
        options.bucket_cap_mb = bucket_mb;
        model = ht_nn_data_parallel_ext(net, comm, optimizer, &options);
    }
    for (int64_t i = 0; i < STEPS; i++)
        step(model, optimizer, i * ranks * ROWS + (comm != NULL ? mine : 0),
             comm != NULL ? ROWS : ranks * ROWS);

    ht_scope *scope = ht_scope_open();
    ht_value *all = ht_module_parameters(model);

    memcpy(weight, ht_test_data(ht_value_as_tensor(ht_value_at(all, 0))), sizeof *weight * WEIGHT);
    ht_scope_close(scope);
    if (model != net)
        ht_release(model);
    ht_release(net);
    ht_release(optimizer);
    return weight;
}

static void test_parts_change_no_bit(void **state)
{
    ht_comm *comm = comm_of_nodes();
    double *blocking = train_mlp(comm, true, 25), *alone = train_mlp(NULL, true, 25), most = 0;

    (void)state;
    for (int i = 0; i < 2; i++) {
        double *other = train_mlp(comm, false, i == 0 ? 25 : 1);

        assert_memory_equal(other, blocking, sizeof *other * WEIGHT);
        free(other);
    }
    for (int i = 0; i < WEIGHT; i++)
        most = fmax(most, fabs(blocking[i] - alone[i]) / (1 + fabs(alone[i])));
    assert_true(most <= 1e-12);
    free(blocking);
    free(alone);
    ht_release(comm);
}

struct seen {
    ht_reducer_param *param;
    int parts, under_way;
    int64_t elements;
};

static void unheard(ht_tensor *leaf, void *user)
{
    (void)leaf;
    (void)user;
}

static void part_is_there(ht_tensor *leaf, int64_t n, void *user)
{
    struct seen *seen = user;
    const ht_bucket *bucket = &seen->param->reducer->buckets[seen->param->bucket];

    (void)leaf;
    seen->parts++;
    assert_true(n > seen->elements);
    seen->elements = n;
    seen->under_way += n < WEIGHT && bucket->op != NULL && bucket->state == HT_BUCKET_ACCUMULATING;
}

/* The exchange of a weight has begun before its gradient is complete; from the second step, when it
 * is made in its final place. */
static void test_a_gradient_leaves_while_it_is_made(void **state)
{
    ht_use_device(ht_device_get("cpu")); /* other devices send only complete gradients */

    ht_comm *comm = comm_of_nodes();
    ht_module *net = new_mlp();
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_data_parallel_options options = ht_data_parallel_options_default();
    ht_module *model;
    ht_data_parallel *dp;
    ht_tensor *weight;
    struct seen seen = {0};

    (void)state;
    options.averaging = HT_AVERAGE_MEAN; /* no weights to be waited for */
    model = ht_nn_data_parallel_ext(net, comm, optimizer, &options);
    dp = ht_module_data(model);
    weight = dp->reducer->params[0].tensor;
    step(model, optimizer, 0, ROWS);
    seen.param = ht__reducer_find(dp->reducer, weight);
    ht__register_early_hook(weight, unheard, part_is_there, NULL, &seen);
    for (int i = 1; i < 3; i++) {
        seen.elements = 0;
        step(model, optimizer, i, ROWS);
        assert_int_equal(seen.elements, WEIGHT);
        assert_int_equal(seen.parts, 2 * i);
    }
    assert_int_equal(seen.under_way, 2);
    ht_release(model);
    ht_release(net);
    ht_release(optimizer);
    ht_release(comm);
}

struct asked {
    int times;
    int64_t last;
};

static void bring(void *user, int64_t begin, int64_t end, bool in_parts)
{
    struct asked *asked = user;

    assert_int_equal(begin, 0);
    assert_true(in_parts);
    asked->times++;
    assert_true(end > asked->last);
    asked->last = end;
}

/* A layer asks for its weight block by block: it need not wait for all of it. */
static void test_a_layer_asks_for_its_weight_in_parts(void **state)
{
    ht_module *layer = ht_nn_linear(WIDE, 2 * WIDE);
    ht_value *all = ht_module_parameters(layer);
    ht_tensor *weight = ht_value_as_tensor(ht_value_at(all, 0));
    struct asked asked = {0};
    ht_guard guard = {0};

    (void)state;
    guard.bring = bring;
    guard.user = &asked;
    ht__guard_set(&guard, weight->body);
    assert_non_null(ht_forward(layer, ht_astype(numbers(0, ROWS), HT_FLOAT32)));
    ht__guard_clear(&guard);
    assert_true(asked.times > 1);
    assert_int_equal(asked.last, ht_tensor_nbytes(weight));
    ht_release(layer);
}

/* Rows with weight 0 on every rank still go through the model, because its SyncBatchNorm needs
 * every rank; then there is no update, in parts or at once. */
static void train_with_worthless_step(bool blocking, double *weight)
{
    ht_module *layers[] = {ht_nn_linear(WIDE, WIDE),
                           ht_nn_sync_batch_norm(WIDE, NULL, HT_COMM_WORLD),
                           ht_nn_linear(WIDE, WIDE)};
    ht_module *net = ht_nn_sequential(3, layers), *model;
    ht_tensor *first = ht_module_find_parameter(net, "0.weight");
    ht_optimizer *optimizer;

    ht_module_to_dtype(net, HT_FLOAT64);
    optimizer = new_optimizer(net, ADAM);
    model = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, blocking);
    for (int64_t i = 0; i < 4; i++) {
        if (i == 1)
            ht_data_parallel_set_weight(model, 0);
        step(model, optimizer, i * ht_test_size + ht_test_rank, ROWS);
    }
    memcpy(weight, ht_test_data(first), sizeof *weight * WEIGHT);
    ht_release(model);
    ht_release(net);
    ht_release(optimizer);
}

static void test_no_weight_no_update_in_parts(void **state)
{
    double *weights[2];

    (void)state;
    for (int blocking = 0; blocking < 2; blocking++) {
        ht_nn_seed(5);
        weights[blocking] = malloc(sizeof(double) * WEIGHT);
        train_with_worthless_step(blocking, weights[blocking]);
    }
    assert_memory_equal(weights[0], weights[1], sizeof(double) * WEIGHT);
    free(weights[0]);
    free(weights[1]);
}

HT_TEST_SUITE(test_data_parallel_parts, cmocka_unit_test(test_parts_change_no_bit),
              cmocka_unit_test(test_no_weight_no_update_in_parts),
              cmocka_unit_test(test_a_gradient_leaves_while_it_is_made),
              cmocka_unit_test(test_a_layer_asks_for_its_weight_in_parts));

/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* What a rank's batch is worth, where the inputs of forward do not tell: a constant of one element
 * comes before the rows. */
#include "data_parallel_test.h"

struct scaled {
    ht_module *net;
};

static ht_value *scaled_forward(ht_module *self, ht_value *inputs)
{
    struct scaled *scaled = ht_module_data(self);
    ht_tensor *scale = ht_value_as_tensor(ht_value_at(inputs, 0));
    ht_tensor *x = ht_value_as_tensor(ht_value_at(inputs, 1));

    return ht_value_tensor(ht_forward(scaled->net, ht_mul(scale, x)));
}

static const ht_module_type scaled_type = {.name = "Scaled", .forward_value = scaled_forward};

static ht_module *new_scaled(void)
{
    ht_module *self = ht_module_new(sizeof(struct scaled), &scaled_type);
    struct scaled *scaled = ht_module_data(self);

    ht_module_add(self, "net", &scaled->net, new_net(3));
    return self;
}

/* This rank's part of 12 rows. */
static ht_status scaled_pass(ht_module *dp, bool set_weight)
{
    ht_value *inputs = ht_value_list();
    int64_t first, count, one[] = {1};
    double scale = 1;
    ht_tensor *y;

    ht_comm_chunk(HT_COMM_WORLD, 12, ht_test_rank, &first, &count);
    ht_value_append(inputs, ht_value_tensor(ht_array_local(&scale, 1, one, HT_FLOAT64)));
    ht_value_append(inputs, ht_value_tensor(batch_rows(first, count)));
    if (set_weight)
        assert_int_equal(ht_data_parallel_set_weight(dp, (double)count), HT_SUCCESS);
    y = ht_value_as_tensor(ht_forward_value(dp, inputs));
    return ht_backward(ht_nll_loss(y, batch_classes(first, count), HT_MEAN));
}

static void test_a_weight_for_inputs_that_disagree(void **state)
{
    struct run run = {.kind = SGD, .steps = 1};
    ht_module *net = new_scaled();
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    double values[VALUES], expected[VALUES];

    (void)state;
    assert_int_equal(scaled_pass(dp, true), HT_SUCCESS);
    ht_optimizer_step(optimizer);
    train_alone(&run, expected);
    read_parameters(net, values);
    assert_true(distance(values, expected) <= 1e-12);
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
}

/* Averages that are not weighted have no use for it. */
static void test_a_mean_needs_no_weight(void **state)
{
    ht_data_parallel_options options = ht_data_parallel_options_default();
    ht_module *net = new_scaled(), *dp;

    (void)state;
    options.averaging = HT_AVERAGE_MEAN;
    dp = ht_nn_data_parallel_ext(net, HT_COMM_WORLD, NULL, &options);
    assert_int_equal(scaled_pass(dp, false), HT_SUCCESS);
    ht_release(dp);
    ht_release(net);
}

/* One rank alone can tell; with others there the job ends. */
static void misuse_no_weight_for_inputs_that_disagree(void **state)
{
    ht_module *net, *dp;
    const char *message;

    (void)state;
    if (ht_test_size > 1)
        HT_TEST_SKIP("the error ends the job");
    net = new_scaled();
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, false);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(scaled_pass(dp, false), HT_ERR_STATE);
    ht_error_get(&message);
    assert_non_null(strstr(message, "ht_backward: the inputs of forward have 1 and 12 rows "
                                    "(dimension 0): ht_data_parallel_set_weight says"));
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_release(dp);
    ht_release(net);
}

HT_TEST_SUITE(test_data_parallel_weight, cmocka_unit_test(test_a_weight_for_inputs_that_disagree),
              cmocka_unit_test(test_a_mean_needs_no_weight),
              cmocka_unit_test(misuse_no_weight_for_inputs_that_disagree));

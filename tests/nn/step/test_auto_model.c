/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* One program on any number of ranks: wrapped where there are several, the same parameters, and a
 * log of the decisions. */
#include <stdio.h>

#include "nn/parallel/data/data_parallel_test.h"

static char lines[2048];

static void keep_line(ht_log_level level, const char *line, void *user)
{
    size_t used = strlen(lines);

    (void)level;
    (void)user;
    snprintf(lines + used, sizeof lines - used, "%s\n", line);
}

static ht_value *forward(ht_module *model, ht_value *data, ht_forward_mode mode, void *user)
{
    ht_tensor *y = ht_forward(model, ht_value_as_tensor(ht_value_get(data, "data")));

    (void)user;
    if (mode == HT_FORWARD_PREDICT)
        return ht_value_tensor(y);
    return ht_value_tensor(
        ht_nll_loss(y, ht_value_as_tensor(ht_value_get(data, "target")), HT_MEAN));
}

/* The wrapper's reference is the only one. */
static ht_module *wrapped(ht_module *net, ht_optimizer *optimizer, bool sync_bn,
                          const ht_data_parallel_options *options)
{
    ht_module *model = ht_auto_model(net, optimizer, sync_bn, options);

    ht_release(net);
    return model;
}

static void test_equals_a_plain_program(void **state)
{
    ht_use_device(ht_device_get("cpu"));

    struct run run = {.kind = ADAM, .steps = 5};
    ht_step_options options = ht_step_options_default();
    double expected[VALUES], values[VALUES];
    ht_module *net = new_net(3), *model;
    ht_optimizer *optimizer = new_optimizer(net, run.kind);
    ht_optim_wrapper *wrapper;

    (void)state;
    train_alone(&run, expected);
    model = wrapped(net, optimizer, false, NULL);
    assert_ptr_equal(ht_data_parallel_module(model), net);
    assert_ptr_equal(ht_auto_optim(optimizer), optimizer);
    wrapper = ht_optim_wrapper_new(optimizer, NULL);
    options.forward = forward;
    for (int step = 0; step < run.steps; step++) {
        ht_scope *scope = ht_scope_open();
        ht_value *data = ht_value_map();
        int64_t first, count;

        ht_comm_chunk(HT_COMM_WORLD, 12, ht_test_rank, &first, &count);
        ht_value_set(data, "data", ht_value_tensor(batch_rows(100 * step + first, count)));
        ht_value_set(data, "target", ht_value_tensor(batch_classes(100 * step + first, count)));
        assert_non_null(ht_train_step(model, data, wrapper, &options));
        ht_scope_close(scope);
    }
    read_parameters(model, values);
    assert_true(distance(values, expected) <= 1e-12);
    ht_release(wrapper);
    ht_release(model);
    ht_release(optimizer);
}

static void test_sync_bn_and_the_log(void **state)
{
    ht_use_device(ht_device_get("cpu"));

    ht_module *layers[] = {ht_nn_linear(IN, 3), ht_nn_batch_norm1d(3, NULL)};
    ht_module *net = ht_nn_sequential(2, layers), *model, *norm;

    (void)state;
    lines[0] = '\0';
    ht_log_set_level(HT_LOG_INFO);
    ht_log_set_sink(keep_line, NULL);
    model = wrapped(net, NULL, true, NULL);
    ht_log_set_sink(NULL, NULL);
    ht_log_set_level(HT_LOG_WARN);
    norm = ht_module_find(net, "1");
    assert_string_equal(ht_module_get_type(norm)->name,
                        ht_test_size > 1 ? "SyncBatchNorm" : "BatchNorm1d");
    if (ht_test_rank == 0)
        assert_non_null(strstr(lines, ht_test_size > 1 ? "DataParallel, SyncBatchNorm"
                                                       : "1 rank, device cpu:0: DataParallel"));
    ht_release(model);
}

/* The first of several accelerators: all of them; a later one was chosen. */
static void test_one_rank_shares_its_devices(void **state)
{
    ht_device *device = ht_get_device();
    ht_module *model, *chosen;

    (void)state;
    if (ht_test_size > 1)
        return;
    ht_use_device(ht_device_get("dummy:0"));
    model = wrapped(ht_nn_relu(), NULL, true, NULL);
    ht_use_device(ht_device_get("dummy:1"));
    chosen = wrapped(ht_nn_relu(), NULL, true, NULL);
    ht_use_device(device);
    assert_string_equal(ht_module_get_type(model)->name, "DeviceParallel");
    assert_string_equal(ht_module_get_type(chosen)->name, "ReLU");
    ht_release(chosen);
    ht_release(model);
}

enum { NORM_VALUES = IN * IN + 3 * IN + OUT * IN + OUT };

/* Batches of 2 to 7 rows, of which some ranks get none; the layer in the middle still needs those
 * ranks, in forward and in backward. */
static void train_with_norm(bool alone, double values[NORM_VALUES])
{
    ht_module *layers[] = {ht_nn_linear(IN, IN), ht_nn_batch_norm1d(IN, NULL),
                           ht_nn_linear(IN, OUT), ht_nn_log_softmax(1)};
    ht_module *net = ht_nn_sequential(4, layers), *model = net;
    ht_step_options options = ht_step_options_default();
    ht_optim_wrapper *wrapper;
    ht_optimizer *sgd;

    options.forward = forward;
    ht_module_to_dtype(net, HT_FLOAT64);
    sgd = new_optimizer(net, SGD);
    if (!alone)
        model = wrapped(net, sgd, true, NULL);
    wrapper = ht_optim_wrapper_new(sgd, NULL);
    for (int step = 0; step < 6; step++) {
        ht_scope *scope = ht_scope_open();
        ht_value *data = ht_value_map();
        int64_t first = 0, count = 2 + step;

        if (!alone)
            ht_comm_chunk(HT_COMM_WORLD, 2 + step, ht_test_rank, &first, &count);
        ht_value_set(data, "data", ht_value_tensor(batch_rows(100 * step + first, count)));
        ht_value_set(data, "target", ht_value_tensor(batch_classes(100 * step + first, count)));
        assert_non_null(ht_train_step(model, data, wrapper, &options));
        ht_scope_close(scope);
    }
    ht_module_named_parameters(model, collect_values, &values);
    ht_release(wrapper);
    ht_release(model);
    ht_release(sgd);
}

static void test_sync_bn_on_ranks_without_rows(void **state)
{
    ht_use_device(ht_device_get("cpu"));

    double expected[NORM_VALUES], values[NORM_VALUES];

    (void)state;
    ht_nn_seed(9);
    train_with_norm(true, expected);
    ht_nn_seed(9);
    train_with_norm(false, values);
    for (int i = 0; i < NORM_VALUES; i++)
        assert_true(fabs(values[i] - expected[i]) <= 1e-12 * (1 + fabs(expected[i])));
}

/* NULL in the place of an empty batch would leave the others waiting in that layer. */
static void test_sync_bn_refuses_to_be_left_out(void **state)
{
    ht_module *layers[2], *model;
    const char *message;

    (void)state;
    if (ht_test_size == 1)
        HT_TEST_SKIP("no layer needs other ranks");
    layers[0] = ht_nn_linear(IN, 3);
    layers[1] = ht_nn_batch_norm1d(3, NULL);
    model = wrapped(ht_nn_sequential(2, layers), NULL, true, NULL);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(ht_data_parallel_backward(model, NULL), HT_ERR_STATE);
    ht_error_get(&message);
    assert_non_null(strstr(message, "run forward and backward with a batch of no rows"));
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_release(model);
}

/* Options, exact means and the stop calls work on one rank as they do on many. */
static void test_options_and_calls_on_any_number_of_ranks(void **state)
{
    ht_use_device(ht_device_get("cpu"));

    ht_data_parallel_options options = ht_data_parallel_options_default();
    ht_module *net = new_net(3), *one = new_net(3), *model;
    ht_optimizer *optimizer = new_optimizer(net, SGD), *alone = new_optimizer(one, SGD);
    double expected[VALUES], values[VALUES];
    int64_t first, count;

    (void)state;
    options.accumulation_steps = 2;
    model = wrapped(net, optimizer, false, &options);
    for (int pass = 0; pass < 2; pass++) { /* of 12 rows, and of 4 */
        ht_comm_chunk(HT_COMM_WORLD, pass == 0 ? 12 : 4, ht_test_rank, &first, &count);
        assert_int_equal(backward_rows(model, pass * 12 + first, count), HT_SUCCESS);
        ht_optimizer_step(optimizer);
        assert_int_equal(ht_optimizer_steps(optimizer), pass);
    }
    backward_rows(one, 0, 16);
    ht_optimizer_step(alone);
    read_parameters(net, values);
    read_parameters(one, expected);
    assert_true(distance(values, expected) <= 1e-12);
    assert_int_equal(ht_data_parallel_request_stop(model), HT_SUCCESS);
    assert_false(ht_data_parallel_stop_requested(model));
    assert_int_equal(ht_data_parallel_drain(model), HT_SUCCESS);
    ht_release(model);
    ht_release(one);
    ht_release(optimizer);
    ht_release(alone);
}

static void test_device_ids_are_refused(void **state)
{
    ht_data_parallel_options options = ht_data_parallel_options_default();
    const char *message;
    int first = 0;

    (void)state;
    options.device_ids = &first;
    options.device_id_count = 1;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_null(wrapped(new_net(1), NULL, false, &options));
    ht_error_get(&message);
    assert_non_null(strstr(message, "ht_auto_model: device_ids is set, expected NULL"));
    ht_error_clear();
    assert_null(wrapped(NULL, NULL, false, NULL));
    ht_error_get(&message);
    assert_non_null(strstr(message, "ht_auto_model: module is NULL"));
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

HT_TEST_SUITE(test_auto_model, cmocka_unit_test(test_equals_a_plain_program),
              cmocka_unit_test(test_one_rank_shares_its_devices),
              cmocka_unit_test(test_sync_bn_and_the_log),
              cmocka_unit_test(test_sync_bn_on_ranks_without_rows),
              cmocka_unit_test(test_sync_bn_refuses_to_be_left_out),
              cmocka_unit_test(test_options_and_calls_on_any_number_of_ranks),
              cmocka_unit_test(test_device_ids_are_refused));

/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Errors of a data-parallel program: the same on all ranks, in the same call, and never forgotten.
 */
#include <stdlib.h>

#include "data_parallel_errors.h"

/* Faults of the last rank alone: without an error the others would continue and wait for it. */
static void a_failed_wrap_on_one_rank_fails_on_all(void **state)
{
    ht_module *net = new_net(3), *inner = NULL;
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_data_parallel_options options = ht_data_parallel_options_default();
    bool last = ht_test_rank == ht_test_size - 1;

    (void)state;
    set_handlers(HT_ERRORS_RETURN);
    options.accumulation_steps = !last;
    assert_null(ht_nn_data_parallel_ext(net, HT_COMM_WORLD, optimizer, &options));
    expect_message("accumulation_steps is 0, expected 1 or more");
    assert_null(ht_nn_data_parallel(last ? NULL : net, HT_COMM_WORLD, NULL, false));
    expect_message("module is NULL");
    if (last)
        inner = ht_nn_data_parallel(((struct net *)ht_module_data(net))->fc1, HT_COMM_SELF, NULL,
                                    0);
    assert_null(ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false));
    expect_message("ht_nn_data_parallel holds this module");
    ht_release(inner);

    options = ht_data_parallel_options_default();
    options.init_sync = last;
    if (ht_test_size > 1) {
        assert_null(ht_nn_data_parallel_ext(net, HT_COMM_WORLD, optimizer, &options));
        expect_message("init_sync is true on some ranks and false on others");
    }
    set_handlers(HT_ERRORS_ABORT);
    ht_release(net);
    ht_release(optimizer);
}

/* The environment of a rank replaces two options. */
static void bucket_sizes_that_differ_on_one_rank_are_refused(void **state)
{
    ht_module *net;

    (void)state;
    if (ht_test_size == 1)
        HT_TEST_SKIP("one rank");
    net = new_net(3);
    set_handlers(HT_ERRORS_RETURN);
    if (ht_test_rank == 1)
        setenv("HT_BUCKET_CAP_MB", "2", true);
    assert_null(ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, true));
    unsetenv("HT_BUCKET_CAP_MB");
    expect_message("rank 0 has 'buckets of 1 and 25 MB', rank 1 has 'buckets of 2 MB by "
                   "HT_BUCKET_CAP_MB'");
    ht_release(net);
    set_handlers(HT_ERRORS_ABORT);
}

/* Options that must be equal on all ranks are compared without init_sync, too. */
static void options_that_differ_on_one_rank_are_refused(void **state)
{
    ht_data_parallel_options options = ht_data_parallel_options_default();
    bool last = ht_test_rank == ht_test_size - 1;
    ht_module *net;

    (void)state;
    if (ht_test_size == 1)
        HT_TEST_SKIP("one rank");
    set_handlers(HT_ERRORS_RETURN);
    for (int init_sync = 0; init_sync < 2; init_sync++) {
        net = new_net(3);
        options = ht_data_parallel_options_default();
        options.init_sync = init_sync;
        options.averaging = last ? HT_AVERAGE_SUM : HT_AVERAGE_MEAN;
        assert_null(ht_nn_data_parallel_ext(net, HT_COMM_WORLD, NULL, &options));
        expect_message("the ranks differ: rank 0 has 'options blocking 0, averaging 0, ");
        options.averaging = HT_AVERAGE_MEAN;
        options.blocking = last;
        assert_null(ht_nn_data_parallel_ext(net, HT_COMM_WORLD, NULL, &options));
        expect_message("has 'options blocking 1, averaging 0, ");
        ht_release(net);
        net = ht_nn_sequential(
            HT_LIST(ht_module *, ht_nn_linear(3, 2), ht_nn_batch_norm1d(2, NULL)));
        if (last)
            net = ht_nn_convert_sync_batchnorm(net, HT_COMM_WORLD);
        options.blocking = false;
        assert_null(ht_nn_data_parallel_ext(net, HT_COMM_WORLD, NULL, &options));
        expect_message("has 'SyncBatchNorm 1 over ");
        ht_release(net);
    }
    set_handlers(HT_ERRORS_ABORT);
}

/* Every rank would update with its own gradients, and go its own way. */
static void a_step_needs_a_synchronised_pass(void **state)
{
    (void)state;
    for (int blocking = 0; blocking < 2; blocking++) {
        ht_module *net = new_net(3);
        ht_optimizer *optimizer = new_optimizer(net, SGD);
        ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, blocking);
        double before[VALUES], after[VALUES];

        read_parameters(net, before);
        ht_data_parallel_set_sync(dp, false);
        set_handlers(HT_ERRORS_RETURN);
        assert_int_equal(one_step(dp, optimizer), HT_ERR_STATE);
        expect_message("ht_optimizer_step: the gradient of shift is of this rank alone");
        set_handlers(HT_ERRORS_ABORT);
        read_parameters(net, after);
        assert_memory_equal(before, after, sizeof before);
        ht_data_parallel_set_sync(dp, true);
        assert_int_equal(one_step(dp, optimizer), HT_SUCCESS);
        ht_release(dp);
        ht_release(net);
        ht_release(optimizer);
    }
}

static ht_tensor *break_backward(ht_tensor *grad, void *user)
{
    (void)user;
    ht_add(grad, batch_rows(0, 9)); /* (4) and (9, 6) */
    return NULL;
}

/* The passes after it say so, and not that the model leaves parameters out. */
static void a_failed_backward_is_named(void **state)
{
    ht_module *net = new_net(3);
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);

    (void)state;
    ht_tensor_register_hook(ht_module_find_parameter(net, "fc2.bias"), break_backward, NULL);
    set_handlers(HT_ERRORS_RETURN);
    assert_int_equal(one_step(dp, optimizer), HT_ERR_SHAPE);
    expect_message("do not broadcast");
    for (int again = 0; again < 2; again++) {
        assert_int_equal(ht_data_parallel_drain(dp), HT_ERR_STATE);
        expect_message("pass 1: backward failed before it came to fc1.weight, fc1.bias on rank");
    }
    assert_null(ht_forward(dp, batch_rows(0, 4)));
    expect_message("end it, and wrap again");
    set_handlers(HT_ERRORS_ABORT);
    ht_release(dp);

    ht_optimizer *fresh = new_optimizer(net, SGD);
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, fresh, false);
    assert_non_null(dp);
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
    ht_release(fresh);
}

static ht_tensor *break_last_backward(ht_tensor *grad, void *user)
{
    return ht_test_rank == ht_test_size - 1 ? break_backward(grad, user) : NULL;
}

/* Calls that ranks make between a step and the next forward pass. */
enum meeting { MEETS_NOBODY, MEETS_ALL, READS_AND_MEETS, CLIPS_AND_MEETS, MEETINGS };

static ht_status step_and_meet(ht_module *dp, ht_optimizer *optimizer, enum meeting meeting)
{
    ht_tensor *bias = ht_optimizer_parameter(optimizer, 0);
    ht_value *list = ht_value_list();
    ht_status status;
    double value;

    ht_value_append(list, ht_value_tensor(bias));
    status = backward_rows(dp, 4 * ht_test_rank, 4);
    if (meeting == CLIPS_AND_MEETS && status == HT_SUCCESS)
        ht_clip_grad_norm_(list, 1, 2, false);
    else if (status == HT_SUCCESS)
        status = ht_optimizer_step(optimizer);
    if (meeting == READS_AND_MEETS && ht_test_rank == 0)
        ht_tensor_item(ht_sum(bias, HT_NONE), &value);
    ht_error_clear();
    if (meeting != MEETS_NOBODY)
        assert_int_equal(ht_error_agree(HT_COMM_WORLD, HT_SUCCESS, "-"), HT_SUCCESS);
    return status;
}

static void check_one_failed_backward(bool blocking, enum meeting meeting)
{
    ht_module *net = new_net(3);
    ht_optimizer *optimizer = new_optimizer(net, SGD), *fresh;
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, blocking);
    bool fails = ht_test_rank == ht_test_size - 1;
    double before[VALUES], after[VALUES];
    ht_status status;

    ht_tensor_register_hook(ht_module_find_parameter(net, "fc2.bias"), break_last_backward, NULL);
    read_parameters(net, before);
    set_handlers(HT_ERRORS_RETURN);
    status = step_and_meet(dp, optimizer, meeting);
    if (fails)
        assert_int_equal(status, HT_ERR_SHAPE);
    else if (meeting != CLIPS_AND_MEETS)
        assert_int_equal(status, blocking ? HT_ERR_STATE : HT_SUCCESS);
    for (int again = 0; again < 2; again++) {
        assert_null(ht_forward(dp, batch_rows(0, 4)));
        expect_message("pass 1: backward failed before it came to fc1.weight, fc1.bias on rank");
    }
    ht_release(dp);
    read_parameters(net, after);
    assert_memory_equal(before, after, sizeof before);
    set_handlers(HT_ERRORS_ABORT);
    ht_release(optimizer);
    ht_release(net);

    net = new_net(3);
    fresh = new_optimizer(net, SGD);
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, fresh, blocking);
    assert_int_equal(one_step(dp, fresh), HT_SUCCESS);
    ht_release(dp);
    ht_release(net);
    ht_release(fresh);
}

/* The others get the error in the next call that needs its gradients, after any other wait. */
static void a_backward_that_failed_on_one_rank_is_told_to_all(void **state)
{
    (void)state;
    for (enum meeting meeting = MEETS_NOBODY; meeting < MEETINGS; meeting++) {
        check_one_failed_backward(false, meeting);
        check_one_failed_backward(true, meeting);
    }
}

static ht_tensor *read_gradient(ht_tensor *grad, void *user)
{
    (void)grad;
    assert_non_null(ht_test_data(ht_tensor_grad(user)));
    return NULL;
}

/* An average arrives in the middle of a pass that then fails on another rank. That is the second
 * pass, in which the first gradient is that of the first parameter of the optimizer. */
static void a_parameter_read_in_a_failed_pass_is_not_updated(void **state)
{
    (void)state;
    for (int blocking = 0; blocking < 2; blocking++) {
        const struct run run = {.blocking = blocking, .mean = true, .bucket_mb = 1e-6};
        ht_module *net = new_net(3);
        ht_optimizer *optimizer = new_optimizer(net, SGD);
        ht_module *dp = wrap(net, HT_COMM_WORLD, optimizer, &run);
        double before[VALUES], after[VALUES];

        assert_int_equal(one_step(dp, optimizer), HT_SUCCESS);
        read_parameters(net, before);
        ht_tensor_register_hook(ht_module_find_parameter(net, "fc2.bias"), break_last_backward,
                                NULL);
        ht_tensor_register_hook(ht_module_find_parameter(net, "fc1.bias"), read_gradient,
                                ht_module_find_parameter(net, "shift"));
        set_handlers(HT_ERRORS_RETURN);
        one_step(dp, optimizer);
        ht_error_clear();
        ht_optimizer_step(optimizer);
        assert_int_equal(ht_data_parallel_drain(dp), HT_ERR_STATE);
        expect_message("pass 2: backward failed before it came to");
        ht_release(dp);
        set_handlers(HT_ERRORS_ABORT);
        read_parameters(net, after);
        assert_memory_equal(before, after, sizeof before);
        ht_release(net);
        ht_release(optimizer);
    }
}

enum trouble { SAYS_WHY, SAYS_NOTHING, SUMS_NOTHING, TROUBLES };

static ht_status troubled(ht_grad_bucket *bucket, int round, void *user)
{
    enum trouble trouble = *(const enum trouble *)user;

    (void)round;
    if (trouble == SAYS_WHY)
        return ht_add_(ht_grad_bucket_buffer(bucket), batch_rows(0, 9), 1);
    if (trouble == SAYS_NOTHING)
        return HT_ERR_IO;
    return ht_grad_bucket_sum(bucket, NULL, 1, HT_FLOAT64);
}

/* When a hook is called depends on when messages come; its error comes where the program waits. */
static void a_hook_fails_where_its_sum_is_awaited(void **state)
{
    static const char *const messages[TROUBLES] = {"do not broadcast",
                                                   "the communication hook returned HT_ERR_IO",
                                                   "ht_grad_bucket_sum: x is NULL"};

    (void)state;
    for (enum trouble trouble = SAYS_WHY; trouble < TROUBLES; trouble++) {
        ht_module *net = new_net(3);
        ht_optimizer *optimizer = new_optimizer(net, SGD);
        ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);

        assert_int_equal(ht_data_parallel_register_comm_hook(dp, troubled, &trouble), HT_SUCCESS);
        set_handlers(HT_ERRORS_RETURN);
        assert_int_equal(one_step(dp, optimizer), HT_SUCCESS);
        for (int again = 0; again < 2; again++) {
            assert_int_not_equal(ht_data_parallel_drain(dp), HT_SUCCESS);
            expect_message(messages[trouble]);
        }
        set_handlers(HT_ERRORS_ABORT);
        ht_release(dp);
        ht_release(net);
        ht_release(optimizer);
    }
}

/* Buckets and optimizers have room for what the parameter was when it was wrapped. */
static void a_wrapped_parameter_keeps_its_shape(void **state)
{
    ht_use_device(ht_device_get("cpu")); /* named in messages */

    const double values[2 * OUT] = {1, 2, 3, 4};
    const int64_t same[] = {OUT}, larger[] = {2 * OUT};
    ht_module *net = new_net(3);
    ht_tensor *shift = ((struct net *)ht_module_data(net))->shift;
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);

    (void)state;
    assert_int_equal(one_step(dp, optimizer), HT_SUCCESS);
    set_handlers(HT_ERRORS_RETURN);
    assert_int_equal(ht_tensor_set_(shift, ht_array(values, 1, larger, HT_FLOAT64, HT_LOCAL)),
                     HT_ERR_STATE);
    expect_message("ht_tensor_set_: x is float64 (4,) on cpu:0 and would become float64 (8,)");
    assert_int_equal(ht_tensor_set_(shift, ht_array(values, 1, same, HT_INT64, HT_LOCAL)),
                     HT_ERR_STATE);
    set_handlers(HT_ERRORS_ABORT);
    assert_int_equal(ht_tensor_set_(shift, ht_array(values, 1, same, HT_FLOAT64, HT_LOCAL)),
                     HT_SUCCESS);
    assert_int_equal(one_step(dp, optimizer), HT_SUCCESS);
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
}

enum way { NO_LOSS, NO_ROWS, NO_UPDATE, NO_INPUT, ROW_LOSSES, WAYS };

/* A pass and a step; `fails`: on this rank there is nothing to compute a loss from. */
static ht_status lossless_pass(ht_module *dp, ht_optim_wrapper *wrapper, enum way way, bool fails)
{
    int64_t shape[] = {4, IN + 1};
    ht_tensor *x = fails && way != ROW_LOSSES ? ht_full(2, shape, 1, HT_FLOAT64, HT_LOCAL)
                                              : batch_rows(4 * ht_test_rank, 4);
    ht_tensor *y = fails && way == NO_INPUT ? ht_forward(dp, ht_reshape(x, HT_SHAPE(5, 5)))
                                            : ht_forward(dp, x);
    ht_tensor *loss = ht_nll_loss(y, batch_classes(4 * ht_test_rank, 4), HT_MEAN);

    if (way == ROW_LOSSES)
        return ht_backward(fails ? y : loss);
    assert_true(fails == (loss == NULL));
    if (way == NO_UPDATE)
        return ht_optim_wrapper_update_params(wrapper, loss);
    return way == NO_ROWS ? ht_data_parallel_backward(dp, loss) : ht_backward(loss);
}

static void check_lossless(enum way way, bool blocking, bool own)
{
    ht_module *net = new_net(3);
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    const struct run run = {.blocking = blocking, .own_gradients = own};
    ht_module *dp = wrap(net, HT_COMM_WORLD, optimizer, &run);
    ht_optim_wrapper *wrapper = ht_optim_wrapper_new(optimizer, NULL);
    const char *part = way == NO_INPUT     ? ": ht_reshape: "
                       : way == ROW_LOSSES ? ": ht_backward: the loss has shape"
                                           : ": ht_linear in fc1: x is (4, 7)";
    bool fails = ht_test_rank == ht_test_size - 1;
    double before[VALUES], after[VALUES];
    ht_status status;

    assert_int_equal(one_step(dp, optimizer), HT_SUCCESS);
    ht_optimizer_zero_grad(optimizer);
    read_parameters(net, before);
    set_handlers(HT_ERRORS_RETURN);
    assert_int_equal(ht_optim_wrapper_begin(wrapper, dp), HT_SUCCESS);
    status = lossless_pass(dp, wrapper, way, fails);
    if (way != NO_UPDATE || fails)
        assert_int_equal(status, fails ? HT_ERR_SHAPE : HT_SUCCESS);
    if (way != NO_UPDATE)
        status = ht_optimizer_step(optimizer);
    assert_int_equal(status, fails || blocking ? HT_ERR_SHAPE : HT_SUCCESS);
    for (int again = 0; again < 2; again++) {
        ht_error_clear();
        assert_null(ht_forward(dp, batch_rows(0, 4)));
        expect_message("pass 2: no loss on rank");
        assert_null(ht_forward(dp, batch_rows(0, 4)));
        expect_message(part);
    }
    set_handlers(HT_ERRORS_ABORT);
    ht_release(wrapper);
    ht_release(dp);
    read_parameters(net, after);
    assert_memory_equal(before, after, sizeof before);
    ht_release(net);
    ht_release(optimizer);
}

/* Its rows are missing, and all ranks get the error; without an error before it NULL means no rows.
 */
static void a_forward_that_failed_on_one_rank_is_told_to_all(void **state)
{
    (void)state;
    for (enum way way = NO_LOSS; way < WAYS; way++) {
        check_lossless(way, false, false);
        check_lossless(way, true, way == NO_ROWS);
    }
}

HT_TEST_SUITE(test_data_parallel_errors, cmocka_unit_test(a_failed_wrap_on_one_rank_fails_on_all),
              cmocka_unit_test(options_that_differ_on_one_rank_are_refused),
              cmocka_unit_test(bucket_sizes_that_differ_on_one_rank_are_refused),
              cmocka_unit_test(a_step_needs_a_synchronised_pass),
              cmocka_unit_test(a_failed_backward_is_named),
              cmocka_unit_test(a_backward_that_failed_on_one_rank_is_told_to_all),
              cmocka_unit_test(a_parameter_read_in_a_failed_pass_is_not_updated),
              cmocka_unit_test(a_forward_that_failed_on_one_rank_is_told_to_all),
              cmocka_unit_test(a_hook_fails_where_its_sum_is_awaited),
              cmocka_unit_test(a_wrapped_parameter_keeps_its_shape));

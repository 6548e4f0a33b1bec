/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* NULL where no error came before it: a mistyped key of a state, a file that was never opened. It
 * is reported, for a program that went on would train from random weights. */
#include "nn/nn_test.h"

#include "ht.h"
#include "tensor_check.h"

static void expect_null(ht_status status, const char *expected)
{
    assert_int_equal(status, HT_ERR_ARGUMENT);
    nn_assert_error(expected);
}

static ht_status never_saves(const char *path, void *user)
{
    (void)path;
    (void)user;
    return HT_ERR_IO;
}

static void check_training_states(ht_module *net, ht_optimizer *optimizer, const ht_value *missing)
{
    ht_scheduler *schedule = ht_optim_step_lr(optimizer, 1, 0.5);
    ht_optim_wrapper *wrapper = ht_optim_wrapper_new(optimizer, NULL);

    expect_null(ht_module_load_state_dict(net, missing),
                "ht_module_load_state_dict: state is NULL");
    expect_null(ht_optimizer_load_state_dict(optimizer, missing),
                "ht_optimizer_load_state_dict: state is NULL");
    expect_null(ht_scheduler_load_state_dict(schedule, missing),
                "ht_scheduler_load_state_dict: state is NULL");
    expect_null(ht_optim_wrapper_load_state_dict(wrapper, missing),
                "ht_optim_wrapper_load_state_dict: state is NULL");
    HT_TEST_EXPECT_ERROR(ht_nn_random_load_state_dict(net, missing, HT_COMM_WORLD), HT_ERR_ARGUMENT,
                         "ht_nn_random_load_state_dict: state is NULL");
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    ht_release(wrapper);
    ht_release(schedule);
}

static void check_helpers_states(const ht_value *missing)
{
    ht_early_stopping *stopping = ht_early_stopping_new(NULL);
    ht_keep_best *best = ht_keep_best_new("best", 1, false, never_saves, NULL, HT_COMM_WORLD);
    ht_plateau_detector *detector = ht_plateau_detector_new(NULL);

    expect_null(ht_early_stopping_load_state_dict(stopping, missing),
                "ht_early_stopping_load_state_dict: state is NULL");
    expect_null(ht_keep_best_load_state_dict(best, missing),
                "ht_keep_best_load_state_dict: state is NULL");
    expect_null(ht_plateau_detector_set_state(detector, missing),
                "ht_plateau_detector_set_state: state is NULL");
    ht_release(detector);
    ht_release(best);
    ht_release(stopping);
}

static void test_a_state_that_is_not_there(void **state)
{
    ht_module *net = ht_nn_linear(2, 2);
    ht_optimizer *optimizer = ht_optim_sgd(ht_module_parameters(net), 0.1, NULL);
    ht_value *saved = ht_value_map();

    (void)state;
    ht_value_set(saved, "model", ht_module_state_dict(net));
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    check_training_states(net, optimizer, ht_value_get(saved, "modell"));
    check_helpers_states(ht_value_get(saved, "modell"));
    expect_null(ht_optimizer_step(NULL), "ht_optimizer_step: optimizer is NULL");
    expect_null(ht_backward(NULL), "ht_backward: loss is NULL");
    assert_null(ht_add(NULL, NULL));
    nn_assert_error("ht_add: a is NULL");
    assert_null(ht_forward(net, NULL));
    nn_assert_error("ht_forward: x is NULL");
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(optimizer);
    ht_release(net);
}

/* One report for a chain of calls. */
static void test_null_from_an_error_passes_through(void **state)
{
    ht_module *net = ht_nn_linear(2, 2);
    int64_t shape[] = {3, 4};
    ht_tensor *y;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    y = ht_matmul(ht_zeros(2, shape, HT_FLOAT32, HT_NONE), ht_zeros(1, shape, HT_FLOAT32, HT_NONE));
    assert_int_equal(ht_backward(ht_sum(ht_relu(y), HT_NONE)), HT_ERR_SHAPE);
    nn_assert_error("ht_matmul: a is (3, 4), b is (3,): inner sizes 4 and 3 differ");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_release(net);
}

HT_TEST_SUITE(test_null_operands, cmocka_unit_test(test_a_state_that_is_not_there),
              cmocka_unit_test(test_null_from_an_error_passes_through));

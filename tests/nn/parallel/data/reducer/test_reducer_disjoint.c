/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Parameters that lie on one memory: updates of it that wait for averages would come in another
 * order on every rank. */
#include "nn/parallel/data/data_parallel_errors.h"

static void tie(ht_module *net, const char *name, const char *to)
{
    assert_int_equal(
        ht_tensor_set_(ht_module_find_parameter(net, name), ht_module_find_parameter(net, to)),
        HT_SUCCESS);
}

/* Elements 2 ... 7 and 6 ... 9 of one tensor. */
static void tie_partly(ht_module *net)
{
    const double values[12] = {0};
    ht_tensor *flat = ht_array(values, HT_SHAPE(12), HT_FLOAT64, HT_LOCAL);

    ht_tensor_set_(ht_module_find_parameter(net, "fc1.bias"), ht_narrow(flat, 0, 2, 2 + IN));
    ht_tensor_set_(ht_module_find_parameter(net, "shift"), ht_narrow(flat, 0, 6, 6 + OUT));
}

static void two_parameters_on_one_memory_are_not_wrapped(void **state)
{
    (void)state;
    for (int partly = 0; partly < 2; partly++) {
        ht_module *net = new_net(3);
        ht_optimizer *optimizer = new_optimizer(net, SGD);

        if (partly)
            tie_partly(net);
        else
            tie(net, "shift", "fc2.bias");
        set_handlers(HT_ERRORS_RETURN);
        assert_null(ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false));
        expect_message(partly ? "parameters shift and fc1.bias share memory"
                              : "parameters shift and fc2.bias share memory");
        set_handlers(HT_ERRORS_ABORT);
        ht_release(net);
        ht_release(optimizer);
    }
}

/* Each child's wrapper would find nothing wrong. */
static void shared_parameters_of_two_submodules_are_refused(void **state)
{
    ht_module *net = ht_nn_sequential(HT_LIST(ht_module *, ht_nn_linear(3, 3), ht_nn_linear(3, 3)));

    (void)state;
    tie(net, "1.weight", "0.weight");
    set_handlers(HT_ERRORS_RETURN);
    assert_int_equal(ht_nn_data_parallel_separate(net, HT_COMM_WORLD, 0, NULL, NULL),
                     HT_ERR_ARGUMENT);
    expect_message("ht_nn_data_parallel_separate: parameters 0.weight and 1.weight share memory");
    set_handlers(HT_ERRORS_ABORT);
    ht_release(net);
}

static void one_tensor_in_two_places_is_one_parameter(void **state)
{
    ht_module *net = new_net(3), *dp;
    ht_optimizer *optimizer;

    (void)state;
    ht_module_add_parameter(net, "again", NULL, ht_module_find_parameter(net, "fc1.weight"));
    optimizer = new_optimizer(net, SGD);
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    assert_non_null(dp);
    assert_int_equal(one_step(dp, optimizer), HT_SUCCESS);
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
}

static void expect_refusal(ht_tensor *x, ht_tensor *y, const char *message)
{
    assert_int_equal(ht_tensor_set_(x, y), HT_ERR_STATE);
    expect_message(message);
}

/* One rank alone may try, between any two calls: nothing is sent, and nothing has changed. */
static void check_not_tied_later(bool blocking, bool alone)
{
    ht_module *net = new_net(3);
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, blocking);
    ht_tensor *shift = ht_module_find_parameter(net, "shift");
    ht_tensor *bias = ht_module_find_parameter(net, "fc2.bias"), *flat;
    const int64_t length = 2 * OUT;

    set_handlers(HT_ERRORS_RETURN);
    assert_int_equal(one_step(dp, optimizer), HT_SUCCESS);
    if (!alone || ht_test_rank == ht_test_size - 1) {
        expect_refusal(shift, bias,
                       "ht_tensor_set_: parameter shift would share memory with "
                       "fc2.bias");
        flat = ht_full(1, &length, 1, HT_FLOAT64, HT_LOCAL);
        assert_int_equal(ht_tensor_set_(shift, ht_narrow(flat, 0, 0, OUT)), HT_SUCCESS);
        expect_refusal(bias, ht_narrow(flat, 0, OUT - 1, 2 * OUT - 1),
                       "fc2.bias would share memory with");
        assert_int_equal(ht_tensor_set_(shift, shift), HT_SUCCESS);
        assert_int_equal(ht_tensor_set_(bias, ht_narrow(flat, 0, OUT, 2 * OUT)), HT_SUCCESS);
    }
    assert_int_equal(one_step(dp, optimizer), HT_SUCCESS);
    ht_release(dp);
    assert_int_equal(ht_tensor_set_(shift, bias), HT_SUCCESS);
    set_handlers(HT_ERRORS_ABORT);
    ht_release(net);
    ht_release(optimizer);
}

static void a_wrapped_parameter_does_not_move_onto_another(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++)
        check_not_tied_later(way & 1, way & 2);
}

static void a_wrapped_parameter_does_not_move_onto_one_of_another_wrapper(void **state)
{
    ht_module *net = ht_nn_sequential(2, (ht_module *[]){ht_nn_linear(3, 3), ht_nn_linear(3, 3)});
    ht_tensor *first = ht_module_find_parameter(net, "0.weight");
    ht_tensor *second = ht_module_find_parameter(net, "1.weight");

    (void)state;
    assert_int_equal(ht_nn_data_parallel_separate(net, HT_COMM_WORLD, 0, NULL, NULL), HT_SUCCESS);
    set_handlers(HT_ERRORS_RETURN);
    expect_refusal(second, first, "parameter weight would share memory with weight");
    set_handlers(HT_ERRORS_ABORT);
    ht_release(net);
}

HT_TEST_SUITE(test_reducer_disjoint, cmocka_unit_test(two_parameters_on_one_memory_are_not_wrapped),
              cmocka_unit_test(shared_parameters_of_two_submodules_are_refused),
              cmocka_unit_test(one_tensor_in_two_places_is_one_parameter),
              cmocka_unit_test(a_wrapped_parameter_does_not_move_onto_another),
              cmocka_unit_test(a_wrapped_parameter_does_not_move_onto_one_of_another_wrapper));

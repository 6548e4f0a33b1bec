/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Parameters that lie on one memory: updates of it that wait for averages would come in another
 * order on every rank. */
#include "data_parallel_test.h"

static void set_handlers(ht_errhandler handler)
{
    ht_comm_set_errhandler(HT_COMM_WORLD, handler);
    ht_comm_set_errhandler(HT_COMM_SELF, handler);
    ht_error_clear();
}

static void expect_message(const char *part)
{
    const char *message;

    assert_int_not_equal(ht_error_get(&message), HT_SUCCESS);
    if (strstr(message, part) == NULL)
        fail_msg("'%s' is not in '%s'", part, message);
    ht_error_clear();
}

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
    ht_tensor *flat = ht_array_local(values, 1, (int64_t[]){12}, HT_FLOAT64);

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
static void nor_are_those_of_two_submodules(void **state)
{
    ht_module *net = ht_nn_sequential(2, (ht_module *[]){ht_nn_linear(3, 3), ht_nn_linear(3, 3)});

    (void)state;
    tie(net, "1.weight", "0.weight");
    set_handlers(HT_ERRORS_RETURN);
    assert_int_equal(ht_nn_data_parallel_separate(net, HT_COMM_WORLD, 0, NULL, NULL),
                     HT_ERR_ARGUMENT);
    expect_message("ht_nn_data_parallel_separate: parameters 0.weight and 1.weight share memory");
    set_handlers(HT_ERRORS_ABORT);
    ht_release(net);
}

static ht_status one_step(ht_module *dp, ht_optimizer *optimizer)
{
    ht_status status = ht_optimizer_zero_grad(optimizer);

    if (status == HT_SUCCESS)
        status = backward_rows(dp, 4 * ht_test_rank, 4);
    return status == HT_SUCCESS ? ht_optimizer_step(optimizer) : status;
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

HT_TEST_SUITE(test_reducer_apart, cmocka_unit_test(two_parameters_on_one_memory_are_not_wrapped),
              cmocka_unit_test(nor_are_those_of_two_submodules),
              cmocka_unit_test(one_tensor_in_two_places_is_one_parameter));

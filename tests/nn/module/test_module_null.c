/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* A module or a function that is NULL is an error, unless an earlier error made it so. */
#include "nn/nn_test.h"

#include "tensor_check.h"

static void visit_module(const char *name, ht_module *module, void *user)
{
    (void)name;
    (void)module;
    (*(int *)user)++;
}

static void visit_tensor(const char *name, ht_tensor *tensor, void *user)
{
    (void)name;
    (void)tensor;
    (*(int *)user)++;
}

static void modes_of_a_null_module_are_errors(void **state)
{
    (void)state;
    HT_TEST_EXPECT_ERROR(ht_module_train(NULL), HT_ERR_ARGUMENT, "ht_module_train: module is NULL");
    HT_TEST_EXPECT_ERROR(ht_module_eval(NULL), HT_ERR_ARGUMENT, "ht_module_eval: module is NULL");
    HT_TEST_EXPECT_ERROR(ht_module_requires_grad(NULL, false), HT_ERR_ARGUMENT,
                         "ht_module_requires_grad: module is NULL");
    HT_TEST_EXPECT_ERROR(ht_module_zero_grad(NULL), HT_ERR_ARGUMENT,
                         "ht_module_zero_grad: module is NULL");
}

static void walks_need_a_module_and_a_function(void **state)
{
    ht_module *net = ht_nn_linear(2, 2);
    int visits = 0;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_module_apply(net, NULL, NULL);
    nn_assert_error("ht_module_apply: visit is NULL");
    ht_module_apply(NULL, visit_module, &visits);
    nn_assert_error("ht_module_apply: module is NULL");
    ht_module_named_parameters(net, NULL, NULL);
    nn_assert_error("ht_module_named_parameters: visit is NULL");
    ht_module_named_parameters(NULL, visit_tensor, &visits);
    nn_assert_error("ht_module_named_parameters: module is NULL");
    ht_module_named_buffers(net, NULL, NULL);
    nn_assert_error("ht_module_named_buffers: visit is NULL");
    assert_null(ht_module_buffers(NULL));
    nn_assert_error("ht_module_buffers: module is NULL");
    assert_null(ht_module_find_buffer(net, NULL));
    nn_assert_error("ht_module_find_buffer: path is NULL");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    assert_int_equal(visits, 0);
    ht_release(net);
}

static ht_value *keep(ht_module *module, ht_value *inputs, void *user)
{
    (void)module;
    (void)inputs;
    (void)user;
    return NULL;
}

static void hooks_name_their_own_function(void **state)
{
    ht_module *net = ht_nn_linear(2, 2);

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(ht_module_register_forward_pre_hook(net, NULL, NULL), 0);
    nn_assert_error("ht_module_register_forward_pre_hook: hook is NULL");
    assert_int_equal(ht_module_register_forward_pre_hook(NULL, keep, NULL), 0);
    nn_assert_error("ht_module_register_forward_pre_hook: module is NULL");
    assert_int_equal(ht_module_register_forward_hook(net, NULL, NULL), 0);
    nn_assert_error("ht_module_register_forward_hook: hook is NULL");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_release(net);
}

static void an_earlier_error_is_kept(void **state)
{
    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(ht_module_train(ht_nn_linear(-1, 2)), HT_ERR_ARGUMENT);
    assert_message("ht_nn_linear");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

HT_TEST_SUITE(test_module_null, cmocka_unit_test(modes_of_a_null_module_are_errors),
              cmocka_unit_test(walks_need_a_module_and_a_function),
              cmocka_unit_test(hooks_name_their_own_function),
              cmocka_unit_test(an_earlier_error_is_kept));

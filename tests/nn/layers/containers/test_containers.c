/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Lists and maps of modules and parameters, Identity and Unflatten. */
#include <limits.h>

#include "nn/nn_test.h"
#include "tensor_check.h"

static void lists_name_modules_by_number(void **state)
{
    ht_module *list = ht_nn_module_list(
        HT_LIST(ht_module *, ht_nn_linear(2, 3), ht_nn_relu(), ht_nn_linear(3, 1)));
    const char *name;

    (void)state;
    assert_int_equal(ht_nn_module_list_append(list, ht_nn_linear(1, 5)), HT_SUCCESS);
    assert_int_equal(ht_module_child_count(list), 4);
    assert_ptr_equal(ht_module_child(list, 3, &name), ht_module_find(list, "3"));
    assert_string_equal(name, "3");
    assert_non_null(ht_module_find_parameter(list, "2.weight"));
    assert_int_equal(ht_module_parameter_count(list), 9 + 4 + 10);
    HT_TEST_EXPECT_ERROR(ht_forward(list, ht_ones(HT_SHAPE(2, 2), HT_FLOAT32, HT_LOCAL)),
                         HT_ERR_UNSUPPORTED, "ht_forward: ModuleList has no forward");
    ht_release(list);
}

static void sequences_may_grow(void **state)
{
    ht_module *net = ht_nn_sequential(HT_LIST(ht_module *, ht_nn_linear(2, 3)));
    ht_tensor *y;

    (void)state;
    assert_int_equal(ht_nn_module_list_append(net, ht_nn_linear(3, 7)), HT_SUCCESS);
    y = ht_forward(net, ht_ones(HT_SHAPE(2, 2), HT_FLOAT32, HT_LOCAL));
    assert_int_equal(ht_tensor_shape(y)[1], 7);
    ht_release(net);
}

static void maps_name_modules(void **state)
{
    const char *const names[] = {"first", "second"}, *const twice[] = {"same", "same"};
    ht_module *map = ht_nn_module_dict(2, names, (ht_module *[]){ht_nn_linear(2, 3), ht_nn_relu()});

    (void)state;
    assert_ptr_equal(ht_module_find(map, "first"), ht_module_child(map, 0, NULL));
    assert_int_equal(ht_module_replace(map, "second", ht_nn_linear(3, 4)), HT_SUCCESS);
    assert_int_equal(ht_module_parameter_count(map), 9 + 16);
    ht_release(map);
    HT_TEST_EXPECT_ERROR(ht_nn_module_dict(2, twice, (ht_module *[]){ht_nn_relu(), ht_nn_relu()}),
                         HT_ERR_ARGUMENT, "same");
    HT_TEST_EXPECT_ERROR(ht_nn_module_dict(1, NULL, (ht_module *[]){ht_nn_relu()}), HT_ERR_ARGUMENT,
                         "ht_nn_module_dict: names is NULL");
}

static void parameters_are_held(void **state)
{
    ht_tensor *a = ht_ones(HT_SHAPE(2, 2), HT_FLOAT32, HT_LOCAL);
    ht_tensor *b = ht_zeros(HT_SHAPE(3), HT_FLOAT32, HT_LOCAL);
    ht_module *list = ht_nn_parameter_list(HT_LIST(ht_tensor *, a, b));
    ht_module *map = ht_nn_parameter_dict(2, (const char *[]){"x", "y"}, (ht_tensor *[]){a, b});

    (void)state;
    assert_int_equal(ht_nn_parameter_list_append(list, ht_ones(HT_SHAPE(4), HT_FLOAT32, HT_LOCAL)),
                     HT_SUCCESS);
    assert_int_equal(ht_module_parameter_count(list), 11);
    assert_ptr_equal(ht_module_find_parameter(list, "1"), b);
    assert_ptr_equal(ht_module_find_parameter(map, "x"), a);
    assert_true(ht_tensor_requires_grad(a));
    assert_int_equal(ht_value_count(ht_module_state_dict(map)), 2);
    ht_release(list);
    ht_release(map);
    HT_TEST_EXPECT_ERROR(ht_nn_parameter_dict(1, NULL, &a), HT_ERR_ARGUMENT,
                         "ht_nn_parameter_dict: names is NULL");
}

static void counts_below_0_are_errors(void **state)
{
    (void)state;
    HT_TEST_EXPECT_ERROR(ht_nn_sequential(-1, NULL), HT_ERR_ARGUMENT,
                         "ht_nn_sequential: count is -1, expected at least 0");
    HT_TEST_EXPECT_ERROR(ht_nn_module_list(-2, NULL), HT_ERR_ARGUMENT,
                         "ht_nn_module_list: count is -2, expected at least 0");
    HT_TEST_EXPECT_ERROR(ht_nn_module_dict(-1, NULL, NULL), HT_ERR_ARGUMENT, "count is -1");
    HT_TEST_EXPECT_ERROR(ht_nn_parameter_list(-1, NULL), HT_ERR_ARGUMENT, "count is -1");
    HT_TEST_EXPECT_ERROR(ht_nn_parameter_dict(-1, NULL, NULL), HT_ERR_ARGUMENT, "count is -1");
}

static void identity_returns_its_input(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(3, 2), HT_FLOAT32, 0);
    ht_module *identity = ht_nn_identity();

    (void)state;
    assert_ptr_equal(ht_forward(identity, x), x);
    ht_release(identity);
}

static void unflatten_is_the_inverse_of_flatten(void **state)
{
    ht_tensor *x = ht_astype(ht_arange(0, 24, 1, HT_INT32, 0), HT_FLOAT64);
    ht_module *layer = ht_nn_unflatten(1, HT_SHAPE(2, -1));
    ht_tensor *rows = ht_reshape(x, HT_SHAPE(4, 6)), *y;

    (void)state;
    ht_tensor_set_requires_grad(rows, true);
    y = ht_forward(layer, rows);
    assert_int_equal(ht_tensor_ndim(y), 3);
    assert_int_equal(ht_tensor_shape(y)[2], 3);
    assert_int_equal(ht_tensor_split(y), 0);
    ht_test_expect_same(ht_flatten(y, 1), rows, 0);
    assert_int_equal(ht_backward(ht_sum(ht_mul(y, y), HT_NONE)), HT_SUCCESS);
    ht_test_expect_same(ht_tensor_grad(rows), ht_mul_scalar(ht_detach(rows), 2), 0);
    assert_int_equal(ht_tensor_ndim(ht_unflatten(x, 0, HT_SHAPE(2, 3, 4))), 3);
    y = ht_unflatten(ht_zeros(HT_SHAPE(0, 6), HT_FLOAT32, 0), -1, HT_SHAPE(-1, 3));
    assert_int_equal(ht_tensor_shape(y)[1], 2);
    ht_release(layer);
}

static void bad_lengths_are_errors(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(4, 6), HT_FLOAT32, HT_NONE);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_unflatten(x, 1, HT_SHAPE(4, 2)), HT_ERR_SHAPE,
                         "ht_unflatten: shape is (4, 2), expected one with 6 elements");
    HT_TEST_EXPECT_ERROR(ht_unflatten(x, 0, HT_SHAPE(-1, -1)), HT_ERR_SHAPE,
                         "ht_unflatten: shape is (-1, -1), expected one with 4 elements");
    HT_TEST_EXPECT_ERROR(ht_unflatten(x, 0, HT_SHAPE(0, -1)), HT_ERR_SHAPE,
                         "shape is (0, -1), expected one with 4 elements");
    HT_TEST_EXPECT_ERROR(ht_unflatten(x, 0, 0, (int64_t[]){1}), HT_ERR_ARGUMENT,
                         "ht_unflatten: ndim is 0, expected 1 to 7");
    HT_TEST_EXPECT_ERROR(ht_unflatten(x, 0, INT_MAX, (int64_t[]){4}), HT_ERR_ARGUMENT,
                         "ht_unflatten: ndim is 2147483647, expected 1 to 7");
    HT_TEST_EXPECT_ERROR(ht_nn_unflatten(1, 0, NULL), HT_ERR_ARGUMENT,
                         "ht_nn_unflatten: ndim is 0, expected 1 to 8");
}

HT_TEST_SUITE(test_containers, cmocka_unit_test(lists_name_modules_by_number),
              cmocka_unit_test(sequences_may_grow), cmocka_unit_test(maps_name_modules),
              cmocka_unit_test(parameters_are_held), cmocka_unit_test(counts_below_0_are_errors),
              cmocka_unit_test(identity_returns_its_input),
              cmocka_unit_test(unflatten_is_the_inverse_of_flatten),
              cmocka_unit_test(bad_lengths_are_errors));

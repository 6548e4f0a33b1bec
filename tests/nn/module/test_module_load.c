/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* Buffers, and states that do not match the module: strict and non-strict loading. */
#include <string.h>

#include "nn/nn_test.h"
#include "tensor_check.h"

static ht_module *net_new(double value)
{
    ht_module *net = ht_nn_sequential(HT_LIST(ht_module *, ht_nn_linear(2, 1)));

    ht_module_add_buffer(net, "kept", NULL, ht_full(HT_SHAPE(2), value, HT_FLOAT32, HT_LOCAL));
    ht_module_add_buffer_ext(net, "transient", NULL,
                             ht_full(HT_SHAPE(2), value, HT_FLOAT32, HT_LOCAL), false);
    return net;
}

static double first(ht_module *net, const char *path)
{
    const float *data = ht_test_data(ht_module_find_buffer(net, path));

    return data[0];
}

static void buffers_are_found_and_listed(void **state)
{
    ht_module *net = net_new(3), *outer;

    (void)state;
    outer = ht_nn_sequential(HT_LIST(ht_module *, net));
    assert_int_equal(ht_value_count(ht_module_buffers(outer)), 2);
    assert_ptr_equal(ht_value_as_tensor(ht_value_at(ht_module_buffers(outer), 0)),
                     ht_module_find_buffer(outer, "0.kept"));
    assert_non_null(ht_module_find_buffer(outer, "0.transient"));
    assert_null(ht_module_find_buffer(outer, "0.0.weight")); /* a parameter */
    assert_null(ht_module_find_buffer(outer, "kept"));
    assert_null(ht_module_find_buffer(outer, "1.kept"));
    assert_int_equal(ht_error_get(NULL), HT_SUCCESS);
    ht_release(outer);
}

static void a_transient_buffer_is_not_saved(void **state)
{
    ht_module *a = net_new(3), *b = net_new(4), *copy;
    ht_value *map = ht_module_state_dict(a);

    (void)state;
    assert_int_equal(ht_value_count(map), 3);
    assert_non_null(ht_value_get(map, "kept"));
    assert_null(ht_value_get(map, "transient"));
    assert_int_equal(ht_module_load_state_dict(b, map), HT_SUCCESS);
    assert_true(first(b, "kept") == 3 && first(b, "transient") == 4);
    copy = ht_module_clone(b);
    assert_int_equal(ht_value_count(ht_module_state_dict(copy)), 3);
    assert_true(first(copy, "transient") == 4);
    ht_release(copy);
    ht_release(a);
    ht_release(b);
}

/* A state without 0.bias, and with two entries more. */
static ht_value *other_state(ht_module *of)
{
    ht_value *all = ht_module_state_dict(of), *map = ht_value_map();

    ht_value_set(map, "0.weight", ht_value_get(all, "0.weight"));
    ht_value_set(map, "kept", ht_value_get(all, "kept"));
    ht_value_set(map, "extra", ht_value_tensor(ht_zeros(HT_SHAPE(1), HT_FLOAT32, HT_LOCAL)));
    ht_value_set(map, "nested", ht_value_map());
    return map;
}

static void unmatched_entries_are_listed(void **state)
{
    ht_module *a = net_new(3), *b = net_new(4);
    ht_value *map = other_state(a), *missing = NULL, *unexpected = NULL;

    (void)state;
    assert_int_equal(ht_module_load_state_dict_ext(b, map, false, &missing, &unexpected),
                     HT_SUCCESS);
    assert_int_equal(ht_value_count(missing), 1);
    assert_string_equal(ht_value_key(missing, 0), "0.bias");
    assert_ptr_equal(ht_value_as_tensor(ht_value_at(missing, 0)),
                     ht_module_find_parameter(b, "0.bias"));
    assert_int_equal(ht_value_count(unexpected), 2);
    assert_string_equal(ht_value_key(unexpected, 0), "extra");
    assert_string_equal(ht_value_key(unexpected, 1), "nested");
    assert_true(first(b, "kept") == 3);
    assert_memory_equal(ht_test_data(ht_module_find_parameter(a, "0.weight")),
                        ht_test_data(ht_module_find_parameter(b, "0.weight")), 2 * sizeof(float));

    assert_int_equal(ht_module_load_state_dict_ext(b, ht_value_map(), false, NULL, NULL),
                     HT_SUCCESS);
    assert_int_equal(
        ht_module_load_state_dict_ext(b, ht_module_state_dict(a), true, &missing, &unexpected),
        HT_SUCCESS);
    assert_int_equal(ht_value_count(missing) + ht_value_count(unexpected), 0);
    ht_release(a);
    ht_release(b);
}

static void strict_loading_and_other_shapes_fail(void **state)
{
    ht_module *a = net_new(3), *b = net_new(4);
    ht_value *map = other_state(a), *missing = NULL, *unexpected = NULL;
    ht_tensor *wide = ht_zeros(HT_SHAPE(3), HT_FLOAT32, HT_LOCAL);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_module_load_state_dict_ext(b, map, true, &missing, &unexpected),
                         HT_ERR_FORMAT, "whose entry \"nested\" is a state of its own");
    ht_value_set(map, "nested", ht_value_number(1));
    HT_TEST_EXPECT_ERROR(ht_module_load_state_dict_ext(b, map, true, &missing, &unexpected),
                         HT_ERR_FORMAT,
                         "the state does not fit the model: unexpected extra; unexpected nested; "
                         "missing 0.bias");
    ht_value_set(map, "kept", ht_value_tensor(wide));
    HT_TEST_EXPECT_ERROR(ht_module_load_state_dict_ext(b, map, false, &missing, &unexpected),
                         HT_ERR_FORMAT, "misshapen kept is (3,) in the state, (2,) in the model");
    HT_TEST_EXPECT_ERROR(ht_module_load_state_dict_ext(b, ht_value_number(1), false, NULL, NULL),
                         HT_ERR_ARGUMENT, "state is a number, expected a map");
    assert_null(missing);
    assert_null(unexpected);
    assert_true(first(b, "kept") == 4);
    ht_release(a);
    ht_release(b);
}

HT_TEST_SUITE(test_module_load, cmocka_unit_test(buffers_are_found_and_listed),
              cmocka_unit_test(a_transient_buffer_is_not_saved),
              cmocka_unit_test(unmatched_entries_are_listed),
              cmocka_unit_test(strict_loading_and_other_shapes_fail));

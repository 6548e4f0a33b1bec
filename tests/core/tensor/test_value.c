/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
#include "ht_test.h"
#include "tensor_check.h"

static void a_value_knows_its_kind(void **state)
{
    (void)state;
    ht_tensor *x = ht_ones(HT_SHAPE(2), HT_FLOAT32, 0);
    ht_value *tensor = ht_value_tensor(x), *number = ht_value_number(2.5);

    assert_int_equal(ht_value_get_kind(NULL), HT_VALUE_NONE);
    assert_int_equal(ht_value_get_kind(tensor), HT_VALUE_TENSOR);
    assert_int_equal(ht_value_get_kind(ht_value_list()), HT_VALUE_LIST);
    assert_int_equal(ht_value_get_kind(ht_value_map()), HT_VALUE_MAP);
    assert_ptr_equal(ht_value_as_tensor(tensor), x);
    assert_null(ht_value_as_tensor(number));
    assert_true(ht_value_as_number(number) == 2.5);
    assert_true(ht_value_as_number(tensor) == 0);
}

static void lists_keep_order_and_maps_their_keys(void **state)
{
    (void)state;
    ht_value *list = ht_value_list(), *map = ht_value_map();

    for (int i = 0; i < 20; i++)
        assert_int_equal(ht_value_append(list, ht_value_number(i)), HT_SUCCESS);
    assert_int_equal(ht_value_count(list), 20);
    assert_true(ht_value_as_number(ht_value_at(list, 17)) == 17);
    assert_null(ht_value_at(list, 20));

    ht_value_set(map, "loss", list);
    ht_value_set(map, "accuracy", ht_value_number(0.5));
    ht_value_set(map, "loss", ht_value_number(3));
    assert_int_equal(ht_value_count(map), 2);
    assert_string_equal(ht_value_key(map, 0), "loss");
    assert_string_equal(ht_value_key(map, 1), "accuracy");
    assert_true(ht_value_as_number(ht_value_get(map, "loss")) == 3);
    assert_null(ht_value_get(map, "top5"));
}

/* A long map finds its keys by a hash, with the same order and the same replacement. */
static void a_long_map_finds_its_keys(void **state)
{
    enum { KEYS = 5000 };
    ht_value *map = ht_value_map();
    char key[32];

    (void)state;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < KEYS; i++) {
            snprintf(key, sizeof key, "layer.%d.weight", i * 7 % KEYS);
            assert_int_equal(ht_value_set(map, key, ht_value_number(i + pass)), HT_SUCCESS);
            assert_int_equal(ht_value_count(map), pass == 0 ? i + 1 : KEYS);
        }
    }
    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "layer.%d.weight", i * 7 % KEYS);
        assert_string_equal(ht_value_key(map, i), key);
        assert_true(ht_value_as_number(ht_value_get(map, key)) == i + 1);
    }
    assert_null(ht_value_get(map, "layer.5000.weight"));
    assert_null(ht_value_get(map, ""));
}

static void only_lists_are_appended_to(void **state)
{
    (void)state;
    HT_TEST_EXPECT_ERROR(ht_value_append(ht_value_map(), ht_value_number(1)), HT_ERR_ARGUMENT,
                         "ht_value_append");
}

static void a_value_is_not_put_into_itself(void **state)
{
    ht_value *list = ht_value_list(), *map = ht_value_map(), *deep = ht_value_list();

    (void)state;
    assert_int_equal(ht_value_set(map, "list", list), HT_SUCCESS);
    assert_int_equal(ht_value_append(deep, map), HT_SUCCESS);
    HT_TEST_EXPECT_ERROR(ht_value_append(list, list), HT_ERR_ARGUMENT,
                         "ht_value_append: the item is, or contains, the value");
    HT_TEST_EXPECT_ERROR(ht_value_append(list, deep), HT_ERR_ARGUMENT,
                         "ht_value_append: the item is, or contains, the value");
    HT_TEST_EXPECT_ERROR(ht_value_set(map, "map", map), HT_ERR_ARGUMENT,
                         "ht_value_set: the item is, or contains, the value");
    HT_TEST_EXPECT_ERROR(ht_value_set(map, "list", deep), HT_ERR_ARGUMENT,
                         "ht_value_set: the item is, or contains, the value");
    assert_int_equal(ht_value_count(list), 0);
    assert_ptr_equal(ht_value_get(map, "list"), list);
    assert_int_equal(ht_value_append(deep, list), HT_SUCCESS); /* twice in one, but in no circle */
}

static void a_negative_count_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(ht_value_count(ht_value_tensors(0, NULL)), 0);
    HT_TEST_EXPECT_ERROR(assert_null(ht_value_tensors(-1, NULL)), HT_ERR_ARGUMENT,
                         "ht_value_tensors: count is -1, expected at least 0");
}

HT_TEST_SUITE(test_value, cmocka_unit_test(a_value_knows_its_kind),
              cmocka_unit_test(lists_keep_order_and_maps_their_keys),
              cmocka_unit_test(a_long_map_finds_its_keys),
              cmocka_unit_test(only_lists_are_appended_to),
              cmocka_unit_test(a_value_is_not_put_into_itself),
              cmocka_unit_test(a_negative_count_is_an_error));

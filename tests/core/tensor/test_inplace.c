/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "ht_test.h"
#include "tensor_check.h"

static const int64_t shape[2] = {5, 3};

static void add_scales_and_resplits_its_operand(void **state)
{
    (void)state;
    for (int split = -1; split < 2; split++) {
        ht_tensor *a = ht_test_randn(2, shape, HT_FLOAT64, 0, 1);
        ht_tensor *b = ht_test_randn(2, shape, HT_FLOAT64, split < 0 ? HT_NONE : split, 2);
        ht_tensor *expected = ht_add(ht_copy(a), ht_mul_scalar(b, -0.5));

        assert_int_equal(ht_add_(a, b, -0.5), HT_SUCCESS);
        ht_test_expect_same(a, expected, 1e-15);
        assert_int_equal(ht_tensor_split(a), 0);
    }
}

/* The shifted view must see the values from before. */
static void add_of_a_view_that_overlaps(void **state)
{
    const double values[4] = {1, 2, 4, 8};
    ht_tensor *x = ht_array(values, HT_SHAPE(4), HT_FLOAT64, HT_LOCAL);
    ht_tensor *to = ht_narrow(x, 0, 1, 4), *from = ht_narrow(x, 0, 0, 3);

    (void)state;
    assert_int_equal(ht_add_(to, from, 1), HT_SUCCESS);
    assert_memory_equal(ht_test_data(x), ((const double[]){1, 3, 6, 12}), sizeof values);
    assert_int_equal(ht_add_(to, to, 2), HT_SUCCESS);
    assert_memory_equal(ht_test_data(x), ((const double[]){1, 9, 18, 36}), sizeof values);
}

static void copy_converts_and_broadcasts(void **state)
{
    (void)state;
    const double row[3] = {1.9, -2, 300};
    ht_tensor *x = ht_zeros(2, shape, HT_INT32, 1);
    ht_tensor *y = ht_array(row, HT_SHAPE(3), HT_FLOAT64, 0);

    assert_int_equal(ht_copy_(x, y), HT_SUCCESS);
    for (int i = 0; i < 15; i++)
        assert_true(ht_test_values(x)[i] == trunc(row[i % 3]));
}

static void a_copy_into_a_column_changes_that_alone(void **state)
{
    (void)state;
    ht_tensor *x = ht_zeros(2, shape, HT_FLOAT32, 0);

    assert_int_equal(ht_copy_(ht_narrow(x, 1, 1, 2), ht_ones(HT_SHAPE(5, 1), HT_FLOAT32, HT_NONE)),
                     HT_SUCCESS);
    for (int i = 0; i < 15; i++)
        assert_true(ht_test_values(x)[i] == (i % 3 == 1));
}

static void resplit_in_place_moves_the_slabs(void **state)
{
    (void)state;
    ht_tensor *x = ht_test_randn(2, shape, HT_FLOAT64, 0, 3), *before = ht_copy(x);

    assert_int_equal(ht_resplit_(x, 1), HT_SUCCESS);
    assert_int_equal(ht_tensor_split(x), 1);
    ht_test_expect_same(x, before, 0);
    assert_int_equal(ht_resplit_(x, HT_NONE), HT_SUCCESS);
    assert_int_equal(ht_tensor_lsize(x), 15);
    ht_test_expect_same(x, before, 0);
}

static void set_shares_dtype_and_storage(void **state)
{
    (void)state;
    ht_tensor *x = ht_zeros(HT_SHAPE(2), HT_BOOL, HT_NONE);
    ht_tensor *y = ht_test_randn(2, shape, HT_FLOAT64, 1, 4);

    assert_int_equal(ht_tensor_set_(x, y), HT_SUCCESS);
    assert_int_equal(ht_tensor_dtype(x), HT_FLOAT64);
    assert_ptr_equal(ht_tensor_data(x), ht_tensor_data(y));
}

static void views_keep_their_body(void **state)
{
    (void)state;
    ht_tensor *x = ht_zeros(2, shape, HT_FLOAT32, HT_NONE);

    HT_TEST_EXPECT_ERROR(ht_tensor_set_(ht_narrow(x, 0, 0, 2), x), HT_ERR_STATE, "view");
    HT_TEST_EXPECT_ERROR(ht_resplit_(ht_narrow(x, 0, 0, 2), 0), HT_ERR_STATE, "view");
}

/* A parameter restored from a copy that was made with gradients on stays a leaf. */
static void copy_without_gradients_leaves_no_history(void **state)
{
    (void)state;
    ht_tensor *x = ht_test_randn(2, shape, HT_FLOAT64, 0, 6), *saved;
    bool was;

    ht_tensor_set_requires_grad(x, true);
    saved = ht_copy(x);
    was = ht_set_grad_enabled(false);
    assert_int_equal(ht_copy_(x, saved), HT_SUCCESS);
    ht_set_grad_enabled(was);
    assert_true(ht_tensor_is_leaf(x));
}

/* The operands of x no longer get a gradient, and y, a leaf or not, gets all of it. */
static void copy_takes_the_history_of_what_it_copies(void **state)
{
    (void)state;
    for (int leaf = 0; leaf < 2; leaf++) {
        ht_tensor *old = ht_test_randn(2, shape, HT_FLOAT64, 0, 7), *x;
        ht_tensor *y = ht_test_randn(2, shape, HT_FLOAT64, 0, 8);

        ht_tensor_set_requires_grad(old, true);
        ht_tensor_set_requires_grad(y, true);
        x = ht_mul_scalar(old, 2);
        assert_int_equal(ht_copy_(x, leaf ? y : ht_mul_scalar(y, 1)), HT_SUCCESS);
        assert_int_equal(ht_backward(ht_sum(ht_mul_scalar(x, 3), HT_NONE)), HT_SUCCESS);
        assert_null(ht_tensor_grad(old));
        ht_test_expect_same(ht_tensor_grad(y), ht_full_like(y, 3), 0);
    }
}

static void comparisons_exclude_nan(void **state)
{
    (void)state;
    const double a[4] = {1, 2, 3, NAN}, b[4] = {2, 2, 2, NAN};
    const int64_t four[1] = {4};

    for (int split = -1; split < 1; split++) {
        ht_tensor *x = ht_array(a, 1, four, HT_FLOAT64, split < 0 ? HT_NONE : split);
        ht_tensor *y = ht_array(b, 1, four, HT_FLOAT64, HT_NONE);

        ht_test_expect(ht_le(x, y), (double[]){1, 1, 0, 0}, 0);
        ht_test_expect(ht_ne(x, y), (double[]){1, 0, 1, 1}, 0);
    }
}

static void one_element_is_a_number(void **state)
{
    (void)state;
    double value = 0;
    ht_tensor *x = ht_full(HT_SHAPE(1, 1), 2.5, HT_FLOAT32, 0);

    assert_int_equal(ht_tensor_item(x, &value), HT_SUCCESS);
    assert_true(value == 2.5);
    HT_TEST_EXPECT_ERROR(ht_tensor_item(ht_zeros(2, shape, HT_FLOAT32, 0), &value), HT_ERR_SHAPE,
                         "ht_tensor_item");
}

static void keepdims_and_squeeze_of_axes_of_length_1(void **state)
{
    (void)state;
    ht_tensor *x = ht_test_randn(2, shape, HT_FLOAT64, 0, 5);
    ht_reduce_options kept = ht_reduce_options_default();
    ht_tensor *sum;

    kept.count = 1, kept.axes = &(int){1}, kept.keepdims = true;
    sum = ht_sum_ext(x, &kept);
    assert_int_equal(ht_tensor_ndim(sum), 2);
    assert_int_equal(ht_tensor_shape(sum)[1], 1);
    assert_int_equal(ht_tensor_split(sum), 0);
    ht_test_expect_same(ht_squeeze(sum, 1), ht_sum(x, 1), 0);
    HT_TEST_EXPECT_ERROR(ht_squeeze(x, 1), HT_ERR_SHAPE, "ht_squeeze");
}

/* Not of what they call. */
static void messages_name_the_call_and_its_argument(void **state)
{
    ht_tensor *x = ht_zeros(2, shape, HT_FLOAT32, 0);
    ht_tensor *y = ht_zeros(HT_SHAPE(3, 5), HT_FLOAT32, 0);
    ht_tensor *z = ht_zeros(HT_SHAPE(2, 5, 3), HT_FLOAT32, 0);
    ht_tensor *fixed = ht_broadcast_to(ht_zeros(1, shape, HT_FLOAT32, 0), HT_SHAPE(2, 5));

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_copy_(x, y), HT_ERR_SHAPE,
                         "ht_copy_: y of shape (3, 5) does not broadcast to (5, 3)");
    HT_TEST_EXPECT_ERROR(ht_add_(x, z, 1), HT_ERR_SHAPE,
                         "ht_add_: the result of shape (2, 5, 3) does not broadcast to (5, 3)");
    HT_TEST_EXPECT_ERROR(ht_resplit_(x, 7), HT_ERR_ARGUMENT, "ht_resplit_: split is 7");
    HT_TEST_EXPECT_ERROR(ht_fill_ext_(fixed, HT_NUM(1)), HT_ERR_STATE, "ht_fill_ext_: ");
    HT_TEST_EXPECT_ERROR(ht_mul_scalar_ext_(fixed, HT_NUM(1)), HT_ERR_STATE,
                         "ht_mul_scalar_ext_: ");
    HT_TEST_EXPECT_ERROR(ht_relu_(fixed), HT_ERR_STATE, "ht_relu_: ");
}

HT_TEST_SUITE(test_inplace, cmocka_unit_test(messages_name_the_call_and_its_argument),
              cmocka_unit_test(add_scales_and_resplits_its_operand),
              cmocka_unit_test(add_of_a_view_that_overlaps),
              cmocka_unit_test(copy_converts_and_broadcasts),
              cmocka_unit_test(a_copy_into_a_column_changes_that_alone),
              cmocka_unit_test(resplit_in_place_moves_the_slabs),
              cmocka_unit_test(set_shares_dtype_and_storage),
              cmocka_unit_test(views_keep_their_body),
              cmocka_unit_test(copy_without_gradients_leaves_no_history),
              cmocka_unit_test(copy_takes_the_history_of_what_it_copies),
              cmocka_unit_test(comparisons_exclude_nan), cmocka_unit_test(one_element_is_a_number),
              cmocka_unit_test(keepdims_and_squeeze_of_axes_of_length_1));

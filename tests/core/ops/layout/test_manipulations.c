/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include "ht_test.h"
#include "tensor_check.h"

static const int64_t shape[3] = {6, 4, 5};

static int split_of(int i)
{
    return i < 0 ? HT_NONE : i;
}

static void resplit_keeps_every_element(void **state)
{
    (void)state;
    for (int from = -1; from < 3; from++) {
        for (int to = -1; to < 3; to++) {
            ht_scope *scope = ht_scope_open();
            ht_tensor *x = ht_test_randn(3, shape, HT_FLOAT32, split_of(from), 10);
            ht_tensor *y = ht_resplit(ht_permute(x, HT_AXES(1, 2, 0)), split_of(to));

            assert_int_equal(ht_tensor_split(y), split_of(to));
            ht_test_expect_same(
                y, ht_permute(ht_test_randn(3, shape, HT_FLOAT32, HT_NONE, 10), HT_AXES(1, 2, 0)),
                0);
            ht_scope_close(scope);
        }
    }
}

static void reshape_keeps_the_row_major_order(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {{120, 0},  {6, 20},      {24, 5},
                                        {5, 4, 6}, {2, 3, 4, 5}, {1, 120}};
    static const int ndims[] = {1, 2, 2, 3, 4, 2};
    double expected[120];

    for (int i = 0; i < 120; i++)
        expected[i] = i;
    for (int split = -1; split < 3; split++) {
        for (int s = 0; s < 6; s++) {
            ht_scope *scope = ht_scope_open();
            ht_tensor *x = ht_array(expected, 3, shape, HT_FLOAT64, split_of(split));
            ht_tensor *y = ht_reshape(x, ndims[s], shapes[s]);

            ht_test_expect(y, expected, 0);
            assert_int_equal(ht_tensor_ndim(y), ndims[s]);
            assert_true(ht_tensor_is_balanced(y));
            ht_scope_close(scope);
        }
    }
}

static void reshape_is_a_view_where_strides_allow(void **state)
{
    ht_use_device(ht_device_get("cpu"));

    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht_array((float[12]){0}, HT_SHAPE(3, 4), HT_FLOAT32, HT_LOCAL);
    ht_tensor *same = ht_reshape(x, HT_SHAPE(3, 2, -1));
    ht_tensor *copy = ht_flatten(ht_transpose(x, 0, 1), 0);

    assert_ptr_equal(ht_tensor_data(same), ht_tensor_data(x));
    assert_ptr_not_equal(ht_tensor_data(copy), ht_tensor_data(x));
    ht_scope_close(scope);
}

static void narrow_and_balance(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht_arange(0, 11, 1, HT_INT64, 0), *part = ht_narrow(x, 0, 3, 8);

    ht_test_expect(part, (double[]){3, 4, 5, 6, 7}, 0);
    ht_test_expect(ht_balance(part), (double[]){3, 4, 5, 6, 7}, 0);
    assert_true(ht_tensor_is_balanced(ht_balance(part)));
    ht_test_expect(ht_add(part, ht_balance(part)), (double[]){6, 8, 10, 12, 14}, 0);
    ht_test_expect(ht_narrow(x, 0, 11, 11), NULL, 0);
    ht_scope_close(scope);
}

/* In elements of the local part: views change them, and nothing else. */
static void strides_are_those_of_the_local_part(void **state)
{
    (void)state;
    const int64_t enough[3] = {6, 8, 5}; /* rows for every rank */
    ht_tensor *x = ht_test_randn(3, enough, HT_FLOAT32, 1, 14), *y;
    int64_t rows = ht_tensor_lshape(x)[1];
    const int64_t *stride = ht_tensor_stride(x);

    assert_true(stride[0] == 5 * rows && stride[1] == 5 && stride[2] == 1);
    y = ht_transpose(x, 0, 2);
    stride = ht_tensor_stride(y);
    assert_true(stride[0] == 1 && stride[1] == 5 && stride[2] == 5 * rows);
    assert_ptr_equal(ht_tensor_data(y), ht_tensor_data(x));
    stride = ht_tensor_stride(ht_narrow(x, 2, 1, 3));
    assert_true(stride[0] == 5 * rows && stride[1] == 5 && stride[2] == 1);
    y = ht_broadcast_to(ht_zeros(1, &shape[2], HT_FLOAT32, HT_NONE), HT_SHAPE(7, 5));
    assert_true(ht_tensor_stride(y)[0] == 0 && ht_tensor_stride(y)[1] == 1);
    stride = ht_tensor_stride(ht_copy(y));
    assert_true(stride[0] == 5 && stride[1] == 1);
}

static double mirrored(unsigned axes, int i, int j, int k)
{
    int at[3] = {axes & 1 ? 5 - i : i, axes & 2 ? 3 - j : j, axes & 4 ? 4 - k : k};

    return 20 * at[0] + 5 * at[1] + at[2];
}

static void flip_turns_axes_around(void **state)
{
    double expected[120];

    (void)state;
    for (unsigned axes = 0; axes < 8; axes++) {
        int list[3], count = 0;

        for (int axis = 0; axis < 3; axis++) {
            if ((axes >> axis & 1) != 0)
                list[count++] = axis - 3 * (axis % 2);
        }
        for (int i = 0; i < 120; i++)
            expected[i] = mirrored(axes, i / 20, i / 5 % 4, i % 5);
        for (int split = -1; split < 3; split++) {
            ht_scope *scope = ht_scope_open();
            ht_tensor *x = ht_reshape(ht_arange(0, 120, 1, HT_INT32, HT_NONE), 3, shape);
            ht_tensor *y = ht_flip(ht_resplit(x, split_of(split)), count, list);

            assert_int_equal(ht_tensor_split(y), split_of(split));
            ht_test_expect(y, expected, 0);
            ht_test_expect_same(ht_flip(y, count, list), x, 0);
            ht_scope_close(scope);
        }
    }
}

/* Slabs that are not balanced, and a slab in the middle of nothing. */
static void flip_of_a_part(void **state)
{
    (void)state;
    for (int start = 0; start < 10; start += 3) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = ht_narrow(ht_arange(0, 11, 1, HT_FLOAT32, 0), 0, start, 11);
        double expected[11];

        for (int i = 0; i < 11 - start; i++)
            expected[i] = 10 - i;
        ht_test_expect(ht_flip(x, HT_AXES(0)), expected, 0);
        assert_true(ht_tensor_is_balanced(ht_flip(x, 0, NULL)));
        ht_scope_close(scope);
    }
    HT_TEST_EXPECT_ERROR(ht_flip(ht_zeros(HT_SHAPE(3, 2), HT_BOOL, 0), HT_AXES(0, 1, -2)),
                         HT_ERR_ARGUMENT, "ht_flip: axis 0 is given twice");
    ht_test_expect(ht_flip(ht_zeros(HT_SHAPE(0), HT_BOOL, 0), HT_AXES(0)), NULL, 0);
}

/* One element along the split axis, on any rank: turned around it is where ht_comm_chunk has it. */
static void one_element_is_balanced_like_more(void **state)
{
    (void)state;
    for (int64_t at = 0; at < 7; at++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = ht_reshape(ht_arange(0, 14, 1, HT_FLOAT32, HT_NONE), HT_SHAPE(7, 2)), *part;
        const double row[2] = {2.0 * (double)at, 2.0 * (double)at + 1}, back[2] = {row[1], row[0]};
        const ht_index down = ht_slice_step(at, at > 0 ? at - 1 : HT_OPEN, -1);

        x = ht_resplit(x, 0);
        part = ht_narrow(x, 0, at, at + 1);
        ht_test_expect(ht_flip(part, HT_AXES(0)), row, 0);
        assert_true(ht_tensor_is_balanced(ht_flip(part, HT_AXES(0))));
        ht_test_expect(ht_flip(part, 0, NULL), back, 0);
        assert_true(ht_tensor_is_balanced(ht_flip(part, 0, NULL)));
        assert_true(ht_tensor_is_balanced(ht_rot90(part, 2, 0, 1)));
        ht_test_expect(ht_getitem(x, HT_KEY(down)), row, 0);
        assert_true(ht_tensor_is_balanced(ht_getitem(x, HT_KEY(down))));
        assert_true(ht_tensor_is_balanced(ht_getitem(part, HT_KEY(ht_slice_step(0, HT_OPEN, -2)))));
        assert_true(ht_tensor_is_balanced(ht_getitem(x, HT_KEY(ht_slice_step(at, at, -1)))));

        assert_int_equal(ht_setitem_(x, HT_KEY(down), ht_array(back, HT_SHAPE(2), HT_FLOAT64, 0)),
                         HT_SUCCESS);
        ht_test_expect(part, back, 0);
        ht_tensor_set_requires_grad(x, true);
        ht_backward(ht_sum(ht_mul_scalar(ht_getitem(x, HT_KEY(down)), 3), HT_NONE));
        ht_test_expect(ht_sum(ht_tensor_grad(x), HT_NONE), (double[]){6}, 0);
        ht_test_expect(ht_narrow(ht_tensor_grad(x), 0, at, at + 1), (double[]){3, 3}, 0);
        ht_scope_close(scope);
    }
}

static void concatenate_joins_in_order(void **state)
{
    (void)state;
    double expected[10];

    for (int i = 0; i < 10; i++)
        expected[i] = i;
    for (int split = -1; split < 1; split++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x[3] = {ht_arange(0, 3, 1, HT_FLOAT32, split_of(split)),
                           ht_arange(3, 3, 1, HT_FLOAT32, HT_NONE),
                           ht_arange(3, 10, 1, HT_FLOAT32, 0)};
        ht_test_expect(ht_concatenate(3, x, 0), expected, 0);
        ht_scope_close(scope);
    }
}

static void channels_last_changes_strides_alone(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht_test_randn(HT_SHAPE(3, 2, 4, 5), HT_FLOAT32, 0, 11);
    ht_tensor *y = ht_channels_last(x);

    assert_true(ht_tensor_is_channels_last(y));
    assert_true(ht_tensor_is_channels_last(ht_mul_scalar(y, 2)));
    assert_false(ht_tensor_lsize(x) > 0 && ht_tensor_is_channels_last(x));
    ht_test_expect_same(y, x, 0);
    ht_test_expect_same(ht_flatten(y, 1), ht_flatten(x, 1), 0);
    ht_scope_close(scope);
}

static void misuse_is_reported(void **state)
{
    enum { MANY = 17 }; /* lengths of 2^59 - 1 add up to more than 2^63 */
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht_ones(3, shape, HT_FLOAT32, 0), *long_ones[MANY];
    ht_tensor *empty = ht_zeros(HT_SHAPE((INT64_C(1) << 59) - 1, 0), HT_FLOAT32, 0);

    HT_TEST_EXPECT_ERROR(ht_reshape(x, HT_SHAPE(7, -1)), HT_ERR_SHAPE,
                         "ht_reshape: x of shape (6, 4, 5) cannot have the shape (7, -1)");
    /* Their products wrap around to 120 and to 0. */
    HT_TEST_EXPECT_ERROR(ht_reshape(x, HT_SHAPE(INT64_C(1) << 61 | 15, 8, 1)), HT_ERR_SHAPE,
                         "ht_reshape: x of shape (6, 4, 5) cannot have the shape");
    HT_TEST_EXPECT_ERROR(ht_reshape(ht_zeros(HT_SHAPE(0), HT_FLOAT32, HT_NONE),
                                    HT_SHAPE(INT64_C(1) << 32, INT64_C(1) << 32)),
                         HT_ERR_SHAPE, "ht_reshape: x of shape (0,) cannot have the shape");
    HT_TEST_EXPECT_ERROR(
        ht_reshape(ht_zeros(HT_SHAPE(0), HT_FLOAT32, 0), HT_SHAPE(INT64_C(1) << 62, 0)),
        HT_ERR_SHAPE, "(4611686018427387904, 0) has 2^59 elements or more along");
    for (int i = 0; i < MANY; i++)
        long_ones[i] = empty;
    HT_TEST_EXPECT_ERROR(ht_concatenate(2, long_ones, 0), HT_ERR_SHAPE,
                         "ht_concatenate: a result of shape (1152921504606846974, 0) has 2^59");
    HT_TEST_EXPECT_ERROR(ht_concatenate(MANY, long_ones, 0), HT_ERR_SHAPE,
                         "ht_concatenate: a result of shape (9223372036854775807, 0) has 2^59");
    HT_TEST_EXPECT_ERROR(ht_narrow(x, 1, 2, 5), HT_ERR_ARGUMENT,
                         "[2, 5) is out of range for axis 1");
    HT_TEST_EXPECT_ERROR(ht_permute(x, HT_AXES(0, 0, 1)), HT_ERR_ARGUMENT,
                         "axes is invalid, expected a permutation");
    HT_TEST_EXPECT_ERROR(ht_permute(x, HT_AXES(1, 0)), HT_ERR_ARGUMENT,
                         "ht_permute: count is 2, expected the number of axes of x, 3");
    HT_TEST_EXPECT_ERROR(ht_fill_(ht_broadcast_to(x, HT_SHAPE(2, 6, 4, 5)), 1), HT_ERR_STATE,
                         "read-only view");
    ht_scope_close(scope);
}

HT_TEST_SUITE(test_manipulations, cmocka_unit_test(resplit_keeps_every_element),
              cmocka_unit_test(reshape_keeps_the_row_major_order),
              cmocka_unit_test(reshape_is_a_view_where_strides_allow),
              cmocka_unit_test(narrow_and_balance),
              cmocka_unit_test(strides_are_those_of_the_local_part),
              cmocka_unit_test(flip_turns_axes_around), cmocka_unit_test(flip_of_a_part),
              cmocka_unit_test(one_element_is_balanced_like_more),
              cmocka_unit_test(concatenate_joins_in_order),
              cmocka_unit_test(channels_last_changes_strides_alone),
              cmocka_unit_test(misuse_is_reported));

/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include "ht_test.h"
#include "tensor_check.h"

static const int splits[3] = {HT_NONE, 0, 1};

static void an_identity_is_the_same_for_every_split(void **state)
{
    (void)state;
    for (int s = 0; s < 3; s++) {
        ht_tensor *x = ht_eye(5, 3, HT_FLOAT32, splits[s]);
        const double *v = ht_test_values(x);

        assert_int_equal(ht_tensor_split(x), splits[s]);
        for (int i = 0; i < 15; i++)
            assert_true(v[i] == (i / 3 == i % 3));
    }
}

static void linspace_holds_both_ends(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        ht_tensor *x = ht_linspace(-1, 2, 7, HT_FLOAT64, splits[s]);

        ht_test_expect(x, (double[]){-1, -0.5, 0, 0.5, 1, 1.5, 2}, 1e-15);
        assert_true(ht_test_values(x)[6] == 2);
    }
    ht_test_expect(ht_linspace(3, 9, 1, HT_FLOAT32, 0), (double[]){3}, 0);
}

static void parts_of_the_ranks_become_one_tensor(void **state)
{
    (void)state;
    /* Rank r brings r columns of the value r: the first rank none. */
    double part[2 * 8];
    const int64_t lshape[2] = {2, ht_test_rank};

    for (int i = 0; i < 16; i++)
        part[i] = ht_test_rank;

    ht_tensor *x = ht_array_from_local(part, 2, lshape, HT_FLOAT64, 1);
    int columns = ht_test_size * (ht_test_size - 1) / 2, at = 0;
    const double *v = ht_test_values(x);

    assert_int_equal(ht_tensor_shape(x)[0], 2);
    assert_int_equal(ht_tensor_shape(x)[1], columns);
    assert_ptr_equal(ht_tensor_comm(x), ht_comm_world());
    for (int rank = 0; rank < ht_test_size; rank++) {
        for (int i = 0; i < rank; i++, at++) {
            assert_true(v[at] == rank);
            assert_true(v[columns + at] == rank);
        }
    }
}

static void parts_that_do_not_fit_are_an_error_everywhere(void **state)
{
    (void)state;
    const int64_t lshape[2] = {ht_test_rank == ht_test_size - 1 ? 3 : 2, 1};
    const float part[3] = {0};

    if (ht_test_size == 1)
        HT_TEST_SKIP("one rank's part always fits");
    HT_TEST_EXPECT_ERROR(ht_array_from_local(part, 2, lshape, HT_FLOAT32, 1), HT_ERR_SHAPE,
                         "ht_array_from_local");
}

static void parts_of_different_dtypes_are_an_error_everywhere(void **state)
{
    (void)state;
    const int64_t lshape[1] = {1};
    const ht_dtype dtype = ht_test_rank == 0 ? HT_INT32 : HT_FLOAT32;
    const int32_t part = 1;

    if (ht_test_size == 1)
        HT_TEST_SKIP("one rank has one dtype");
    HT_TEST_EXPECT_ERROR(ht_array_from_local(&part, 1, lshape, dtype, 0), HT_ERR_DTYPE,
                         "part of rank 1 is float32, that of rank 0 is int32");
}

static void parts_along_different_axes_are_an_error_everywhere(void **state)
{
    (void)state;
    const int64_t lshape[3] = {2, 2, 1};
    const float part[4] = {0};
    const bool last = ht_test_rank == ht_test_size - 1;

    if (ht_test_size == 1)
        HT_TEST_SKIP("one rank has one split");
    HT_TEST_EXPECT_ERROR(ht_array_from_local(part, 2, lshape, HT_FLOAT32, last ? -2 : 1),
                         HT_ERR_ARGUMENT, ": split is 0 on rank");
    HT_TEST_EXPECT_ERROR(ht_array_from_local_ext(part, 2, lshape, HT_FLOAT32, last ? 1 : 0,
                                                 ht_get_device(), HT_COMM_WORLD),
                         HT_ERR_ARGUMENT, "ht_array_from_local_ext: split is 1 on rank");
    HT_TEST_EXPECT_ERROR(ht_array_from_local(part, last ? 3 : 2, lshape, HT_FLOAT32, last ? 2 : 0),
                         HT_ERR_SHAPE,
                         ", that of rank 0 is (2, 2), expected shapes that differ along axis 0 "
                         "only");
    assert_non_null(ht_array_from_local(part, 2, lshape, HT_FLOAT32, last ? -1 : 1));
}

/* A bad argument on one rank alone is an error on all. */
static void one_wrong_part_is_an_error_everywhere(void **state)
{
    (void)state;
    const int64_t lshape[1] = {1}, negative[1] = {-1};
    bool wrong = ht_test_rank == ht_test_size - 1;
    const float part = 1;

    HT_TEST_EXPECT_ERROR(
        ht_array_from_local(&part, 1, lshape, wrong ? (ht_dtype)99 : HT_FLOAT32, 0),
        HT_ERR_ARGUMENT, "ht_array_from_local: dtype is 99, expected an ht_dtype");
    HT_TEST_EXPECT_ERROR(ht_array_from_local(&part, 1, wrong ? negative : lshape, HT_FLOAT32, 0),
                         HT_ERR_SHAPE,
                         "ht_array_from_local: shape is (-1,), expected lengths of at least 0");
    HT_TEST_EXPECT_ERROR(ht_array_from_local(&part, 1, lshape, HT_FLOAT32, wrong ? HT_NONE : 0),
                         HT_ERR_ARGUMENT,
                         "ht_array_from_local: split is HT_NONE, expected an axis");
    HT_TEST_EXPECT_ERROR(ht_array_from_local(wrong ? NULL : &part, 1, lshape, HT_FLOAT32, 0),
                         HT_ERR_ARGUMENT, "ht_array_from_local: data is NULL");
    HT_TEST_EXPECT_ERROR(ht_array_from_local(&part, wrong ? 9 : 1, lshape, HT_FLOAT32, 0),
                         HT_ERR_ARGUMENT, "ht_array_from_local: ndim is 9, expected 0 to 8");
}

/* The function that the program has called, not one that it is made of. */
static void errors_name_the_function_that_was_called(void **state)
{
    (void)state;
    const int64_t wrong[1] = {-2}, two[1] = {2};
    ht_tensor *x = ht_ones(1, two, HT_FLOAT32, 0);

    HT_TEST_EXPECT_ERROR(ht_zeros(1, wrong, HT_FLOAT32, 0), HT_ERR_SHAPE,
                         "ht_zeros: shape is (-2,)");
    HT_TEST_EXPECT_ERROR(ht_ones(1, wrong, HT_FLOAT32, 0), HT_ERR_SHAPE, "ht_ones: shape is (-2,)");
    HT_TEST_EXPECT_ERROR(ht_full(1, two, 3, (ht_dtype)77, 0), HT_ERR_ARGUMENT,
                         "ht_full: dtype is 77");
    HT_TEST_EXPECT_ERROR(ht_eye(-2, 3, HT_FLOAT32, 0), HT_ERR_SHAPE,
                         "ht_eye: rows is -2, expected");
    HT_TEST_EXPECT_ERROR(ht_zeros_like(NULL), HT_ERR_ARGUMENT, "ht_zeros_like: x is NULL");
    HT_TEST_EXPECT_ERROR(ht_linspace(0, 1, -2, HT_FLOAT32, 0), HT_ERR_SHAPE, "ht_linspace: count");
    HT_TEST_EXPECT_ERROR(ht_rand(1, wrong, HT_FLOAT32, 0), HT_ERR_SHAPE, "ht_rand: shape is (-2,)");
    HT_TEST_EXPECT_ERROR(ht_randint(0, 2, 1, two, HT_INT8, 3), HT_ERR_ARGUMENT,
                         "ht_randint: split is 3, expected an axis of shape (2,)");
    HT_TEST_EXPECT_ERROR(ht_cumsum(x, HT_NONE), HT_ERR_ARGUMENT,
                         "ht_cumsum: axis HT_NONE is outside x of shape (2,)");
    HT_TEST_EXPECT_ERROR(ht_flatten(x, 2), HT_ERR_ARGUMENT,
                         "ht_flatten: start_axis 2 is outside x");
}

static void empty_tensors_have_everything_but_values(void **state)
{
    (void)state;
    const int64_t shape[2] = {4, 9};
    ht_tensor *x = ht_empty(2, shape, HT_INT16, 1), *like = ht_empty_like(x);
    ht_tensor *own = ht_empty_ext(2, shape, HT_FLOAT16, HT_NONE, ht_get_device(), ht_comm_self());

    assert_int_equal(ht_tensor_dtype(like), HT_INT16);
    assert_int_equal(ht_tensor_split(like), 1);
    assert_int_equal(ht_tensor_lshape(like)[1], ht_tensor_lshape(x)[1]);
    assert_true(ht_tensor_is_leaf(x));
    assert_int_equal(ht_tensor_lsize(own), 36);
    assert_ptr_equal(ht_tensor_comm(own), ht_comm_self());
}

static void a_negative_length_is_an_error(void **state)
{
    (void)state;
    const int64_t shape[2] = {4, -1};

    HT_TEST_EXPECT_ERROR(ht_empty(2, shape, HT_FLOAT32, 0), HT_ERR_SHAPE, "-1");
}

HT_TEST_SUITE(test_factories, cmocka_unit_test(an_identity_is_the_same_for_every_split),
              cmocka_unit_test(linspace_holds_both_ends),
              cmocka_unit_test(parts_of_the_ranks_become_one_tensor),
              cmocka_unit_test(parts_that_do_not_fit_are_an_error_everywhere),
              cmocka_unit_test(parts_of_different_dtypes_are_an_error_everywhere),
              cmocka_unit_test(parts_along_different_axes_are_an_error_everywhere),
              cmocka_unit_test(one_wrong_part_is_an_error_everywhere),
              cmocka_unit_test(errors_name_the_function_that_was_called),
              cmocka_unit_test(empty_tensors_have_everything_but_values),
              cmocka_unit_test(a_negative_length_is_an_error));

/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "ht_test.h"
#include "tensor_check.h"

#include <complex.h>

enum { ROWS = 5, COLUMNS = 3, COUNT = ROWS * COLUMNS };

/* 0, 1, 2, ... in row-major order. */
static ht_tensor *table(ht_dtype dtype, int split)
{
    return ht_resplit(ht_reshape(ht_arange(0, COUNT, 1, dtype, HT_NONE), HT_SHAPE(ROWS, COLUMNS)),
                      split);
}

static void every_rank_gets_all_elements(void **state)
{
    static const int splits[] = {HT_NONE, 0, 1};

    (void)state;
    for (int s = 0; s < 3; s++) {
        ht_tensor *x = table(HT_FLOAT32, splits[s]);
        double array[COUNT] = {0}, turned[COUNT] = {0};

        assert_int_equal(ht_tensor_to_array(x, array, COUNT, HT_FLOAT64), HT_SUCCESS);
        assert_int_equal(ht_tensor_to_array(ht_transpose(x, 0, 1), turned, COUNT, HT_FLOAT64),
                         HT_SUCCESS);
        for (int i = 0; i < COUNT; i++) {
            assert_true(array[i] == i);
            assert_true(turned[i % COLUMNS * ROWS + i / COLUMNS] == i);
        }
    }
}

static void one_rank_alone_needs_memory(void **state)
{
    const int last = ht_test_size - 1;
    const bool mine = ht_test_rank == last;
    int16_t array[COUNT];

    (void)state;
    memset(array, -1, sizeof array);
    for (int s = 0; s < 2; s++) {
        ht_tensor *x = table(HT_INT64, s == 0 ? HT_NONE : 1);

        assert_int_equal(
            ht_tensor_to_array_ext(x, mine ? array : NULL, mine ? COUNT : 0, HT_INT16, last),
            HT_SUCCESS);
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(array[i], mine ? i : -1);
    }
}

static void slabs_may_be_uneven_and_empty(void **state)
{
    ht_tensor *x = ht_collect(table(HT_FLOAT64, 0), ht_test_size - 1);
    float array[COUNT];
    char nothing = 'x';

    (void)state;
    assert_int_equal(ht_tensor_to_array(x, array, COUNT, HT_FLOAT32), HT_SUCCESS);
    assert_true(array[COUNT - 1] == COUNT - 1);
    x = ht_zeros(HT_SHAPE(0, 4), HT_BOOL, 0);
    assert_int_equal(ht_tensor_to_array(x, &nothing, 0, HT_BOOL), HT_SUCCESS);
    assert_int_equal(ht_tensor_to_array(x, NULL, 0, HT_BOOL), HT_SUCCESS);
    assert_int_equal(nothing, 'x');
}

static void a_replicated_tensor_needs_no_other_rank(void **state)
{
    ht_tensor *x = table(HT_INT32, HT_NONE);
    int32_t array[COUNT] = {0};

    (void)state;
    if (ht_test_rank == 0)
        assert_int_equal(ht_tensor_to_array(x, array, COUNT, HT_INT32), HT_SUCCESS);
    assert_int_equal(array[COUNT - 1], ht_test_rank == 0 ? COUNT - 1 : 0);
}

static void a_leaf_that_requires_gradients_is_read(void **state)
{
    ht_tensor *x = table(HT_FLOAT64, 0);
    double array[COUNT];

    (void)state;
    ht_tensor_set_requires_grad(x, true);
    assert_int_equal(ht_tensor_to_array(ht_mul_scalar(x, 2), array, COUNT, HT_FLOAT64), HT_SUCCESS);
    assert_true(array[3] == 6);
}

static void errors_say_what_was_expected(void **state)
{
    ht_tensor *x = table(HT_FLOAT32, 0);
    double array[COUNT];

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_tensor_to_array(x, array, 4, HT_FLOAT64), HT_ERR_SHAPE,
                         "ht_tensor_to_array: count is 4, expected 15 for x of shape (5, 3)");
    HT_TEST_EXPECT_ERROR(ht_tensor_to_array(x, NULL, COUNT, HT_FLOAT64), HT_ERR_ARGUMENT,
                         "array is NULL, expected room for 15 elements of float64");
    HT_TEST_EXPECT_ERROR(ht_tensor_to_array(x, array, COUNT, (ht_dtype)99), HT_ERR_ARGUMENT,
                         "dtype is 99, expected an ht_dtype");
    HT_TEST_EXPECT_ERROR(ht_tensor_to_array_ext(x, array, COUNT, HT_FLOAT64, -1), HT_ERR_ARGUMENT,
                         "ht_tensor_to_array_ext: rank is -1, expected 0 to ");
    HT_TEST_EXPECT_ERROR(ht_tensor_to_array(NULL, array, COUNT, HT_FLOAT64), HT_ERR_ARGUMENT,
                         "ht_tensor_to_array: x is NULL");
    if (ht_test_size > 1)
        HT_TEST_EXPECT_ERROR(
            ht_tensor_to_array_ext(x, array, COUNT, HT_FLOAT64, ht_test_rank == 0 ? 0 : 1),
            HT_ERR_ARGUMENT, "rank is 0 on one rank and 1 on another");
}

/* A C array and back: the dtype is that of its elements. */
#define EXPECT_ROUND_TRIP(type, expected)                                            \
    do {                                                                             \
        const type from[2][2] = {{1, 0}, {0, 1}};                                    \
        type to[4];                                                                  \
        ht_tensor *x = HT_ARRAY(from[0], HT_SHAPE(2, 2), 0);                         \
                                                                                     \
        assert_int_equal(ht_tensor_dtype(x), expected);                              \
        assert_int_equal(ht_tensor_to_array(x, to, 4, HT_DTYPE_OF(to)), HT_SUCCESS); \
        assert_memory_equal(from, to, sizeof to);                                    \
    } while (0)

static void the_dtype_of_an_array_is_that_of_its_elements(void **state)
{
    (void)state;
    EXPECT_ROUND_TRIP(bool, HT_BOOL);
    EXPECT_ROUND_TRIP(uint8_t, HT_UINT8);
    EXPECT_ROUND_TRIP(int8_t, HT_INT8);
    EXPECT_ROUND_TRIP(int16_t, HT_INT16);
    EXPECT_ROUND_TRIP(int32_t, HT_INT32);
    EXPECT_ROUND_TRIP(int64_t, HT_INT64);
    EXPECT_ROUND_TRIP(long long, HT_INT64);
    EXPECT_ROUND_TRIP(float, HT_FLOAT32);
    EXPECT_ROUND_TRIP(double, HT_FLOAT64);
    EXPECT_ROUND_TRIP(float complex, HT_COMPLEX64);
    EXPECT_ROUND_TRIP(double complex, HT_COMPLEX128);
}

HT_TEST_SUITE(test_to_array, cmocka_unit_test(every_rank_gets_all_elements),
              cmocka_unit_test(one_rank_alone_needs_memory),
              cmocka_unit_test(slabs_may_be_uneven_and_empty),
              cmocka_unit_test(a_replicated_tensor_needs_no_other_rank),
              cmocka_unit_test(a_leaf_that_requires_gradients_is_read),
              cmocka_unit_test(errors_say_what_was_expected),
              cmocka_unit_test(the_dtype_of_an_array_is_that_of_its_elements));

/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "ht_test.h"
#include "tensor_check.h"

static const int64_t shape[2] = {6, 5};

static ht_tensor *draw_integers(int split)
{
    ht_random_seed(9);
    return ht_randint(-3, 4, 2, shape, HT_INT32, split);
}

static void integers_do_not_depend_on_the_split(void **state)
{
    (void)state;
    ht_tensor *whole = draw_integers(HT_NONE);

    for (int split = 0; split < 2; split++)
        ht_test_expect_same(draw_integers(split), whole, 0);
}

static void integers_fill_their_range_and_nothing_else(void **state)
{
    (void)state;
    int64_t many[1] = {7000};
    int counts[7] = {0};

    ht_random_seed(1);
    const double *v = ht_test_values(ht_randint(-3, 4, 1, many, HT_INT64, 0));

    for (int i = 0; i < 7000; i++) {
        assert_in_range((int)v[i] + 3, 0, 6);
        counts[(int)v[i] + 3]++;
    }
    /* 1000 expected, standard deviation 29. */
    for (int k = 0; k < 7; k++)
        assert_in_range(counts[k], 850, 1150);
}

static void an_empty_range_is_an_error(void **state)
{
    (void)state;
    HT_TEST_EXPECT_ERROR(ht_randint(3, 3, 2, shape, HT_INT32, 0), HT_ERR_ARGUMENT, "3");
}

static void normal_numbers_in_place_have_mean_and_deviation(void **state)
{
    (void)state;
    ht_tensor *x = ht_zeros(HT_SHAPE(100000), HT_FLOAT64, 0);

    ht_random_seed(2);
    assert_int_equal(ht_normal_(x, 3, 0.5), HT_SUCCESS);
    /* Standard errors: 0.5 / sqrt(1e5) = 0.0016 and 0.0011. */
    assert_true(fabs(ht_item(ht_mean(x, HT_NONE)) - 3) < 0.008);
    assert_true(fabs(ht_item(ht_std(x, HT_NONE)) - 0.5) < 0.006);
}

static void the_random_state_can_be_restored(void **state)
{
    (void)state;
    uint64_t seed, draw;

    ht_random_seed(5);
    ht_rand(2, shape, HT_FLOAT32, 0);
    ht_random_get_state(&seed, &draw);
    ht_tensor *a = ht_randn(2, shape, HT_FLOAT64, 1);

    ht_random_set_state(seed, draw);
    ht_test_expect_same(ht_randn(2, shape, HT_FLOAT64, 0), a, 0);
}

static ht_tensor *uniform_on(ht_comm *comm)
{
    ht_tensor *x = ht_empty_ext(2, shape, HT_FLOAT32, HT_NONE, ht_get_device(), comm);

    assert_int_equal(ht_uniform_(x, 0, 1), HT_SUCCESS);
    return x;
}

static bool same_bytes(ht_tensor *a, ht_tensor *b)
{
    return memcmp(ht_test_data(a), ht_test_data(b), (size_t)ht_tensor_nbytes(a)) == 0;
}

/* After some ranks have drawn by themselves, the world still draws the same numbers. */
static void each_communicator_counts_its_own_draws(void **state)
{
    ht_comm *part = ht_comm_split(HT_COMM_WORLD, ht_test_rank % 2, 0);
    ht_tensor *zero, *one;
    uint64_t seed, draw;

    (void)state;
    ht_random_seed(11);
    zero = uniform_on(HT_COMM_WORLD);
    one = uniform_on(HT_COMM_WORLD);
    ht_random_seed(11);
    assert_true(same_bytes(uniform_on(part), zero));
    for (int i = 0; i < ht_test_rank; i++)
        uniform_on(HT_COMM_SELF);
    assert_true(same_bytes(ht_rand(2, shape, HT_FLOAT32, HT_NONE), zero));
    if (ht_test_rank % 2 == 1)
        assert_true(same_bytes(uniform_on(part), one));
    ht_random_get_state(&seed, &draw);
    assert_int_equal(seed, 11);
    assert_int_equal(draw, 1);
    ht_test_expect_same(ht_rand(2, shape, HT_FLOAT32, 1), one, 0);
    ht_random_set_state(11, 1);
    assert_true(same_bytes(uniform_on(HT_COMM_SELF), zero));
    assert_true(same_bytes(uniform_on(HT_COMM_WORLD), one));
    ht_release(part);
}

static void *draw_often(void *unused)
{
    ht_scope *scope = ht_scope_open();

    for (int i = 0; i < 500; i++)
        uniform_on(HT_COMM_SELF);
    ht_scope_close(scope);
    return unused;
}

/* Threads of the program never take the same draw. */
static void draws_of_several_threads_are_counted(void **state)
{
    pthread_t threads[3];
    ht_tensor *next;

    (void)state;
    ht_random_seed(12);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, draw_often, NULL), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    next = uniform_on(HT_COMM_SELF);
    ht_random_set_state(12, 0);
    for (int i = 0; i < 1500; i++)
        uniform_on(HT_COMM_SELF);
    assert_true(same_bytes(uniform_on(HT_COMM_SELF), next));
}

/* Ranks whose part happens to be contiguous do what the others do. */
static void views_take_the_numbers_of_their_places(void **state)
{
    (void)state;
    for (int split = 0; split < 2; split++) {
        ht_tensor *x = ht_zeros(HT_SHAPE(6, 9), HT_FLOAT64, split), *y;
        ht_tensor *view = ht_transpose(ht_narrow(x, 1, 1, 6), 0, 1);

        ht_random_seed(8);
        assert_int_equal(ht_normal_(view, 1, 2), HT_SUCCESS);
        ht_random_seed(8);
        y = ht_zeros(HT_SHAPE(5, 6), HT_FLOAT64, HT_NONE);
        assert_int_equal(ht_normal_(y, 1, 2), HT_SUCCESS);
        ht_test_expect_same(view, y, 0);
        assert_true(ht_item(ht_sum(ht_narrow(x, 1, 0, 1), HT_NONE)) == 0);
    }
}

static void a_range_that_a_dtype_does_not_hold_is_an_error(void **state)
{
    ht_tensor *x = ht_zeros(2, shape, HT_FLOAT32, 0), *half = ht_zeros(2, shape, HT_FLOAT16, 0);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_uniform_(x, -3e38, 3e38), HT_ERR_ARGUMENT,
                         "[-3e+38, 3e+38) of float32");
    HT_TEST_EXPECT_ERROR(ht_uniform_(half, 0, 1e5), HT_ERR_ARGUMENT, "[0, 100000) of float16");
    HT_TEST_EXPECT_ERROR(ht_uniform_(x, 1, 0), HT_ERR_ARGUMENT, "[1, 0)");
    HT_TEST_EXPECT_ERROR(ht_uniform_(x, NAN, 1), HT_ERR_ARGUMENT, "[nan, 1)");
    HT_TEST_EXPECT_ERROR(ht_normal_(x, 0, -1), HT_ERR_ARGUMENT, "std is -1");
    HT_TEST_EXPECT_ERROR(ht_normal_(x, NAN, 1), HT_ERR_ARGUMENT, "mean is nan");
    HT_TEST_EXPECT_ERROR(ht_normal_(x, 0, INFINITY), HT_ERR_ARGUMENT, "std is inf");
    HT_TEST_EXPECT_ERROR(ht_normal_(x, 1e39, 1), HT_ERR_ARGUMENT,
                         "mean is 1e+39 and std is 1 for float32");
    HT_TEST_EXPECT_ERROR(ht_normal_(half, -7e4, 1), HT_ERR_ARGUMENT,
                         "mean is -70000 and std is 1 for fl");
    HT_TEST_EXPECT_ERROR(ht_normal_(half, 0, 7e4), HT_ERR_ARGUMENT,
                         "mean is 0 and std is 70000 for float16");
    assert_int_equal(ht_normal_(half, 65504, 0), HT_SUCCESS);
    assert_true(ht_item(ht_max(half, HT_NONE)) == 65504);
    HT_TEST_EXPECT_ERROR(ht_randint(0, 300, 2, shape, HT_UINT8, 0), HT_ERR_ARGUMENT, "of uint8");
    assert_int_equal(ht_uniform_(x, 0, 3e38), HT_SUCCESS);
    assert_true(ht_item(ht_max(x, HT_NONE)) < 3e38);
}

/* One rank's device would see that alone; and the job would end. */
static void a_wrong_dtype_is_an_error_of_all(void **state)
{
    (void)state;
    HT_TEST_EXPECT_ERROR(ht_rand(2, shape, HT_INT32, 0), HT_ERR_DTYPE,
                         "ht_rand: dtype is int32, expected a floating dtype");
    HT_TEST_EXPECT_ERROR(ht_randn(2, shape, HT_COMPLEX64, 0), HT_ERR_DTYPE,
                         "ht_randn: dtype is complex64, expected a floating");
    HT_TEST_EXPECT_ERROR(ht_randint(0, 2, 2, shape, HT_COMPLEX64, 0), HT_ERR_DTYPE, "ht_randint");
    HT_TEST_EXPECT_ERROR(ht_uniform_(ht_zeros(2, shape, HT_BOOL, 0), 0, 1), HT_ERR_DTYPE,
                         "ht_uniform_: x is bool, expected a floating dtype");
    HT_TEST_EXPECT_ERROR(ht_rand(2, shape, (ht_dtype)50, 0), HT_ERR_ARGUMENT,
                         "dtype is 50, expected an ht_dtype");
}

static void integers_come_from_all_of_int64(void **state)
{
    const int64_t *v;
    int above = 0;

    (void)state;
    ht_random_seed(4);
    v = ht_test_data(ht_randint(INT64_MIN, INT64_MAX, 2, shape, HT_INT64, HT_NONE));
    for (int i = 0; i < 30; i++)
        above += v[i] > INT64_MAX / 2 || v[i] < INT64_MIN / 2;
    assert_in_range(above, 5, 25);
    v = ht_test_data(ht_randint(INT64_MAX - 2, INT64_MAX, 2, shape, HT_INT64, HT_NONE));
    for (int i = 0; i < 30; i++)
        assert_true(v[i] == INT64_MAX - 2 || v[i] == INT64_MAX - 1);
}

HT_TEST_SUITE(test_random, cmocka_unit_test(integers_do_not_depend_on_the_split),
              cmocka_unit_test(integers_fill_their_range_and_nothing_else),
              cmocka_unit_test(an_empty_range_is_an_error),
              cmocka_unit_test(normal_numbers_in_place_have_mean_and_deviation),
              cmocka_unit_test(each_communicator_counts_its_own_draws),
              cmocka_unit_test(draws_of_several_threads_are_counted),
              cmocka_unit_test(views_take_the_numbers_of_their_places),
              cmocka_unit_test(a_range_that_a_dtype_does_not_hold_is_an_error),
              cmocka_unit_test(a_wrong_dtype_is_an_error_of_all),
              cmocka_unit_test(integers_come_from_all_of_int64),
              cmocka_unit_test(the_random_state_can_be_restored));

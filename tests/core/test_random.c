/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include <math.h>

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
    ht_tensor *x = ht_zeros(1, (const int64_t[]){100000}, HT_FLOAT64, 0);

    ht_random_seed(2);
    assert_int_equal(ht_normal_(x, 3, 0.5), HT_SUCCESS);
    /* Standard errors: 0.5 / sqrt(1e5) = 0.0016 and 0.0011. */
    assert_true(fabs(ht_item(ht_mean(x, HT_NONE)) - 3) < 0.008);
    assert_true(fabs(ht_item(ht_std(x, HT_NONE)) - 0.5) < 0.006);
}

static void the_state_can_be_taken_back(void **state)
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

HT_TEST_SUITE(test_random, cmocka_unit_test(integers_do_not_depend_on_the_split),
              cmocka_unit_test(integers_fill_their_range_and_nothing_else),
              cmocka_unit_test(an_empty_range_is_an_error),
              cmocka_unit_test(normal_numbers_in_place_have_mean_and_deviation),
              cmocka_unit_test(the_state_can_be_taken_back));

/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "ht_test.h"
#include "tensor_check.h"

static int split_of(int i)
{
    return i < 0 ? HT_NONE : i;
}

/* Histograms of `rows` rows of 3, on more ranks than rows, too. */
static void check_rows(int64_t rows, int64_t bins, double low, double high)
{
    const int64_t shape[2] = {rows, 3};
    ht_tensor *whole = ht_test_randn(2, shape, HT_FLOAT64, HT_NONE, 3);
    const double *x = ht_test_values(whole);
    double expected[50] = {0}, width = (high - low) / (double)bins;

    for (int64_t i = 0; i < 3 * rows; i++) {
        for (int64_t b = 0; b < bins; b++)
            expected[b] += x[i] >= low + (double)b * width &&
                           (b + 1 < bins ? x[i] < low + (double)(b + 1) * width : x[i] <= high);
    }
    for (int split = -1; split < 2; split++) {
        ht_tensor *counts, *edges, *part = ht_resplit(whole, split_of(split));

        assert_int_equal(ht_histogram(part, bins, low, high, &counts, &edges), HT_SUCCESS);
        assert_int_equal(ht_tensor_dtype(counts), HT_INT64);
        assert_int_equal(ht_tensor_split(counts), HT_NONE);
        ht_test_expect(counts, expected, 0);
        assert_int_equal(ht_tensor_size(edges), bins + 1);
        assert_true(ht_test_values(edges)[0] == low && ht_test_values(edges)[bins] == high);
        assert_int_equal(ht_histogram(ht_transpose(part, 0, 1), bins, low, high, &counts, NULL),
                         HT_SUCCESS);
        ht_test_expect(counts, expected, 0);
    }
}

static void histogram_gives_the_same_for_every_split(void **state)
{
    (void)state;
    check_rows(40, 7, -1.5, 2);
    check_rows(40, 50, -0.1, 0.3);
    check_rows(2, 3, -1, 1);
    check_rows(0, 3, -1, 1);
}

static void expect_counts(ht_tensor *x, int64_t bins, const double *expected, double low,
                          double high)
{
    ht_tensor *counts, *edges;

    assert_int_equal(ht_histogram(x, bins, 0, 0, &counts, &edges), HT_SUCCESS);
    ht_test_expect(counts, expected, 0);
    assert_true(ht_test_values(edges)[0] == low && ht_test_values(edges)[bins] == high);
}

static void a_range_is_found_and_its_last_bin_is_closed(void **state)
{
    ht_tensor *ten = ht_arange(0, 10, 1, HT_INT32, 0);

    (void)state;
    expect_counts(ten, 3, (double[]){3, 3, 4}, 0, 9);
    expect_counts(ht_astype(ten, HT_BFLOAT16), 9, (double[]){1, 1, 1, 1, 1, 1, 1, 1, 2}, 0, 9);
    expect_counts(ht_full(HT_SHAPE(5), 2, HT_UINT8, 0), 2, (double[]){0, 5}, 1.5, 2.5);
    expect_counts(ht_zeros(HT_SHAPE(0), HT_FLOAT32, 0), 2, (double[]){0, 0}, 0, 1);
    expect_counts(ht_ones(HT_SHAPE(3), HT_BOOL, 0), 1, (double[]){3}, 0.5, 1.5);
}

/* Tenths, which no float64 is: an element on an edge is in the bin that begins with it. */
static void elements_on_edges_are_in_the_bin_above(void **state)
{
    ht_tensor *counts, *edges, *ones = ht_ones(HT_SHAPE(50), HT_INT64, HT_NONE);

    (void)state;
    assert_int_equal(
        ht_histogram(ht_zeros(HT_SHAPE(0), HT_FLOAT64, HT_NONE), 50, 0.1, 7.3, &counts, &edges),
        HT_SUCCESS);
    assert_int_equal(
        ht_histogram(ht_narrow(ht_resplit(edges, 0), 0, 0, 50), 50, 0.1, 7.3, &counts, NULL),
        HT_SUCCESS);
    ht_test_expect_same(counts, ones, 0);
}

static void nan_and_outliers_are_in_no_bin(void **state)
{
    ht_tensor *x = ht_array((double[]){NAN, -INFINITY, 0, 1, 2, INFINITY}, HT_SHAPE(6), HT_FLOAT64,
                            0);
    ht_tensor *counts = NULL;

    (void)state;
    assert_int_equal(ht_histogram(x, 2, 0, 1, &counts, NULL), HT_SUCCESS);
    ht_test_expect(counts, (double[]){1, 1}, 0);
    counts = NULL;
    HT_TEST_EXPECT_ERROR(ht_histogram(x, 2, 0, 0, &counts, NULL), HT_ERR_ARGUMENT,
                         "ht_histogram: the range is nan");
    HT_TEST_EXPECT_ERROR(ht_histogram(x, 2, 1, 0, &counts, NULL), HT_ERR_ARGUMENT,
                         "in ascending order");
    HT_TEST_EXPECT_ERROR(ht_histogram(x, 0, 0, 1, &counts, NULL), HT_ERR_ARGUMENT, "bins is 0");
    HT_TEST_EXPECT_ERROR(ht_histogram(x, (int64_t)1 << 60, 0, 1, &counts, NULL), HT_ERR_ARGUMENT,
                         "ht_histogram: bins is 1152921504606846976, expected 1 to 2^59 - 1");
    HT_TEST_EXPECT_ERROR(ht_histogram(x, 3, -1e308, 1e308, &counts, NULL), HT_ERR_ARGUMENT,
                         "ht_histogram: the range -1e+308 to 1e+308 is wider than the largest");
    HT_TEST_EXPECT_ERROR(ht_histogram(ht_astype(x, HT_COMPLEX64), 2, 0, 1, &counts, NULL),
                         HT_ERR_DTYPE, "ht_histogram: not defined for complex64");
    assert_null(counts);
}

/* One number at which neighbouring doubles differ by more than 1: 0.5 to either side is the number
 * itself. */
static void a_range_too_narrow_for_its_bins_is_called_so(void **state)
{
    ht_tensor *x = ht_full(HT_SHAPE(3), 5e18, HT_INT64, 0), *counts = NULL;

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_histogram(x, 10, 0, 0, &counts, NULL), HT_ERR_ARGUMENT,
                         "ht_histogram: the range 5e+18 to 5e+18 is too narrow for 10 bins");
    HT_TEST_EXPECT_ERROR(ht_histogram(x, 1, 5e18, 5e18, &counts, NULL), HT_ERR_ARGUMENT,
                         "ht_histogram: the range 5e+18 to 5e+18 is too narrow for 1 bins");
    HT_TEST_EXPECT_ERROR(
        ht_histogram(ht_full(HT_SHAPE(3), INFINITY, HT_FLOAT32, 0), 2, 0, 0, &counts, NULL),
        HT_ERR_ARGUMENT, "ht_histogram: the range is inf to inf, expected finite numbers");
    assert_null(counts);
}

HT_TEST_SUITE(test_histogram, cmocka_unit_test(histogram_gives_the_same_for_every_split),
              cmocka_unit_test(a_range_is_found_and_its_last_bin_is_closed),
              cmocka_unit_test(elements_on_edges_are_in_the_bin_above),
              cmocka_unit_test(a_range_too_narrow_for_its_bins_is_called_so),
              cmocka_unit_test(nan_and_outliers_are_in_no_bin));

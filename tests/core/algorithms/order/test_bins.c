/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "ht_test.h"
#include "tensor_check.h"

static const double numbers[] = {0.5, 3, -1, 7.5, 3, 2.5, 9, NAN, 5, -INFINITY, 7, 6.5};
static const double edges[] = {-1, 0, 2.5, 3, 3, 7, 7.5};

enum { NUMBERS = 12, EDGES = 7 };

/* How many edges are less, or not greater. */
static double place_of(double x, bool right)
{
    double place = 0;

    for (int i = 0; i < EDGES; i++)
        place += edges[i] < x || isnan(x) || (right && edges[i] == x);
    return place;
}

static int split_of(int i)
{
    return i < 0 ? HT_NONE : i;
}

static void check_places(ht_tensor *x, ht_tensor *boundaries, bool right)
{
    ht_tensor *down = ht_flip(boundaries, 0, NULL), *y = ht_bucketize(x, boundaries, right);
    double expected[NUMBERS];

    for (int i = 0; i < NUMBERS; i++)
        expected[i] = place_of(numbers[i], right);
    assert_int_equal(ht_tensor_dtype(y), HT_INT64);
    assert_int_equal(ht_tensor_split(y), ht_tensor_split(x));
    ht_test_expect(y, expected, 0);
    ht_test_expect(ht_searchsorted(boundaries, x, right), expected, 0);
    ht_test_expect(ht_digitize(x, boundaries, !right), expected, 0);
    for (int i = 0; i < NUMBERS; i++)
        expected[i] = EDGES - expected[i];
    ht_test_expect(ht_digitize(x, down, !right), expected, 0);
}

static void every_split_of_both_has_the_same_places(void **state)
{
    static const ht_dtype dtypes[] = {HT_FLOAT64, HT_FLOAT32, HT_BFLOAT16};

    (void)state;
    for (int i = 0; i < 18; i++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = ht_array(numbers, HT_SHAPE(4, 3), HT_FLOAT64, split_of(i % 3 - 1));
        ht_tensor *boundaries = ht_array(edges, HT_SHAPE(EDGES), HT_FLOAT64,
                                         split_of(i / 3 % 2 - 1));

        check_places(ht_astype(x, dtypes[i / 6]), boundaries, false);
        check_places(x, ht_astype(boundaries, dtypes[i / 6]), true);
        ht_scope_close(scope);
    }
}

/* NumPy's own values. */
static void digitize_on_edges_is_numpys(void **state)
{
    static const double x[] = {1.2, 10, 12.4, 15.5, 20}, up[] = {0, 5, 10, 15, 20},
                        down[] = {20, 15, 10, 5, 0};
    static const double expected[2][2][5] = {{{1, 3, 3, 4, 5}, {1, 2, 3, 4, 4}},
                                             {{4, 2, 2, 1, 0}, {4, 3, 2, 1, 1}}};

    (void)state;
    for (int split = HT_NONE, i = 0; i < 2; split = 0, i++)
        for (int right = 0; right < 2; right++) {
            ht_tensor *values = ht_array(x, HT_SHAPE(5), HT_FLOAT64, split);

            ht_test_expect(ht_digitize(values, ht_array(up, HT_SHAPE(5), HT_FLOAT64, split), right),
                           expected[0][right], 0);
            ht_test_expect(
                ht_digitize(values, ht_array(down, HT_SHAPE(5), HT_FLOAT64, split), right),
                expected[1][right], 0);
        }
}

/* NaN is behind all numbers, neighbours in int64 may be one double, and complex numbers have an
 * order. */
static void bins_of_any_numbers_go_up_or_down(void **state)
{
    const int64_t far = ((int64_t)1 << 53) + 1;

    (void)state;
    for (int split = -1; split < 1; split++) {
        const int s = split_of(split);
        ht_tensor *down = ht_array((double[]){NAN, 2, 1}, HT_SHAPE(3), HT_FLOAT64, s);
        ht_tensor *x = ht_array((double[]){1.5, 0, 9, NAN}, HT_SHAPE(4), HT_FLOAT64, s);

        ht_test_expect(ht_digitize(x, down, false), (double[]){2, 3, 1, 0}, 0);
        ht_test_expect(ht_digitize(x, ht_flip(down, HT_AXES(0)), false), (double[]){1, 0, 2, 3}, 0);
        down = ht_array((int64_t[]){far, far - 1}, HT_SHAPE(2), HT_INT64, s);
        x = ht_array((int64_t[]){far - 2, far - 1, far, far + 1}, HT_SHAPE(4), HT_INT64, s);
        ht_test_expect(ht_digitize(x, down, false), (double[]){2, 1, 0, 0}, 0);
        ht_test_expect(ht_digitize(x, down, true), (double[]){2, 2, 1, 0}, 0);
        down = ht_mul_scalar_ext(
            ht_astype(ht_array((double[]){3, 1}, HT_SHAPE(2), HT_FLOAT64, s), HT_COMPLEX128),
            HT_COMPLEX(0, 1));
        x = ht_mul_scalar_ext(
            ht_astype(ht_array((double[]){2, 0, 4}, HT_SHAPE(3), HT_FLOAT64, s), HT_COMPLEX128),
            HT_COMPLEX(0, 1));
        ht_test_expect(ht_digitize(x, down, false), (double[]){1, 2, 0}, 0);
        ht_test_expect(ht_digitize(x, ht_flip(down, HT_AXES(0)), false), (double[]){1, 0, 2}, 0);
    }
}

/* A number has a place, too, on any number of ranks. */
static void numbers_have_places(void **state)
{
    (void)state;
    for (int split = -1; split < 1; split++) {
        ht_tensor *bins = ht_array(edges, HT_SHAPE(EDGES), HT_FLOAT64, split_of(split));

        ht_test_expect(ht_bucketize(ht_scalar(3), bins, false), (double[]){3}, 0);
        ht_test_expect(ht_searchsorted(bins, ht_scalar(3), true), (double[]){5}, 0);
        ht_test_expect(ht_digitize(ht_scalar(2.75), bins, true), (double[]){3}, 0);
    }
}

static void bucketize_takes_views_of_edges_and_no_edges(void **state)
{
    ht_tensor *x = ht_array(numbers, HT_SHAPE(NUMBERS), HT_FLOAT64, 0);
    ht_tensor *all = ht_array(edges, HT_SHAPE(EDGES), HT_FLOAT64, 0);

    (void)state;
    ht_test_expect(ht_bucketize(ht_narrow(x, 0, 3, 5), ht_narrow(all, 0, 4, 7), false),
                   (double[]){2, 0}, 0);
    ht_test_expect(ht_digitize(ht_narrow(x, 0, 3, 5), ht_narrow(all, 0, 4, 4), false),
                   (double[]){0, 0}, 0);
    ht_test_expect(
        ht_bucketize(ht_arange(0, 5, 1, HT_INT32, 0), ht_arange(0, 9, 2, HT_INT64, 0), true),
        (double[]){1, 1, 2, 2, 3}, 0);
    HT_TEST_EXPECT_ERROR(ht_bucketize(x, ht_reshape(x, HT_SHAPE(4, 3)), false), HT_ERR_SHAPE,
                         "ht_bucketize: boundaries have shape (4, 3), expected one axis");
}

static void numbers_are_counted(void **state)
{
    static const int64_t places[] = {3, 0, 1, 3, 3, 6, 0, 1, 1, 1};
    static const double weights[] = {0.5, 1, 2, 0.25, 4, -1, 3, 0, 1, 8};

    (void)state;
    for (int split = -1; split < 1; split++) {
        ht_tensor *x = ht_array(places, HT_SHAPE(10), HT_INT64, split_of(split)), *y;
        ht_tensor *w = ht_array(weights, HT_SHAPE(10), HT_FLOAT64, split_of(-1 - split));

        y = ht_bincount(x, NULL, 0);
        assert_int_equal(ht_tensor_dtype(y), HT_INT64);
        assert_int_equal(ht_tensor_split(y), HT_NONE);
        ht_test_expect(y, (double[]){2, 4, 0, 3, 0, 0, 1}, 0);
        ht_test_expect(ht_bincount(ht_astype(x, HT_UINT8), NULL, 9),
                       (double[]){2, 4, 0, 3, 0, 0, 1, 0, 0}, 0);
        ht_test_expect(ht_bincount(ht_astype(x, HT_BOOL), NULL, 0), (double[]){2, 8}, 0);
        ht_test_expect(ht_bincount(x, w, 0), (double[]){4, 11, 0, 4.75, 0, 0, -1}, 0);
        y = ht_bincount(x, ht_astype(w, HT_FLOAT32), 0);
        assert_int_equal(ht_tensor_dtype(y), HT_FLOAT32);
        ht_test_expect(y, (double[]){4, 11, 0, 4.75, 0, 0, -1}, 0);
        ht_test_expect(ht_bincount(ht_narrow(x, 0, 6, 10), NULL, 0), (double[]){1, 3}, 0);
        ht_test_expect(ht_bincount(ht_narrow(x, 0, 6, 6), NULL, 2), (double[]){0, 0}, 0);
        HT_TEST_EXPECT_ERROR(ht_bincount(ht_sub_scalar(x, 2), NULL, 0), HT_ERR_ARGUMENT,
                             "ht_bincount: x has elements from -2 to 4, expected 0 to 2^59 - 1");
        HT_TEST_EXPECT_ERROR(ht_bincount(x, NULL, INT64_C(1) << 60), HT_ERR_SHAPE, "ht_bincount: ");
        HT_TEST_EXPECT_ERROR(ht_bincount(w, NULL, 0), HT_ERR_DTYPE,
                             "ht_bincount: x is float64, expected integers or bool");
    }
}

HT_TEST_SUITE(test_bins, cmocka_unit_test(every_split_of_both_has_the_same_places),
              cmocka_unit_test(digitize_on_edges_is_numpys),
              cmocka_unit_test(bins_of_any_numbers_go_up_or_down),
              cmocka_unit_test(numbers_have_places),
              cmocka_unit_test(bucketize_takes_views_of_edges_and_no_edges),
              cmocka_unit_test(numbers_are_counted));

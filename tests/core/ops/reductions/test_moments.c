/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Skewness, kurtosis and averages compared with plain sums over the same numbers, which are far
   from 0. */
#include <math.h>

#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

enum { ROWS = 23, COLUMNS = 5, SIZE = ROWS * COLUMNS };

/* Steps of 1 / 1024, which float64 can add to a mean of a million, so that nothing is rounded. */
static double step(int i)
{
    return (double)(i * 7919 % 101 % 17 * (i % 3 + 1)) / 1024;
}

static ht_tensor *steps(double mean, ht_dtype dtype, int split)
{
    double data[SIZE];

    for (int i = 0; i < SIZE; i++)
        data[i] = mean + step(i);
    return ht_astype(ht_array(data, HT_SHAPE(ROWS, COLUMNS), HT_FLOAT64, split), dtype);
}

static double moment(const double *x, int n, int power)
{
    long double mean = 0, sum = 0;

    for (int i = 0; i < n; i++)
        mean += (long double)x[i] / n;
    for (int i = 0; i < n; i++) {
        const long double d = x[i] - mean;

        sum += power == 2 ? d * d : power == 3 ? d * d * d : d * d * d * d;
    }
    return (double)(sum / n);
}

static double skew_of(const double *x, int n, bool unbiased)
{
    return moment(x, n, 3) / pow(moment(x, n, 2), 1.5) *
           (unbiased ? sqrt((double)n * (n - 1)) / (n - 2) : 1);
}

static double kurtosis_of(const double *x, int n, bool unbiased, bool fischer)
{
    const double m2 = moment(x, n, 2), k = moment(x, n, 4) / (m2 * m2), c = n;

    return (unbiased ? (c - 1) / ((c - 2) * (c - 3)) * ((c + 1) * k - 3 * (c - 1)) + 3 : k) -
           (fischer ? 3 : 0);
}

/* The elements that make result j; returns how many. */
static int line(int axis, int j, double *x)
{
    const int n = axis == HT_NONE ? SIZE : axis == 0 ? ROWS : COLUMNS;

    for (int i = 0; i < n; i++)
        x[i] = step(axis == HT_NONE ? i : axis == 0 ? i * COLUMNS + j : j * COLUMNS + i);
    return n;
}

static void check_axis(ht_tensor *x, int axis)
{
    const int results = axis == HT_NONE ? 1 : axis == 0 ? COLUMNS : ROWS;
    double data[SIZE], expected[SIZE];

    for (int way = 0; way < 4; way++) {
        const bool unbiased = way & 1, fischer = way & 2;

        for (int j = 0; j < results; j++)
            expected[j] = skew_of(data, line(axis, j, data), unbiased);
        ht_test_expect(ht_skew(x, axis, unbiased), expected, 1e-12);
        for (int j = 0; j < results; j++)
            expected[j] = kurtosis_of(data, line(axis, j, data), unbiased, fischer);
        ht_test_expect(ht_kurtosis(x, axis, unbiased, fischer), expected, 1e-12);
    }
    for (int j = 0; j < results; j++)
        expected[j] = moment(data, line(axis, j, data), 2) * 1e4;
    ht_test_expect(ht_mul_scalar(ht_var(x, axis), 1e4), expected, 1e-12);
    for (int j = 0; j < results; j++)
        expected[j] = sqrt(expected[j]);
    ht_test_expect(ht_mul_scalar(ht_std(x, axis), 1e2), expected, 1e-12);
}

static void moments_are_exact_far_from_zero(void **state)
{
    static const int splits[] = {HT_NONE, 0, 1};

    (void)state;
    for (int i = 0; i < 6; i++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = steps(i < 3 ? 1e6 : 0, HT_FLOAT64, splits[i % 3]);

        for (int axis = 0; axis < 2; axis++)
            check_axis(x, axis);
        check_axis(x, HT_NONE);
        ht_test_expect_same(ht_skew(ht_flip(x, HT_AXES(0)), 1, true),
                            ht_flip(ht_skew(x, 1, true), HT_AXES(0)), 1e-12);
        ht_scope_close(scope);
    }
}

/* float32 holds these numbers, too, and is rounded once. */
static void narrow_dtypes_are_rounded_once(void **state)
{
    double data[SIZE];

    (void)state;
    (void)line(HT_NONE, 0, data);
    for (int split = 0; split < 2; split++) {
        ht_tensor *x = steps(1024, HT_FLOAT32, split);
        ht_tensor *whole = ht_astype(ht_mul_scalar(steps(0, HT_FLOAT64, split), 1024), HT_INT32);

        assert_int_equal(ht_tensor_dtype(ht_skew(x, 0, true)), HT_FLOAT32);
        ht_test_expect(ht_skew(x, HT_NONE, false), &(double){skew_of(data, SIZE, false)}, 1e-7);
        assert_int_equal(ht_tensor_dtype(ht_kurtosis(whole, 0, true, true)), HT_FLOAT32);
        ht_test_expect(ht_kurtosis(whole, HT_NONE, true, true),
                       &(double){kurtosis_of(data, SIZE, true, true)}, 1e-7);
        ht_test_expect(ht_skew(ht_astype(whole, HT_FLOAT16), HT_NONE, false),
                       &(double){skew_of(data, SIZE, false)}, 1e-3);
    }
}

static void undefined_moments_are_nan(void **state)
{
    const double nan[3] = {NAN, NAN, NAN};
    ht_tensor *equal = ht_full(HT_SHAPE(4, 3), 7, HT_FLOAT64, 0);
    ht_tensor *x = ht_array((double[]){1, NAN, 3, 4, INFINITY, 2}, HT_SHAPE(2, 3), HT_FLOAT64, 1);

    (void)state;
    ht_test_expect(ht_skew(equal, 0, false), nan, 0);
    ht_test_expect(ht_kurtosis(equal, 0, true, true), nan, 0);
    ht_test_expect(ht_skew(x, HT_NONE, true), nan, 0);
    ht_test_expect(ht_kurtosis(x, 0, false, false), (double[]){1, NAN, 1}, 0);
    ht_test_expect(ht_skew(ht_zeros(HT_SHAPE(0, 3), HT_FLOAT64, 0), 0, false), nan, 0);
    ht_test_expect(ht_skew(ht_zeros(HT_SHAPE(4, 0), HT_FLOAT64, 0), 0, false), nan, 0);
    HT_TEST_EXPECT_ERROR(ht_skew(ht_astype(x, HT_COMPLEX64), 0, true), HT_ERR_DTYPE,
                         "ht_skew: not defined for complex64");
    HT_TEST_EXPECT_ERROR(ht_kurtosis(x, 2, true, true), HT_ERR_ARGUMENT, "ht_kurtosis");
}

/* They have a third and a fourth moment, but no correction. */
static void few_numbers_have_no_unbiased_moments(void **state)
{
    static const double values[] = {1, 2, 4, 8, 9.5};

    (void)state;
    for (int split = -1; split < 1; split++) {
        for (int n = 1; n <= 5; n++) {
            ht_tensor *x = ht_array((void *)values, HT_SHAPE(n), HT_FLOAT64,
                                    split < 0 ? HT_NONE : split);
            const double skew = n < 3 ? NAN : skew_of(values, n, true);
            const double kurtosis = n < 4 ? NAN : kurtosis_of(values, n, true, true);
            const double plain = kurtosis + 3;

            ht_test_expect(ht_skew(x, HT_NONE, true), &skew, 1e-13);
            ht_test_expect(ht_kurtosis(x, 0, true, true), &kurtosis, 1e-13);
            ht_test_expect(ht_kurtosis(x, HT_NONE, true, false), &plain, 1e-13);
            assert_true(n < 2 || isfinite(ht_item(ht_kurtosis(x, HT_NONE, false, true))));
            assert_true(n < 2 || isfinite(ht_item(ht_skew(x, HT_NONE, false))));
        }
    }
}

static void averages_are_weighted(void **state)
{
    double x[SIZE], top[ROWS] = {0}, rows[ROWS], bottom = 0, all[2] = {0}, w[SIZE], sums[ROWS];

    (void)state;
    (void)line(HT_NONE, 0, x);
    for (int i = 0; i < SIZE; i++) {
        w[i] = i % 7 + 1;
        all[0] += (1e6 + x[i]) * w[i];
        all[1] += w[i];
    }
    for (int j = 0; j < COLUMNS; j++)
        bottom += w[j];
    for (int i = 0; i < SIZE; i++)
        top[i / COLUMNS] += (1e6 + x[i]) * w[i % COLUMNS];
    for (int i = 0; i < ROWS; i++) {
        rows[i] = top[i] / bottom;
        sums[i] = bottom;
    }
    for (int way = 0; way < 9; way++) {
        const int split = way % 3 == 2 ? HT_NONE : way % 3,
                  other = way / 3 == 2 ? HT_NONE : way / 3;
        ht_tensor *data = steps(1e6, HT_FLOAT64, split), *y, *sum;
        ht_tensor *full = ht_array(w, HT_SHAPE(ROWS, COLUMNS), HT_FLOAT64, other);
        ht_tensor *one = ht_array(w, HT_SHAPE(COLUMNS), HT_FLOAT64, other == 0 ? 0 : HT_NONE);

        one = ht_astype(one, HT_INT32);

        ht_test_expect(ht_average(data, HT_NONE, full), &(double){all[0] / all[1]}, 1e-14);
        ht_test_expect(ht_average(data, -1, one), rows, 1e-14);
        assert_int_equal(ht_average_ext(data, 1, one, &y, &sum), HT_SUCCESS);
        ht_test_expect(y, rows, 1e-14);
        ht_test_expect(sum, sums, 0);
        assert_int_equal(ht_tensor_split(sum), ht_tensor_split(y));
        ht_test_expect_same(ht_average(data, 0, NULL), ht_mean(data, 0), 0);
        assert_int_equal(ht_average_ext(data, 0, NULL, &y, &sum), HT_SUCCESS);
        ht_test_expect(sum, (double[]){ROWS, ROWS, ROWS, ROWS, ROWS}, 0);
    }
}

static void weights_have_to_fit(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(4, 3), HT_INT32, 0), *y = NULL, *sum = NULL;
    ht_tensor *zero = ht_array((double[]){1, -1, 0}, HT_SHAPE(3), HT_FLOAT64, HT_NONE);

    (void)state;
    assert_int_equal(ht_tensor_dtype(ht_average(x, 0, x)), HT_FLOAT32);
    HT_TEST_EXPECT_ERROR(ht_average(x, HT_NONE, zero), HT_ERR_SHAPE,
                         "ht_average: weights are (3,) and x is (4, 3), expected the shape of x");
    HT_TEST_EXPECT_ERROR(ht_average(x, 0, zero), HT_ERR_SHAPE, "ht_average: weights are (3,)");
    HT_TEST_EXPECT_ERROR(ht_average_ext(x, 1, zero, &y, &sum), HT_ERR_ARGUMENT,
                         "ht_average_ext: the weights add up to 0");
    assert_true(y == NULL && sum == NULL);
    HT_TEST_EXPECT_ERROR(ht_average(x, 5, NULL), HT_ERR_ARGUMENT, "ht_average: axis 5 is outside");
    HT_TEST_EXPECT_ERROR(ht_average_ext(x, 5, NULL, &y, &sum), HT_ERR_ARGUMENT,
                         "ht_average_ext: axis 5 is outside");
    HT_TEST_EXPECT_ERROR(ht_ptp(ht_ones(HT_SHAPE(2), HT_BOOL, 0), 0), HT_ERR_DTYPE,
                         "ht_ptp: not defined for bool");
    HT_TEST_EXPECT_ERROR(ht_ptp(x, 5), HT_ERR_ARGUMENT, "ht_ptp: axis 5 is outside");
}

static ht_tensor *skews(ht_tensor *in[], void *user)
{
    return ht_skew(in[0], *(int *)user, true);
}

static ht_tensor *kurtoses(ht_tensor *in[], void *user)
{
    return ht_kurtosis(in[0], *(int *)user, true, true);
}

static ht_tensor *averages(ht_tensor *in[], void *user)
{
    return ht_average(in[0], *(int *)user, in[1]);
}

static void gradients_are_those_of_differences(void **state)
{
    static ht_gradcheck_fn *const functions[] = {skews, kurtoses, averages};

    (void)state;
    for (int job = 0; job < 9; job++) {
        const int split = job % 3 == 2 ? HT_NONE : job % 3;
        int axis = job % 2 == 0 ? 0 : job % 4 == 1 ? 1 : HT_NONE;
        ht_tensor *in[2] = {ht_test_randn(HT_SHAPE(5, 4), HT_FLOAT64, split, 3),
                            ht_exp(ht_test_randn(HT_SHAPE(5, 4), HT_FLOAT64, 0, 5))};

        ht_tensor_set_requires_grad(in[0], true);
        in[1] = ht_detach(in[1]);
        ht_tensor_set_requires_grad(in[1], true);
        ht_test_gradcheck(functions[job / 3], job / 3 == 2 ? 2 : 1, in, &axis, 1e-6);
    }
}

/* The mean lies between two numbers of the dtype. */
static void gradients_of_deviations_far_from_zero(void **state)
{
    static const struct {
        ht_dtype dtype;
        double low, high, var[2], std[2];
    } rows[] = {{HT_FLOAT32, 16777216, 16777218, {-1, 1}, {-0.5, 0.5}},
                {HT_BFLOAT16, 256, 258, {-1, 1}, {-0.5, 0.5}},
                {HT_FLOAT16, 60000, 60032, {-16, 16}, {-0.5, 0.5}}};

    (void)state;
    for (int i = 0; i < 3 * 4; i++) {
        ht_tensor *x = ht_array((double[]){rows[i / 4].low, rows[i / 4].high}, HT_SHAPE(2),
                                HT_FLOAT64, i % 2 ? 0 : HT_NONE);

        x = ht_astype(x, rows[i / 4].dtype);
        ht_tensor_set_requires_grad(x, true);
        assert_int_equal(ht_backward(i / 2 % 2 ? ht_std(x, 0) : ht_var(x, 0)), HT_SUCCESS);
        ht_test_expect(ht_tensor_grad(x), i / 2 % 2 ? rows[i / 4].std : rows[i / 4].var, 0);
    }
}

HT_TEST_SUITE(test_moments, cmocka_unit_test(moments_are_exact_far_from_zero),
              cmocka_unit_test(narrow_dtypes_are_rounded_once),
              cmocka_unit_test(undefined_moments_are_nan),
              cmocka_unit_test(few_numbers_have_no_unbiased_moments),
              cmocka_unit_test(averages_are_weighted), cmocka_unit_test(weights_have_to_fit),
              cmocka_unit_test(gradients_of_deviations_far_from_zero),
              cmocka_unit_test(gradients_are_those_of_differences));

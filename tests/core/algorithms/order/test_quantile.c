/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "ht_test.h"
#include "tensor_check.h"

typedef double pattern(int64_t i);

static double scattered(int64_t i)
{
    return (double)((i * 7919 + 13) % 10007) - 5000;
}

static double few(int64_t i)
{
    return (double)((i * 31 + i / 7) % 3) - 1;
}

static double equal(int64_t i)
{
    (void)i;
    return -2.5;
}

static double falling(int64_t i)
{
    return 100 - (double)i;
}

static double with_nan(int64_t i)
{
    return i % 29 == 3 ? NAN : i % 7 == 0 ? -INFINITY : scattered(i);
}

static const double qs[] = {50, 0, 100, 12.5, 99.9, 37};
enum { COUNT = 6 };

/* Lines that are sorted: short, long and very long ones; few and many of them, compared with the
 * number of ranks. */
static const struct {
    pattern *fill;
    ht_dtype dtype;
    int ndim;
    int64_t shape[3];
} cases[] = {
    {scattered, HT_FLOAT32, 1, {41}},
    {scattered, HT_FLOAT64, 2, {9, 10}},
    {scattered, HT_INT16, 3, {3, 4, 5}},
    {few, HT_INT64, 2, {30, 2}},
    {few, HT_UINT8, 1, {7}},
    {equal, HT_BFLOAT16, 2, {5, 3}},
    {falling, HT_INT8, 1, {50}},
    {with_nan, HT_FLOAT32, 2, {6, 11}},
    {scattered, HT_FLOAT64, 1, {5000}},
    {scattered, HT_FLOAT32, 2, {5001, 2}},
    {few, HT_FLOAT16, 2, {2, 4500}},
    {equal, HT_FLOAT64, 1, {6000}},
    {scattered, HT_INT32, 2, {1, 7000}},
    {with_nan, HT_FLOAT64, 1, {5000}},
    {scattered, HT_INT64, 2, {4200, 9}},
    {few, HT_BOOL, 1, {5000}},
    {scattered, HT_FLOAT32, 1, {300000}},
    {falling, HT_INT64, 1, {262144}},
};

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double quantile_of(const double *sorted, int64_t n, double q, ht_interpolation method)
{
    const double place = q / 100 * (double)(n - 1), below = floor(place), part = place - below;
    const double low = sorted[(int64_t)below], high = sorted[(int64_t)ceil(place)];

    if (part == 0 || method == HT_LOWER)
        return low;
    if (method == HT_HIGHER)
        return high;
    if (method == HT_NEAREST)
        return part == 0.5 ? (fmod(below, 2) == 0 ? low : high) : part < 0.5 ? low : high;
    if (low == high)
        return low;
    if (method == HT_MIDPOINT)
        return (low + high) / 2;
    return part < 0.5 ? low + part * (high - low) : high - (1 - part) * (high - low);
}

/* For each line, all results of one q, then those of the next. */
static double *expected_of(ht_tensor *x, int axis, ht_interpolation method)
{
    const double *values = ht_test_values(x);
    const int64_t *shape = ht_tensor_shape(x), size = ht_tensor_size(x);
    const int64_t n = axis == HT_NONE ? size : shape[axis], lines = size / n;
    double *line = malloc((size_t)n * sizeof *line);
    double *expected = malloc((size_t)(lines * COUNT) * sizeof *expected);
    int64_t inner = 1;

    for (int i = axis + 1; axis != HT_NONE && i < ht_tensor_ndim(x); i++)
        inner *= shape[i];
    for (int64_t l = 0; l < lines; l++) {
        bool nan = false;

        for (int64_t i = 0; i < n; i++) {
            line[i] = values[l / inner * inner * n + l % inner + i * inner];
            nan = nan || isnan(line[i]);
        }
        if (!nan)
            qsort(line, (size_t)n, sizeof *line, compare);
        for (int i = 0; i < COUNT; i++)
            expected[i * lines + l] = nan ? NAN : quantile_of(line, n, qs[i], method);
    }
    free(line);
    return expected;
}

static void check(ht_tensor *whole, int axis, ht_interpolation method)
{
    double *expected = expected_of(whole, axis, method);

    for (int split = -1; split < ht_tensor_ndim(whole); split++) {
        ht_tensor *x = ht_resplit(whole, split < 0 ? HT_NONE : split), *y;
        const bool along = split < 0 || axis == HT_NONE || axis == split;

        y = ht_percentile_ext(x, COUNT, qs, axis, method, split % 2 == 0);
        assert_int_equal(ht_tensor_shape(y)[0], COUNT);
        assert_int_equal(ht_tensor_ndim(y), split % 2 == 0    ? ht_tensor_ndim(x) + 1
                                            : axis == HT_NONE ? 1
                                                              : ht_tensor_ndim(x));
        assert_int_equal(ht_tensor_dtype(y),
                         ht_tensor_dtype(x) == HT_FLOAT32 ? HT_FLOAT32 : HT_FLOAT64);
        assert_int_equal(ht_tensor_split(y) == HT_NONE, along);
        ht_test_expect(y, expected, 1e-6);
        if (method != HT_LINEAR)
            continue;
        ht_test_expect(ht_percentile(x, qs[0], axis), expected, 1e-6);
        ht_test_expect(ht_quantile(x, 0.5, axis), expected, 1e-6);
        ht_test_expect(ht_median(x, axis), expected, 1e-6);
        ht_test_expect(ht_quantile_ext(x, 1, (double[]){0.5}, axis, HT_LINEAR, true), expected,
                       1e-6);
    }
    free(expected);
}

static void every_split_has_the_same_quantiles(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ht_scope *scope = ht_scope_open();
        int64_t size = 1;
        double *values;
        ht_tensor *x;

        for (int axis = 0; axis < cases[i].ndim; axis++)
            size *= cases[i].shape[axis];
        values = malloc((size_t)size * sizeof *values);
        for (int64_t j = 0; j < size; j++)
            values[j] = cases[i].fill(j);
        x = ht_astype(ht_array(values, cases[i].ndim, cases[i].shape, HT_FLOAT64, HT_NONE),
                      cases[i].dtype);
        free(values);
        check(x, HT_NONE, HT_LINEAR);
        for (int axis = 0; axis < cases[i].ndim; axis++) {
            for (int method = HT_LINEAR; method <= HT_NEAREST && (method == 0 || size < 100);
                 method++)
                check(x, axis, (ht_interpolation)method);
        }
        ht_scope_close(scope);
    }
}

/* Views in other orders of memory, in parts of other lengths, one of them empty. */
static void views_and_uneven_parts(void **state)
{
    ht_tensor *x = ht_arange(0, 60, 1, HT_INT32, 0), *y = ht_reshape(x, HT_SHAPE(20, 3));

    (void)state;
    ht_test_expect(ht_median(ht_narrow(x, 0, 29, 60), 0), (double[]){44}, 0);
    ht_test_expect(ht_median(ht_narrow(y, 0, 15, 20), 0), (double[]){51, 52, 53}, 0);
    ht_test_expect(ht_median(ht_transpose(ht_narrow(y, 0, 18, 20), 0, 1), 0), (double[]){55, 58},
                   0);
    ht_test_expect(ht_median(ht_flip(y, HT_AXES(1)), 0), (double[]){30.5, 29.5, 28.5}, 0);
    assert_int_equal(ht_tensor_size(ht_median(ht_narrow(y, 1, 1, 1), 0)), 0);
}

static void quantiles_of_the_largest_numbers_are_finite(void **state)
{
    static const double numbers[] = {1.75e308, -1.75e308};
    static const double parts[] = {0.25, 0.5, 0.75}, expected[] = {-0.875e308, 0, 0.875e308};

    (void)state;
    for (int split = -1; split < 1; split++) {
        ht_tensor *x = ht_array(numbers, HT_SHAPE(2), HT_FLOAT64, split < 0 ? HT_NONE : split);

        ht_test_expect(ht_median(x, 0), (double[]){0}, 0);
        ht_test_expect(ht_quantile_ext(x, 3, parts, 0, HT_LINEAR, false), expected, 1e-15);
        ht_test_expect(ht_quantile_ext(x, 1, parts, 0, HT_MIDPOINT, false), (double[]){0}, 0);
    }
}

static void wrong_arguments_are_refused(void **state)
{
    ht_tensor *x = ht_zeros(HT_SHAPE(4, 2), HT_FLOAT32, 0);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_percentile(x, 101, 0), HT_ERR_ARGUMENT,
                         "ht_percentile: q is 101, expected 0 to 100");
    HT_TEST_EXPECT_ERROR(ht_percentile_ext(ht_ones(HT_SHAPE(1, 1, 1, 1, 1, 1, 1, 1), HT_FLOAT32, 0),
                                           2, (double[]){1, 2}, 3, HT_LINEAR, true),
                         HT_ERR_ARGUMENT, "ht_percentile_ext: ");
    HT_TEST_EXPECT_ERROR(ht_quantile_ext(x, 2, NULL, 0, HT_LINEAR, true), HT_ERR_ARGUMENT,
                         "ht_quantile_ext: q is NULL");
    HT_TEST_EXPECT_ERROR(ht_quantile(x, NAN, 0), HT_ERR_ARGUMENT, "expected 0 to 1");
    HT_TEST_EXPECT_ERROR(ht_median(x, 2), HT_ERR_ARGUMENT, "ht_median: axis 2 is outside x");
    HT_TEST_EXPECT_ERROR(ht_median(ht_narrow(x, 0, 1, 1), 0), HT_ERR_SHAPE,
                         "ht_median: x of shape (0, 2) has no elements to reduce");
    HT_TEST_EXPECT_ERROR(ht_median(ht_astype(x, HT_COMPLEX64), 0), HT_ERR_DTYPE,
                         "ht_median: not defined for complex64");
}

HT_TEST_SUITE(test_quantile, cmocka_unit_test(every_split_has_the_same_quantiles),
              cmocka_unit_test(views_and_uneven_parts),
              cmocka_unit_test(quantiles_of_the_largest_numbers_are_finite),
              cmocka_unit_test(wrong_arguments_are_refused));

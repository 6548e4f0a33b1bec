/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "ht_test.h"
#include "tensor_check.h"

enum { MOST = 3000 };

typedef double pattern(int64_t i);

static double few(int64_t i)
{
    return (double)((i * 31 + i / 7) % 5) - 2;
}

static double scattered(int64_t i)
{
    return (double)((i * 7919 + 13) % 401) / 2;
}

static double equal(int64_t i)
{
    (void)i;
    return 1;
}

static double odd(int64_t i)
{
    static const double values[] = {INFINITY, 0, -0.0, -3, -INFINITY, 0.5};

    return values[i * 5 % 6];
}

static const struct {
    pattern *fill;
    ht_dtype dtype;
    int ndim;
    int64_t shape[3];
} cases[] = {
    {few, HT_INT32, 1, {100}},
    {few, HT_FLOAT32, 2, {13, 7}},
    {few, HT_BOOL, 1, {9}},
    {scattered, HT_FLOAT64, 1, {900}},
    {scattered, HT_INT64, 3, {5, 20, 6}},
    {scattered, HT_FLOAT16, 2, {3, 40}},
    {equal, HT_INT16, 1, {30}},
    {equal, HT_BFLOAT16, 2, {2, 3}},
    {odd, HT_FLOAT32, 2, {6, 5}},
    {odd, HT_COMPLEX64, 1, {40}},
    {few, HT_UINT8, 1, {2}},
    {few, HT_FLOAT64, 1, {0}},
    {few, HT_INT8, 2, {0, 3}},
};

/* The distinct ones of x in order; number and count of each. */
static int64_t distinct_of(const double *x, int64_t n, double *values, double *counts,
                           double *inverse)
{
    int64_t found = 0;

    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0;

        while (at < found && values[at] < x[i])
            at++;
        if (at < found && values[at] == x[i]) {
            counts[at]++;
            continue;
        }
        for (int64_t j = found++; j > at; j--) {
            values[j] = values[j - 1];
            counts[j] = counts[j - 1];
        }
        values[at] = x[i];
        counts[at] = 1;
    }
    for (int64_t i = 0; i < n; i++) {
        for (inverse[i] = 0; values[(int64_t)inverse[i]] != x[i];)
            inverse[i]++;
    }
    return found;
}

static void check(ht_tensor *whole, ht_tensor *x)
{
    static double values[MOST], numbers[MOST], places[MOST];
    const int64_t n = distinct_of(ht_test_values(ht_real(whole)), ht_tensor_size(whole), values,
                                  numbers, places);
    const int split = ht_tensor_split(x) == HT_NONE ? HT_NONE : 0;
    ht_tensor *found, *inverse, *counts, *alone;

    assert_int_equal(ht_unique(x, &found, &inverse, &counts), HT_SUCCESS);
    assert_int_equal(ht_tensor_ndim(found), 1);
    assert_int_equal(ht_tensor_size(found), n);
    assert_int_equal(ht_tensor_split(found), split);
    assert_int_equal(ht_tensor_split(counts), split);
    assert_int_equal(ht_tensor_split(inverse), ht_tensor_split(x));
    assert_int_equal(ht_tensor_dtype(found), ht_tensor_dtype(x));
    ht_test_expect(ht_real(found), values, 0);
    ht_test_expect(counts, numbers, 0);
    ht_test_expect(inverse, places, 0);
    assert_int_equal(ht_unique(x, &alone, NULL, &counts), HT_SUCCESS);
    ht_test_expect(counts, numbers, 0);
    assert_int_equal(ht_unique(x, &alone, NULL, NULL), HT_SUCCESS);
    ht_test_expect(ht_real(alone), values, 0);
}

static void every_split_has_the_same_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ht_scope *scope = ht_scope_open();
        double values[MOST];
        int64_t size = 1;
        ht_tensor *whole;

        for (int axis = 0; axis < cases[i].ndim; axis++)
            size *= cases[i].shape[axis];
        for (int64_t j = 0; j < size; j++)
            values[j] = cases[i].fill(j);
        whole = ht_astype(ht_array(values, cases[i].ndim, cases[i].shape, HT_FLOAT64, HT_NONE),
                          cases[i].dtype);
        for (int split = -1; split < cases[i].ndim; split++)
            check(whole, ht_resplit(whole, split < 0 ? HT_NONE : split));
        if (size > 10 && cases[i].ndim == 1) /* in parts of which the first ones are empty */
            check(ht_narrow(whole, 0, size - 7, size),
                  ht_narrow(ht_resplit(whole, 0), 0, size - 7, size));
        if (cases[i].ndim == 2)
            check(ht_transpose(whole, 0, 1), ht_transpose(ht_resplit(whole, 0), 0, 1));
        ht_scope_close(scope);
    }
}

static void each_nan_is_a_value_of_its_own(void **state)
{
    const double data[] = {NAN, 1, NAN, -1, 1, NAN, 2, NAN};
    ht_tensor *values, *inverse, *counts;

    (void)state;
    for (int split = -1; split < 1; split++) {
        ht_tensor *x = ht_array(data, HT_SHAPE(8), HT_FLOAT64, split < 0 ? HT_NONE : 0);

        assert_int_equal(ht_unique(x, &values, &inverse, &counts), HT_SUCCESS);
        ht_test_expect(values, (double[]){-1, 1, 2, NAN, NAN, NAN, NAN}, 0);
        ht_test_expect(inverse, (double[]){3, 1, 4, 0, 1, 5, 2, 6}, 0);
        ht_test_expect(counts, (double[]){1, 2, 1, 1, 1, 1, 1}, 0);
    }
    values = NULL;
    HT_TEST_EXPECT_ERROR(ht_unique(NULL, &values, NULL, NULL), HT_ERR_ARGUMENT, "ht_unique: x is");
    assert_null(values);
}

HT_TEST_SUITE(test_unique, cmocka_unit_test(every_split_has_the_same_values),
              cmocka_unit_test(each_nan_is_a_value_of_its_own));

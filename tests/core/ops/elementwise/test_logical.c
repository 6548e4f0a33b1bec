/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Truth of numbers of every kind, numbers that are close, and whether any or all are true. */
#include <complex.h>
#include <math.h>

#include "ht_test.h"
#include "tensor_check.h"

enum { ROWS = 4, COLUMNS = 5 };

static int split_of(int i)
{
    return i < 0 ? HT_NONE : i;
}

/* Each number with each, along rows and columns. */
static void check_truth(const double numbers[], int64_t count, ht_dtype dtype)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht_astype(ht_array(numbers, 1, &count, HT_FLOAT64, 0), dtype);
    ht_tensor *column = ht_reshape(x, HT_SHAPE(count, 1));
    double both[64], either[64], one[64];

    for (int64_t i = 0; i < count * count; i++) {
        const bool p = numbers[i / count] != 0, q = numbers[i % count] != 0;

        both[i] = p && q;
        either[i] = p || q;
        one[i] = p != q;
    }
    assert_int_equal(ht_tensor_dtype(ht_logical_and(column, x)), HT_BOOL);
    ht_test_expect(ht_logical_and(column, x), both, 0);
    ht_test_expect(ht_logical_or(column, x), either, 0);
    ht_test_expect(ht_logical_xor(column, x), one, 0);
    ht_scope_close(scope);
}

static void nonzero_is_true(void **state)
{
    static const double floats[] = {0, -0.0, 1, -2, 0.25, INFINITY, NAN}, whole[] = {0, 1, 2, 100};

    (void)state;
    for (int i = 0; i < HT_DTYPE_COUNT; i++) {
        const ht_dtype dtype = (ht_dtype)i;

        if (dtype == HT_BOOL || ht_dtype_is_integer(dtype))
            check_truth(whole, 4, dtype);
        else
            check_truth(floats, 7, dtype);
    }
}

static void imaginary_numbers_are_true(void **state)
{
    const double complex z[] = {0, 2 * _Complex_I};
    ht_tensor *x = ht_array(z, HT_SHAPE(2), HT_COMPLEX128, 0);

    (void)state;
    ht_test_expect(ht_logical_or(x, x), (double[]){0, 1}, 0);
    ht_test_expect(ht_logical_xor(x, ht_scalar(1)), (double[]){1, 0}, 0);
    assert_int_equal(ht_item(ht_any(x, HT_NONE)), 1);
    assert_int_equal(ht_item(ht_all(x, HT_NONE)), 0);
}

/* a, b and whether NumPy calls them close, with its tolerances. */
static const struct {
    double a, b;
    bool close;
} pairs[] = {{1, 1, true},
             {1, 1 + 1e-9, true},
             {1, 1.001, false},
             {1e10, 1.00001e10, true},
             {1e10, 1.0001e10, false},
             {0, 1e-9, true},
             {0, 1e-7, false},
             {-1, 1, false},
             {INFINITY, INFINITY, true},
             {INFINITY, -INFINITY, false},
             {INFINITY, 1e308, false},
             {1e308, INFINITY, false},
             {-1e308, 1e308, false},
             {NAN, 1, false}};

static void close_numbers_are_those_of_numpy(void **state)
{
    enum { COUNT = sizeof pairs / sizeof *pairs };
    double a[COUNT], b[COUNT], expected[COUNT];

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        a[i] = pairs[i].a;
        b[i] = pairs[i].b;
        expected[i] = pairs[i].close;
    }
    for (int split = -1; split < 1; split++) {
        ht_tensor *x = ht_array(a, HT_SHAPE(COUNT), HT_FLOAT64, split_of(split));
        ht_tensor *y = ht_array(b, HT_SHAPE(COUNT), HT_FLOAT64, HT_NONE);

        ht_test_expect(ht_isclose(x, y, 1e-5, 1e-8, false), expected, 0);
        ht_test_expect(ht_isclose(x, y, 1e-5, 1e-8, true), expected, 0);
        assert_int_equal(ht_tensor_dtype(ht_isclose(x, y, 0, 0, false)), HT_BOOL);
    }
}

/* Relative to the second one; the bound itself is close. */
static void isclose_is_relative_to_the_second_operand(void **state)
{
    ht_tensor *a = ht_array((double[]){9, 10, 3}, HT_SHAPE(3), HT_FLOAT64, 0);
    ht_tensor *b = ht_array((double[]){10, 9, -3}, HT_SHAPE(3), HT_FLOAT64, 0);

    (void)state;
    ht_test_expect(ht_isclose(a, b, 0.1, 0, false), (double[]){1, 0, 0}, 0);
    ht_test_expect(ht_isclose(a, b, 0, 1, false), (double[]){1, 1, 0}, 0);
    ht_test_expect(ht_isclose(a, b, 1, 3, false), (double[]){1, 1, 1}, 0);
}

static void nan_is_close_to_nan_with_equal_nan(void **state)
{
    const double complex z[] = {NAN, 1 + 1e-9 * _Complex_I, INFINITY}, w[] = {NAN, 1, INFINITY};
    ht_tensor *x = ht_array((double[]){NAN, 1, NAN}, HT_SHAPE(3), HT_FLOAT64, 0);
    ht_tensor *y = ht_array((double[]){NAN, NAN, 2}, HT_SHAPE(3), HT_FLOAT64, 0);
    ht_tensor *u = ht_array(z, HT_SHAPE(3), HT_COMPLEX128, 0);
    ht_tensor *v = ht_array(w, HT_SHAPE(3), HT_COMPLEX128, 0);

    (void)state;
    ht_test_expect(ht_isclose(x, y, 1e-5, 1e-8, false), (double[]){0, 0, 0}, 0);
    ht_test_expect(ht_isclose(x, y, 1e-5, 1e-8, true), (double[]){1, 0, 0}, 0);
    ht_test_expect(ht_isclose(u, v, 1e-5, 1e-8, false), (double[]){0, 1, 1}, 0);
    ht_test_expect(ht_isclose(u, v, 1e-5, 1e-8, true), (double[]){1, 1, 1}, 0);
}

/* Integers are compared by their exact difference, also where doubles would be equal, over the
   complete range. */
static void integers_are_close_exactly(void **state)
{
    const int64_t n = (INT64_C(1) << 53) + 1, a[] = {n, n, INT64_MIN, 100},
                  b[] = {n, n - 1, INT64_MAX, 101};
    ht_tensor *x = ht_array(a, HT_SHAPE(4), HT_INT64, 0),
              *y = ht_array(b, HT_SHAPE(4), HT_INT64, 0);
    ht_tensor *least = ht_array((int8_t[]){-128, 127}, HT_SHAPE(2), HT_INT8, 0);

    (void)state;
    ht_test_expect(ht_isclose(x, y, 0, 0, false), (double[]){1, 0, 0, 0}, 0);
    ht_test_expect(ht_isclose(x, y, 0, 1, false), (double[]){1, 1, 0, 1}, 0);
    ht_test_expect(ht_isclose(x, y, 0.01, 0, false), (double[]){1, 1, 0, 1}, 0);
    ht_test_expect(ht_isclose(least, ht_scalar(127), 1, 10, false), (double[]){0, 1}, 0);
    ht_test_expect(ht_isclose(least, ht_scalar(127), 2, 1, false), (double[]){1, 1}, 0);
}

static bool all_close(ht_tensor *a, ht_tensor *b, bool equal_nan)
{
    bool close = false, apart = true;

    assert_int_equal(ht_allclose(a, b, 1e-5, 1e-8, equal_nan, &close), HT_SUCCESS);
    assert_int_equal(ht_allclose(a, b, 1e-5, 1e-8, equal_nan, &apart), HT_SUCCESS);
    assert_true(close == apart);
    return close;
}

/* The same answer on every rank, for any position of the element that is not close. */
static void all_are_close_or_one_is_not(void **state)
{
    (void)state;
    for (int job = 0; job < 9 * ROWS; job++) {
        ht_scope *scope = ht_scope_open();
        double values[ROWS * COLUMNS];
        ht_tensor *a, *b;

        for (int i = 0; i < ROWS * COLUMNS; i++)
            values[i] = i;
        b = ht_array(values, HT_SHAPE(ROWS, COLUMNS), HT_FLOAT64, split_of(job / 3 % 3 - 1));
        values[job / 9 * COLUMNS] += 1e-3;
        a = ht_array(values, HT_SHAPE(ROWS, COLUMNS), HT_FLOAT64, split_of(job % 3 - 1));
        assert_false(all_close(a, b, false));
        assert_true(all_close(a, a, false) && all_close(b, b, true));
        ht_scope_close(scope);
    }
}

static void close_to_what_broadcasts(void **state)
{
    ht_tensor *x = ht_full(HT_SHAPE(ROWS, COLUMNS), 2, HT_FLOAT32, 0), *none;
    ht_tensor *nan = ht_full(HT_SHAPE(COLUMNS), NAN, HT_FLOAT32, 0);
    bool close = true;

    (void)state;
    assert_true(all_close(x, ht_scalar(2), false));
    assert_true(all_close(ht_full(HT_SHAPE(ROWS, 1), 2, HT_FLOAT32, 0), x, false));
    assert_false(all_close(nan, nan, false));
    assert_true(all_close(nan, nan, true));
    none = ht_ones(HT_SHAPE(0, COLUMNS), HT_FLOAT32, 0);
    assert_true(all_close(none, nan, false));
    HT_TEST_EXPECT_ERROR(ht_allclose(x, ht_ones(HT_SHAPE(3), HT_FLOAT32, 0), 0, 0, false, &close),
                         HT_ERR_SHAPE, "ht_allclose: a is (4, 5), b is (3,)");
    HT_TEST_EXPECT_ERROR(ht_allclose(x, x, 0, 0, false, NULL), HT_ERR_ARGUMENT,
                         "ht_allclose: close");
    HT_TEST_EXPECT_ERROR(ht_allclose(x, NULL, 0, 0, false, &close), HT_ERR_ARGUMENT,
                         "ht_allclose: b");
    HT_TEST_EXPECT_ERROR(ht_isclose(NULL, x, 0, 0, false), HT_ERR_ARGUMENT, "ht_isclose: a");
    assert_true(close);
}

/* A row that is true, one that is not, and two that are in part; NaN is true. */
static const double truth[ROWS * COLUMNS] = {1, 2, -1, NAN, 0.5, 0, -0.0, 0, 0, 0,
                                             0, 1, 0,  0,   3,   4, 5,    0, 6, 7};

static void check_axis(ht_tensor *x, int axis, const double every[], const double some[])
{
    ht_tensor *all = ht_all(x, axis), *any = ht_any(x, axis);
    ht_tensor *sum = ht_sum(x, axis);

    ht_test_expect(all, every, 0);
    ht_test_expect(any, some, 0);
    assert_int_equal(ht_tensor_dtype(all), HT_BOOL);
    assert_int_equal(ht_tensor_dtype(any), HT_BOOL);
    assert_int_equal(ht_tensor_split(all), ht_tensor_split(sum));
    assert_int_equal(ht_tensor_split(any), ht_tensor_split(sum));
}

static void any_and_all_along_each_axis(void **state)
{
    static const double rows[] = {1, 0, 0, 0}, some_row[] = {1, 0, 1, 1},
                        some_column[] = {1, 1, 1, 1, 1};

    (void)state;
    for (int i = 0; i < HT_DTYPE_COUNT; i++)
        for (int split = -1; split < 2; split++) {
            ht_scope *scope = ht_scope_open();
            ht_tensor *x = ht_array(truth, HT_SHAPE(ROWS, COLUMNS), HT_FLOAT64, split_of(split));

            if (i == HT_BOOL || ht_dtype_is_integer((ht_dtype)i))
                x = ht_astype(ht_ne(x, ht_scalar(0)), (ht_dtype)i);
            else
                x = ht_astype(x, (ht_dtype)i);
            check_axis(x, 1, rows, some_row);
            check_axis(x, -2, (double[]){0, 0, 0, 0, 0}, some_column);
            check_axis(x, HT_NONE, (double[]){0}, (double[]){1});
            check_axis(ht_narrow(x, 0, 0, 1), HT_NONE, (double[]){1}, (double[]){1});
            check_axis(ht_narrow(x, 0, 1, 2), HT_NONE, (double[]){0}, (double[]){0});
            ht_scope_close(scope);
        }
}

/* On more ranks than rows, too. */
static void all_of_nothing_is_true_and_any_is_false(void **state)
{
    (void)state;
    for (int split = -1; split < 2; split++) {
        ht_tensor *x = ht_ones(HT_SHAPE(0, 3), HT_FLOAT32, split_of(split));

        ht_test_expect(ht_all(x, 0), (double[]){1, 1, 1}, 0);
        ht_test_expect(ht_any(x, 0), (double[]){0, 0, 0}, 0);
        assert_int_equal(ht_tensor_size(ht_all(x, 1)), 0);
        assert_int_equal(ht_item(ht_all(x, HT_NONE)), 1);
        assert_int_equal(ht_item(ht_any(x, HT_NONE)), 0);
    }
    assert_int_equal(ht_item(ht_all(ht_ones(HT_SHAPE(1), HT_BOOL, 0), HT_NONE)), 1);
    assert_int_equal(ht_item(ht_any(ht_zeros(HT_SHAPE(1), HT_BOOL, 0), HT_NONE)), 0);
}

static void long_forms_have_axes_and_keep_them(void **state)
{
    (void)state;
    for (int split = -1; split < 3; split++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = ht_reshape(ht_array(truth, HT_SHAPE(ROWS, COLUMNS), HT_FLOAT64, HT_NONE),
                                  HT_SHAPE(2, 2, COLUMNS));
        ht_reduce_options o = ht_reduce_options_default();
        ht_tensor *y;

        x = ht_resplit(x, split_of(split));
        o.count = 2, o.axes = (int[]){-1, 0};
        ht_test_expect(ht_any_ext(x, &o), (double[]){1, 1}, 0);
        ht_test_expect(ht_all_ext(x, &o), (double[]){0, 0}, 0);
        o.count = 1, o.keepdims = true;
        y = ht_all_ext(x, &o);
        ht_test_expect_same(y, ht_reshape(ht_all(x, 2), HT_SHAPE(2, 2, 1)), 0);
        assert_int_equal(ht_tensor_split(y), split == 2 ? HT_NONE : split_of(split));
        ht_test_expect_same(ht_any_ext(x, NULL), ht_any(x, HT_NONE), 0);
        o.count = 0;
        ht_test_expect_same(ht_all_ext(x, &o), ht_ne(x, ht_scalar(0)), 0);
        ht_scope_close(scope);
    }
}

static void options_that_do_not_apply_are_refused(void **state)
{
    const ht_number one = HT_NUM(1);
    ht_tensor *x = ht_ones(HT_SHAPE(ROWS, COLUMNS), HT_BOOL, 0);
    ht_reduce_options o = ht_reduce_options_default();

    (void)state;
    o.initial = &one;
    HT_TEST_EXPECT_ERROR(ht_all_ext(x, &o), HT_ERR_ARGUMENT,
                         "ht_all_ext: options.initial is set, expected its default");
    o = ht_reduce_options_default();
    o.where = x;
    HT_TEST_EXPECT_ERROR(ht_any_ext(x, &o), HT_ERR_ARGUMENT,
                         "ht_any_ext: options.where is set, expected its default");
    o = ht_reduce_options_default();
    o.dtype = HT_INT32;
    HT_TEST_EXPECT_ERROR(ht_any_ext(x, &o), HT_ERR_ARGUMENT, "ht_any_ext: options.dtype");
    HT_TEST_EXPECT_ERROR(ht_all(x, 2), HT_ERR_ARGUMENT, "ht_all: ");
    HT_TEST_EXPECT_ERROR(ht_any(NULL, 0), HT_ERR_ARGUMENT, "ht_any: x");
    HT_TEST_EXPECT_ERROR(ht_all_ext(NULL, NULL), HT_ERR_ARGUMENT, "ht_all_ext: x");
}

/* Truth has no gradient, so its operands are not kept. */
static void logical_results_have_no_gradient(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(3), HT_FLOAT32, 0);

    (void)state;
    ht_tensor_set_requires_grad(x, true);
    assert_false(ht_tensor_requires_grad(ht_logical_and(x, x)));
    assert_false(ht_tensor_requires_grad(ht_isclose(x, x, 0, 0, false)));
    assert_false(ht_tensor_requires_grad(ht_all(x, 0)));
}

HT_TEST_SUITE(test_logical, cmocka_unit_test(nonzero_is_true),
              cmocka_unit_test(imaginary_numbers_are_true),
              cmocka_unit_test(close_numbers_are_those_of_numpy),
              cmocka_unit_test(isclose_is_relative_to_the_second_operand),
              cmocka_unit_test(nan_is_close_to_nan_with_equal_nan),
              cmocka_unit_test(integers_are_close_exactly),
              cmocka_unit_test(all_are_close_or_one_is_not),
              cmocka_unit_test(close_to_what_broadcasts),
              cmocka_unit_test(any_and_all_along_each_axis),
              cmocka_unit_test(all_of_nothing_is_true_and_any_is_false),
              cmocka_unit_test(long_forms_have_axes_and_keep_them),
              cmocka_unit_test(options_that_do_not_apply_are_refused),
              cmocka_unit_test(logical_results_have_no_gradient));

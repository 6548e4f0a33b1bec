/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

enum { MOST = 6000 };

typedef double pattern(int64_t i);

static double scattered(int64_t i)
{
    return (double)((i * 7919 + 13) % 10007) - 5000;
}

static double few(int64_t i)
{
    return (double)((i * 31 + i / 7) % 3);
}

static double equal(int64_t i)
{
    (void)i;
    return 1;
}

static double rising(int64_t i)
{
    return (double)i;
}

static double falling(int64_t i)
{
    return (double)-i;
}

static double odd(int64_t i)
{
    static const double values[] = {NAN, -0.0, 0.0, INFINITY, -INFINITY, 1.5, -1.5, -0.0, NAN};

    return values[i * 5 % 9];
}

static const struct {
    pattern *fill;
    ht_dtype dtype;
    int ndim;
    int64_t shape[3];
} cases[] = {
    {scattered, HT_FLOAT32, 1, {40}},
    {scattered, HT_FLOAT64, 1, {5003}},
    {scattered, HT_INT32, 1, {3}},
    {scattered, HT_INT64, 2, {30, 2}},
    {scattered, HT_INT16, 2, {9, 11}},
    {scattered, HT_FLOAT32, 3, {3, 8, 5}},
    {scattered, HT_INT64, 1, {2000}},
    {scattered, HT_FLOAT32, 1, {3000}},
    {few, HT_UINT8, 1, {50}},
    {few, HT_INT8, 2, {12, 3}},
    {few, HT_BOOL, 1, {30}},
    {few, HT_FLOAT32, 2, {1300, 2}},
    {few, HT_FLOAT64, 1, {1500}},
    {equal, HT_INT32, 1, {20}},
    {equal, HT_BFLOAT16, 2, {2, 14}},
    {rising, HT_FLOAT32, 1, {33}},
    {falling, HT_FLOAT64, 1, {33}},
    {falling, HT_INT32, 2, {4, 17}},
    {odd, HT_FLOAT32, 1, {45}},
    {odd, HT_FLOAT64, 2, {3, 15}},
    {odd, HT_FLOAT16, 2, {15, 3}},
    {odd, HT_BFLOAT16, 1, {1300}},
    {scattered, HT_FLOAT32, 2, {0, 3}},
    {scattered, HT_FLOAT64, 2, {1, 5}},
    {scattered, HT_FLOAT32, 3, {6, 1, 2}},
};

static ht_tensor *tensor_of(pattern *fill, ht_dtype dtype, int ndim, const int64_t shape[])
{
    double values[MOST];
    int64_t size = 1;

    for (int i = 0; i < ndim; i++)
        size *= shape[i];
    for (int64_t i = 0; i < size; i++)
        values[i] = fill(i);
    return ht_astype(ht_array(values, ndim, shape, HT_FLOAT64, HT_NONE), dtype);
}

static bool lower(double a, double b)
{
    return a < b || (isnan(b) && !isnan(a));
}

/* Where each element of x goes in a stable sort of a line; from[]: the sources in order. */
static void sort_line(const double *x, int64_t n, int64_t stride, bool descending, int64_t *from)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t j = i;

        for (; j > 0 && (descending ? lower(x[from[j - 1] * stride], x[i * stride])
                                    : lower(x[i * stride], x[from[j - 1] * stride]));
             j--)
            from[j] = from[j - 1];
        from[j] = i;
    }
}

/* Compares values and indices with those of the unsplit tensor. */
static void check_sorted(ht_tensor *whole, ht_tensor *values, ht_tensor *indices, int axis,
                         bool descending)
{
    const double *x = ht_test_values(whole), *y = ht_test_values(values);
    const double *at = ht_test_values(indices);
    const int64_t *shape = ht_tensor_shape(whole), n = shape[axis];
    int64_t from[MOST], inner = 1, size = ht_tensor_size(whole);

    for (int i = axis + 1; i < ht_tensor_ndim(whole); i++)
        inner *= shape[i];
    for (int64_t line = 0; n > 0 && line < size / n; line++) {
        const int64_t first = line / inner * n * inner + line % inner;

        sort_line(x + first, n, inner, descending, from);
        for (int64_t i = 0; i < n; i++) {
            const double expected = x[first + from[i] * inner], found = y[first + i * inner];

            assert_true(at[first + i * inner] == (double)from[i]);
            assert_true(expected == found || (isnan(expected) && isnan(found)));
            assert_true(isnan(found) || signbit(expected) == signbit(found));
        }
    }
}

static void check_case(ht_tensor *whole, int axis, bool descending)
{
    for (int split = -1; split < ht_tensor_ndim(whole); split++) {
        ht_tensor *x = ht_resplit(whole, split < 0 ? HT_NONE : split), *values, *indices, *alone;

        assert_int_equal(ht_sort(x, axis, descending, &values, &indices), HT_SUCCESS);
        assert_int_equal(ht_tensor_split(values), ht_tensor_split(x));
        assert_int_equal(ht_tensor_split(indices), ht_tensor_split(x));
        assert_int_equal(ht_tensor_dtype(values), ht_tensor_dtype(x));
        assert_int_equal(ht_tensor_dtype(indices), HT_INT64);
        assert_true(ht_tensor_is_balanced(values) && ht_tensor_is_balanced(indices));
        check_sorted(whole, values, indices, axis, descending);
        assert_int_equal(ht_sort(x, axis - ht_tensor_ndim(x), descending, &alone, NULL),
                         HT_SUCCESS);
        check_sorted(whole, alone, ht_argsort(x, axis, descending), axis, descending);
    }
}

static void every_split_is_sorted_as_if_unsplit(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = tensor_of(cases[i].fill, cases[i].dtype, cases[i].ndim, cases[i].shape);

        for (int axis = 0; axis < cases[i].ndim; axis++) {
            check_case(x, axis, false);
            check_case(x, axis, true);
        }
        ht_scope_close(scope);
    }
}

/* The first k in order: few of many, about half, and all. */
static void topk_is_the_beginning_of_the_order(void **state)
{
    static const struct {
        pattern *fill;
        ht_dtype dtype;
        int64_t shape[2];
    } rows[] = {{scattered, HT_FLOAT32, {5600, 1}},
                {few, HT_INT64, {1, 5000}},
                {odd, HT_FLOAT64, {17, 3}},
                {rising, HT_INT16, {2900, 2}},
                {falling, HT_COMPLEX128, {5000, 1}},
                {scattered, HT_COMPLEX64, {9, 9}},
                {equal, HT_BOOL, {2, 3}}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ht_tensor *whole = tensor_of(rows[i].fill, rows[i].dtype, 2, rows[i].shape);
        const int axis = rows[i].shape[0] == 1;
        const int64_t n = rows[i].shape[axis], counts[] = {0, 1, n < 20 ? n / 2 : 20, n / 2, n};

        for (int j = 0; j < 20; j++) {
            ht_scope *scope = ht_scope_open();
            const int split = j / 10 == 0 ? j / 5 : HT_NONE;
            const int64_t k = counts[j % 5];
            const bool largest = j % 2 == 0;
            ht_tensor *x = ht_resplit(whole, split), *values, *indices, *all, *places;

            assert_int_equal(ht_topk(x, k, axis, largest, &values, &indices), HT_SUCCESS);
            assert_int_equal(ht_sort(whole, axis, largest, &all, &places), HT_SUCCESS);
            assert_int_equal(ht_tensor_split(values), split);
            assert_true(ht_tensor_is_balanced(values) || split == HT_NONE);
            ht_test_expect_same(indices, ht_narrow(places, axis, 0, k), 0);
            ht_test_expect_same(ht_real(values), ht_real(ht_narrow(all, axis, 0, k)), 0);
            ht_scope_close(scope);
        }
    }
}

/* Views in other orders of memory, and parts of other lengths, one of them empty. */
static void views_and_uneven_parts_are_sorted(void **state)
{
    const int64_t shape[2] = {20, 3}, length = 60;
    ht_tensor *whole = tensor_of(scattered, HT_FLOAT32, 2, shape), *values, *indices;
    ht_tensor *line = tensor_of(few, HT_INT32, 1, &length);

    (void)state;
    for (int split = 0; split < 2; split++) {
        ht_tensor *x = ht_transpose(ht_resplit(whole, split), 0, 1);

        for (int axis = 0; axis < 2; axis++) {
            assert_int_equal(ht_sort(x, axis, false, &values, &indices), HT_SUCCESS);
            check_sorted(ht_transpose(whole, 0, 1), values, indices, axis, false);
        }
        x = ht_flip(ht_narrow(ht_resplit(whole, split), 0, 7, 12), HT_AXES(1));
        for (int axis = 0; axis < 2; axis++) {
            assert_int_equal(ht_sort(x, axis, true, &values, &indices), HT_SUCCESS);
            check_sorted(ht_flip(ht_narrow(whole, 0, 7, 12), HT_AXES(1)), values, indices, axis,
                         true);
        }
    }
    assert_int_equal(
        ht_sort(ht_narrow(ht_resplit(line, 0), 0, 29, 60), 0, false, &values, &indices),
        HT_SUCCESS);
    check_sorted(ht_narrow(line, 0, 29, 60), values, indices, 0, false);
    assert_true(ht_tensor_is_balanced(values));
}

/* By the real, then by the imaginary parts: the ranks of these numbers in order. */
static void complex_numbers_go_by_their_parts(void **state)
{
    static const double parts[][2] = {{1, 2},  {1, -2}, {NAN, 0}, {-3, 5}, {1, NAN}, {-0.0, 1},
                                      {0, -1}, {1, 2},  {-3, 5},  {0, 1},  {7, 7},   {-3, -5}};
    static const double expected[] = {11, 3, 8, 6, 5, 9, 1, 0, 7, 4, 10, 2};
    const int64_t n = 12;

    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        ht_tensor *x = ht_astype(ht_array(parts, 1, &n, HT_COMPLEX128, HT_NONE),
                                 wide != 0 ? HT_COMPLEX128 : HT_COMPLEX64);

        for (int split = -1; split < 1; split++) {
            ht_tensor *values, *indices;

            assert_int_equal(
                ht_sort(ht_resplit(x, split < 0 ? HT_NONE : 0), 0, false, &values, &indices),
                HT_SUCCESS);
            ht_test_expect(indices, expected, 0);
            for (int64_t i = 0; i < n; i++) {
                const double *of = parts[(int)expected[i]];

                assert_true(isnan(of[0]) || ht_test_values(ht_real(values))[i] == of[0]);
                assert_true(isnan(of[1]) || ht_test_values(ht_imag(values))[i] == of[1]);
            }
        }
    }
}

static ht_tensor *sorted_rows(ht_tensor *inputs[], void *user)
{
    ht_tensor *values;

    return ht_sort(inputs[0], *(int *)user, true, &values, NULL) == HT_SUCCESS ? values : NULL;
}

static ht_tensor *best_rows(ht_tensor *inputs[], void *user)
{
    ht_tensor *values;

    return ht_topk(inputs[0], 3, *(int *)user, false, &values, NULL) == HT_SUCCESS ? values : NULL;
}

static void gradients_go_where_values_came_from(void **state)
{
    const int64_t shape[2] = {9, 4};

    (void)state;
    for (int split = -1; split < 2; split++) {
        for (int axis = 0; axis < 2; axis++) {
            ht_tensor *x = ht_test_randn(2, shape, HT_FLOAT64, split < 0 ? HT_NONE : split, 5);

            ht_tensor_set_requires_grad(x, true);
            ht_test_gradcheck(sorted_rows, 1, &x, &axis, 1e-7);
            ht_test_gradcheck(best_rows, 1, &x, &axis, 1e-7);
        }
    }
}

static void wrong_arguments_are_refused(void **state)
{
    ht_tensor *x = ht_zeros(HT_SHAPE(4, 2), HT_FLOAT32, 0), *values = NULL;

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_sort(x, 2, false, &values, NULL), HT_ERR_ARGUMENT,
                         "ht_sort: axis 2 is outside x of shape (4, 2)");
    HT_TEST_EXPECT_ERROR(ht_argsort(x, -3, false), HT_ERR_ARGUMENT,
                         "ht_argsort: axis -3 is outside x of shape (4, 2)");
    HT_TEST_EXPECT_ERROR(ht_topk(x, 5, 0, true, &values, NULL), HT_ERR_ARGUMENT,
                         "ht_topk: k is 5, expected 0 to 4, the length of axis 0");
    assert_null(values);
}

HT_TEST_SUITE(test_sort, cmocka_unit_test(every_split_is_sorted_as_if_unsplit),
              cmocka_unit_test(topk_is_the_beginning_of_the_order),
              cmocka_unit_test(views_and_uneven_parts_are_sorted),
              cmocka_unit_test(complex_numbers_go_by_their_parts),
              cmocka_unit_test(gradients_go_where_values_came_from),
              cmocka_unit_test(wrong_arguments_are_refused));

/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include "gradcheck.h"
#include "core/algorithms/factor/matrices_test.h"

static const int64_t orders[] = {0, 1, 2, 6, 13, 30};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Far from singular. */
static ht_tensor *matrix(int64_t n, ht_dtype dtype, int split)
{
    ht_tensor *x = random_matrix(n, n, dtype, HT_NONE, 5);

    x = ht_add(x, ht_mul_scalar(ht_eye(n, n, dtype, HT_NONE), 3 * sqrt((double)n)));
    return ht_resplit(ht_flip(x, HT_AXES(0)), split); /* with pivots that move */
}

static void check_systems(ht_tensor *a, ht_tensor *b)
{
    const double roundings = 100 * (double)(ht_tensor_shape(a)[0] + 1);
    ht_tensor *x = ht_solve(a, b), *lower = ht_tril(ht_flip(a, HT_AXES(0)), 0);
    ht_tensor *upper = ht_transpose(lower, 0, 1);

    assert_int_equal(ht_tensor_split(x), ht_tensor_split(b));
    expect_near(ht_matmul(a, x), b, roundings);
    x = ht_solve_triangular(lower, b, false);
    assert_int_equal(ht_tensor_split(x), ht_tensor_split(b));
    expect_near(ht_matmul(lower, x), b, roundings);
    expect_near(ht_matmul(upper, ht_solve_triangular(upper, b, true)), b, roundings);
    expect_near(ht_solve_triangular(ht_add(lower, ht_triu(a, 1)), b, false), x, 0.5);
}

static void systems_of_every_size_dtype_and_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(orders); i++) {
        for (int which = 0; which < 9 * (int)COUNT(matrix_dtypes); which++) {
            const ht_dtype dtype = matrix_dtypes[which / 9];
            const int64_t n = orders[i];
            ht_scope *scope = ht_scope_open();
            ht_tensor *a = matrix(n, dtype, split_of(which % 3 - 1));

            check_systems(a, random_matrix(n, 5, dtype, split_of(which / 3 % 3 - 1), 6));
            if (which % 9 < 3)
                check_systems(a, random_matrix(n, 1, dtype, 0, 6));
            ht_scope_close(scope);
        }
    }
}

static void vectors_and_batches(void **state)
{
    ht_tensor *a = ht_add(ht_test_randn(HT_SHAPE(5, 4, 4), HT_FLOAT64, HT_NONE, 1),
                          ht_mul_scalar(ht_eye(4, 4, HT_FLOAT64, HT_NONE), 6));
    ht_tensor *b = ht_test_randn(HT_SHAPE(5, 4, 3), HT_FLOAT64, HT_NONE, 2);
    ht_tensor *column = ht_test_randn(HT_SHAPE(4), HT_FLOAT64, 0, 3), *x;
    ht_tensor *first = ht_squeeze(ht_narrow(a, 0, 0, 1), 0);

    (void)state;
    for (int split = -1; split < 2; split++) {
        x = ht_solve(ht_resplit(first, split_of(split)), column);
        assert_int_equal(ht_tensor_ndim(x), 1);
        assert_int_equal(ht_tensor_split(x), 0);
        ht_test_expect_same(
            ht_squeeze(ht_matmul(first, ht_resplit(ht_expand_dims(x, 1), HT_NONE)), 1),
            ht_resplit(column, HT_NONE), 1e-13);
    }
    for (int split = -1; split < 9; split++) {
        ht_tensor *as = ht_resplit(a, split_of(split % 3)),
                  *bs = ht_resplit(b, split_of(split / 3));
        ht_tensor *det = ht_det(as), *inverse = ht_inv(as), *sign, *logarithm;

        x = ht_solve(as, bs);
        assert_int_equal(ht_tensor_split(x), ht_tensor_split(bs));
        assert_int_equal(ht_slogdet(as, &sign, &logarithm), HT_SUCCESS);
        ht_test_expect_same(ht_mul(sign, ht_exp(logarithm)), det, 1e-10);
        for (int64_t i = 0; i < 5; i++) {
            ht_tensor *one = ht_squeeze(ht_narrow(a, 0, i, i + 1), 0);
            ht_tensor *found = ht_resplit(x, HT_NONE);

            ht_test_expect_same(ht_squeeze(ht_narrow(found, 0, i, i + 1), 0),
                                ht_solve(one, ht_squeeze(ht_narrow(b, 0, i, i + 1), 0)), 1e-13);
            found = ht_resplit(inverse, HT_NONE);
            ht_test_expect_same(ht_squeeze(ht_narrow(found, 0, i, i + 1), 0), ht_inv(one), 1e-13);
            found = ht_resplit(det, HT_NONE);
            ht_test_expect_same(ht_squeeze(ht_narrow(found, 0, i, i + 1), 0), ht_det(one), 1e-13);
        }
    }
    ht_test_expect_same(ht_solve(ht_resplit(a, 0), ht_squeeze(ht_narrow(b, 0, 0, 1), 0)),
                        ht_solve(a, ht_squeeze(ht_narrow(b, 0, 0, 1), 0)), 1e-13);
    ht_test_expect_same(ht_solve_triangular(first, b, true),
                        ht_solve_triangular(ht_resplit(first, 1), ht_resplit(b, 2), true), 1e-13);
}

/* By the definition: the determinant of the minors of the first row. */
static double expand(const double *a, int n)
{
    double sum = n == 0, minor[25];

    for (int j = 0; j < n; j++) {
        for (int i = 0; i < (n - 1) * (n - 1); i++) {
            const int row = i / (n - 1) + 1, column = i % (n - 1);

            minor[i] = a[row * n + column + (column >= j)];
        }
        sum += (j % 2 == 0 ? 1 : -1) * a[j] * expand(minor, n - 1);
    }
    return sum;
}

static void determinants_and_inverses(void **state)
{
    (void)state;
    for (int split = -1; split < 2; split++) {
        for (int64_t n = 0; n < 7; n++) {
            const int64_t shape[2] = {n, n};
            ht_tensor *x = ht_test_randn(2, shape, HT_FLOAT64, split_of(split), (uint64_t)n + 1);
            const double expected = n < 6 ? expand(ht_test_values(x), (int)n) : ht_item(ht_det(x));
            ht_tensor *sign, *logarithm;

            ht_test_expect(ht_det(x), &expected, 1e-12);
            assert_int_equal(ht_slogdet(x, &sign, &logarithm), HT_SUCCESS);
            ht_test_expect(ht_mul(sign, ht_exp(logarithm)), &expected, 1e-12);
        }
        for (size_t d = 0; d < COUNT(matrix_dtypes); d++) {
            for (size_t i = 0; i < COUNT(orders); i++) {
                const int64_t n = orders[i];
                ht_tensor *a = matrix(n, matrix_dtypes[d], split_of(split)), *inverse = ht_inv(a);

                assert_int_equal(ht_tensor_split(inverse), split_of(split));
                expect_near(ht_matmul(a, inverse), ht_eye(n, n, matrix_dtypes[d], HT_NONE),
                            100 * (double)(n + 1));
            }
        }
    }
}

/* ---- pivots at the ends of the range -------------------------------------------------------- */

static double off_by(ht_tensor *x, ht_tensor *expected)
{
    x = ht_astype(x, ht_tensor_dtype(expected));
    return ht_item(ht_max(ht_abs(ht_sub(x, expected)), HT_NONE));
}

/* 2^exponent x, in complex128. */
static ht_tensor *shifted(ht_tensor *x, int exponent)
{
    x = ht_mul_scalar(ht_astype(x, HT_COMPLEX128), ldexp(1, exponent / 2));
    return ht_mul_scalar(x, ldexp(1, exponent - exponent / 2));
}

/* Systems of 2^exponent a with the solution x. */
static void check_scaled(ht_tensor *a, ht_tensor *x, int exponent, int split, double tolerance)
{
    const ht_dtype dtype = ht_tensor_dtype(x);
    ht_tensor *scaled = shifted(a, exponent);
    ht_tensor *b = ht_astype(ht_matmul(scaled, ht_astype(x, HT_COMPLEX128)), dtype);

    scaled = ht_resplit(ht_astype(scaled, dtype), split);
    assert_true(off_by(ht_solve(scaled, b), x) < tolerance);
    for (int upper = 0; upper < 2; upper++) {
        ht_tensor *t = ht_tril(ht_flip(a, HT_AXES(0)), 0);

        t = shifted(upper ? ht_transpose(t, 0, 1) : t, exponent);
        b = ht_astype(ht_matmul(t, ht_astype(x, HT_COMPLEX128)), dtype);
        t = ht_resplit(ht_astype(t, dtype), split);
        assert_true(off_by(ht_solve_triangular(t, b, upper), x) < tolerance);
    }
}

/* The factors of 2^exponent a. */
static void check_scaled_factors(ht_tensor *a, int exponent, int split, double tolerance)
{
    ht_tensor *scaled = shifted(a, exponent);
    ht_tensor *p, *l, *u, *sign, *logarithm, *found, *rows;

    scaled = ht_astype(scaled, ht_tensor_dtype(a));
    assert_int_equal(ht_slogdet(a, &sign, &logarithm), HT_SUCCESS);
    assert_int_equal(ht_slogdet(ht_resplit(scaled, split), &sign, &found), HT_SUCCESS);
    logarithm = ht_add_scalar(logarithm, exponent * log(2) * (double)ht_tensor_shape(a)[0]);
    assert_true(off_by(found, logarithm) < tolerance * 1000);
    assert_int_equal(ht_lu(ht_resplit(scaled, split), &p, &l, &u), HT_SUCCESS);
    assert_true(ht_item(ht_max(ht_abs(l), HT_NONE)) < 1.5);
    rows = shifted(ht_take(scaled, p, 0), -exponent);
    u = shifted(u, -exponent);
    assert_true(off_by(ht_matmul(ht_astype(l, HT_COMPLEX128), u), rows) < tolerance);
}

/* The inverse of a pivot would be infinite, or have fewer digits. */
static void pivots_at_the_ends_of_the_range(void **state)
{
    static const struct {
        ht_dtype dtype;
        int exponent;
        double tolerance;
    } cases[] = {{HT_FLOAT32, -132, 1e-3},    {HT_FLOAT32, 121, 1e-4},    {HT_FLOAT64, -1030, 1e-9},
                 {HT_FLOAT64, 1017, 1e-12},   {HT_COMPLEX64, -132, 1e-3}, {HT_COMPLEX64, 121, 1e-4},
                 {HT_COMPLEX128, -1030, 1e-9}};

    (void)state;
    for (int i = 0; i < 3 * (int)COUNT(cases); i++) {
        const int exponent = cases[i / 3].exponent, split = split_of(i % 3 - 1);
        const double tolerance = cases[i / 3].tolerance;
        ht_tensor *a = matrix(7, cases[i / 3].dtype, HT_NONE);

        check_scaled(a, ht_ones(HT_SHAPE(7, 2), ht_tensor_dtype(a), HT_NONE), exponent, split,
                     tolerance);
        check_scaled_factors(a, exponent, split, tolerance);
    }
}

/* Where others of the matrix, or of the batch, are not near the end. */
static void single_pivots_at_the_end_of_the_range(void **state)
{
    (void)state;
    for (int split = -1; split < 2; split++) {
        ht_tensor *d = ht_eye(5, 5, HT_FLOAT32, HT_NONE), *batch, *b, *p, *l, *u;

        ht_fill_(ht_narrow(ht_narrow(d, 0, 2, 3), 1, 2, 3), 0x1p-133);
        ht_fill_(ht_narrow(ht_narrow(d, 0, 4, 5), 1, 2, 3), 0x1p-134);
        b = ht_sum(d, 1);
        expect_near(ht_solve(ht_resplit(d, split_of(split)), b),
                    ht_ones(HT_SHAPE(5), HT_FLOAT32, HT_NONE), 2);
        batch = ht_stack(2, (ht_tensor *[]){ht_eye(5, 5, HT_FLOAT32, HT_NONE), d}, 0);
        expect_near(ht_solve(ht_resplit(batch, split_of(split)), ht_sum(batch, -1)),
                    ht_ones(HT_SHAPE(2, 5), HT_FLOAT32, HT_NONE), 2);
        /* of rank 1: the pivots below are roundings */
        d = ht_matmul(random_matrix(6, 1, HT_FLOAT32, split_of(split), 1),
                      random_matrix(1, 6, HT_FLOAT32, HT_NONE, 2));
        assert_int_equal(ht_lu(ht_mul_scalar(d, 1e-30), &p, &l, &u), HT_SUCCESS);
        assert_true(ht_item(ht_max(ht_abs(l), HT_NONE)) == 1);
    }
}

/* ---- gradients ------------------------------------------------------------------------------ */

static ht_tensor *take_solve(ht_tensor *inputs[], void *user)
{
    (void)user;
    return ht_solve(inputs[0], inputs[1]);
}

static ht_tensor *take_triangular(ht_tensor *inputs[], void *user)
{
    return ht_solve_triangular(inputs[0], inputs[1], user != NULL);
}

static ht_tensor *take_inv(ht_tensor *inputs[], void *user)
{
    (void)user;
    return ht_inv(inputs[0]);
}

static ht_tensor *take_det(ht_tensor *inputs[], void *user)
{
    (void)user;
    return ht_det(inputs[0]);
}

static ht_tensor *take_logarithm(ht_tensor *inputs[], void *user)
{
    ht_tensor *sign, *logarithm;

    (void)user;
    return ht_slogdet(inputs[0], &sign, &logarithm) == HT_SUCCESS ? logarithm : NULL;
}

static void check_gradients(ht_tensor *a, ht_tensor *b)
{
    ht_tensor *inputs[2] = {a, b};
    int upper;

    ht_tensor_set_requires_grad(a, true);
    ht_tensor_set_requires_grad(b, true);
    ht_test_gradcheck(take_solve, 2, inputs, NULL, 1e-5);
    ht_test_gradcheck(take_triangular, 2, inputs, NULL, 1e-5);
    ht_test_gradcheck(take_triangular, 2, inputs, &upper, 1e-5);
    ht_test_gradcheck(take_inv, 1, inputs, NULL, 1e-5);
    ht_test_gradcheck(take_det, 1, inputs, NULL, 1e-5);
    ht_test_gradcheck(take_logarithm, 1, inputs, NULL, 1e-5);
}

static void gradients_are_those_of_differences(void **state)
{
    (void)state;
    for (int which = 0; which < 9; which += 2) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *a = ht_detach(
            ht_add(ht_test_randn(HT_SHAPE(3, 3), HT_FLOAT64, split_of(which % 3 - 1), 1),
                   ht_mul_scalar(ht_eye(3, 3, HT_FLOAT64, HT_NONE), 3)));

        check_gradients(a, ht_test_randn(HT_SHAPE(3, 2), HT_FLOAT64, split_of(which / 3 - 1), 2));
        ht_scope_close(scope);
    }
    check_gradients(ht_detach(ht_add(ht_test_randn(HT_SHAPE(2, 3, 3), HT_FLOAT64, 0, 1),
                                     ht_mul_scalar(ht_eye(3, 3, HT_FLOAT64, HT_NONE), 3))),
                    ht_test_randn(HT_SHAPE(2, 3, 2), HT_FLOAT64, 1, 2));
}

static void bad_arguments_are_reported(void **state)
{
    ht_tensor *wide = ht_zeros(HT_SHAPE(2, 3), HT_FLOAT32, 0);
    ht_tensor *b = ht_ones(HT_SHAPE(8, 2), HT_FLOAT32, HT_NONE), *nan;

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_inv(wide), HT_ERR_SHAPE,
                         "ht_inv: a is (2, 3), expected a square matrix");
    HT_TEST_EXPECT_ERROR(ht_solve(ht_eye(3, 3, HT_FLOAT32, 0), b), HT_ERR_SHAPE,
                         "ht_solve: a is (3, 3), b is (8, 2), expected as many rows in b as "
                         "columns in a, and the same batch axes");
    HT_TEST_EXPECT_ERROR(ht_solve_triangular(ht_eye(8, 8, HT_BFLOAT16, 0), b, true), HT_ERR_DTYPE,
                         "ht_solve_triangular: a is bfloat16");
    for (int split = -1; split < 2; split++) {
        ht_tensor *singular = ht_eye(8, 8, HT_FLOAT32, HT_NONE), *sign, *logarithm;

        ht_fill_(ht_narrow(singular, 1, 4, 5), 0);
        singular = ht_resplit(singular, split_of(split));
        HT_TEST_EXPECT_ERROR(ht_solve(singular, b), HT_ERR_ARGUMENT,
                             "ht_solve: a is singular: pivot 5 of its LU is 0");
        HT_TEST_EXPECT_ERROR(ht_inv(singular), HT_ERR_ARGUMENT,
                             "ht_inv: a is singular: pivot 5 of its LU is 0");
        assert_true(ht_item(ht_det(singular)) == 0);
        assert_int_equal(ht_slogdet(singular, &sign, &logarithm), HT_SUCCESS);
        assert_true(ht_item(sign) == 0 && ht_item(logarithm) == -INFINITY);
        nan = ht_full(HT_SHAPE(8, 8), NAN, HT_FLOAT32, split_of(split));
        assert_true(isnan(ht_item(ht_sum(ht_solve(nan, b), HT_NONE))));
        assert_true(isnan(ht_item(ht_det(nan))));
    }
    nan = ht_zeros(HT_SHAPE(2, 2), HT_FLOAT32, HT_NONE);
    ht_tensor_set_requires_grad(nan, true);
    nan = ht_det(nan);
    HT_TEST_EXPECT_ERROR(ht_backward(nan), HT_ERR_ARGUMENT, "ht_det: a is singular");
}

HT_TEST_SUITE(test_solvers, cmocka_unit_test(systems_of_every_size_dtype_and_split),
              cmocka_unit_test(vectors_and_batches), cmocka_unit_test(determinants_and_inverses),
              cmocka_unit_test(pivots_at_the_ends_of_the_range),
              cmocka_unit_test(single_pivots_at_the_end_of_the_range),
              cmocka_unit_test(gradients_are_those_of_differences),
              cmocka_unit_test(bad_arguments_are_reported));

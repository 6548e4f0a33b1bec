/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include "core/algorithms/factor/matrices_test.h"
#include "core/algorithms/spectral/jacobi.h"

static const int64_t sizes[][2] = {{9, 4}, {40, 5}, {6, 6}, {4, 9},   {1, 1},   {3, 1},
                                   {1, 3}, {0, 3},  {3, 0}, {20, 20}, {19, 13}, {13, 19}};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static double largest(ht_tensor *x)
{
    return ht_tensor_size(x) > 0 ? ht_item(ht_max(ht_abs(x), HT_NONE)) : 0;
}

/* A matrix of rank 2 if `deficient`. */
static ht_tensor *matrix(int64_t m, int64_t n, ht_dtype dtype, int split, bool deficient)
{
    ht_tensor *x = random_matrix(m, n, dtype, HT_NONE, 3);

    if (deficient)
        x = ht_matmul(random_matrix(m, 2, dtype, HT_NONE, 4),
                      random_matrix(2, n, dtype, HT_NONE, 5));
    return ht_resplit(x, split);
}

static void check_svd(ht_tensor *x)
{
    const int64_t m = ht_tensor_shape(x)[0], n = ht_tensor_shape(x)[1];
    const double roundings = 20 * (double)(m + n + 10);
    ht_tensor *u, *s, *vh, *alone, *whole;

    assert_int_equal(ht_svd(x, &u, &s, &vh), HT_SUCCESS);
    assert_int_equal(ht_svd(ht_resplit(x, HT_NONE), NULL, &whole, NULL), HT_SUCCESS);
    assert_int_equal(ht_svd(x, NULL, &alone, NULL), HT_SUCCESS);
    assert_int_equal(ht_tensor_split(s), HT_NONE);
    expect_near(s, whole, roundings);
    expect_near(alone, whole, roundings);
    expect_near(ht_matmul(ht_mul(u, s), vh), x, roundings);
    expect_orthonormal(u);
    expect_orthonormal(adjoint(vh));
    for (int64_t i = 1; i < ht_tensor_size(s); i++)
        assert_true(ht_test_values(s)[i] <= ht_test_values(s)[i - 1]);
}

static void svd_of_every_size_dtype_and_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        for (int which = 0; which < 3 * (int)COUNT(matrix_dtypes); which++) {
            ht_scope *scope = ht_scope_open();

            check_svd(matrix(sizes[i][0], sizes[i][1], matrix_dtypes[which / 3],
                             split_of(which % 3 - 1), i % 2 == 0));
            ht_scope_close(scope);
        }
    }
    check_svd(ht_zeros(HT_SHAPE(9, 8), HT_FLOAT64, 1));
    check_svd(ht_narrow(random_matrix(60, 6, HT_FLOAT64, 0, 8), 0, 11, 40));
    check_svd(ht_mul_scalar(ht_eye(11, 11, HT_FLOAT32, 0), 3));
}

static void check_eigh(ht_tensor *a)
{
    const int64_t n = ht_tensor_shape(a)[0];
    const double roundings = 40 * (double)(n + 10);
    ht_tensor *w, *v, *whole, *alone;

    assert_int_equal(ht_eigh(a, &w, &v), HT_SUCCESS);
    assert_int_equal(ht_eigh(ht_resplit(a, HT_NONE), &whole, NULL), HT_SUCCESS);
    assert_int_equal(ht_eigh(ht_tril(a, 0), &alone, NULL), HT_SUCCESS);
    assert_int_equal(ht_tensor_split(v), ht_tensor_split(a));
    assert_int_equal(ht_tensor_split(w), HT_NONE);
    expect_near(w, whole, roundings * (1 + largest(whole)));
    expect_near(alone, whole, roundings * (1 + largest(whole)));
    expect_near(ht_matmul(a, v), ht_mul(v, w), roundings * (1 + largest(whole)));
    expect_near(ht_matmul(adjoint(v), v), ht_eye(n, n, ht_tensor_dtype(v), HT_NONE), roundings);
    for (int64_t i = 1; i < n; i++)
        assert_true(ht_test_values(w)[i] >= ht_test_values(w)[i - 1]);
}

static void eigh_of_every_size_dtype_and_split(void **state)
{
    static const int64_t orders[] = {0, 1, 2, 5, 13, 24};

    (void)state;
    for (size_t i = 0; i < COUNT(orders); i++) {
        for (int which = 0; which < 6 * (int)COUNT(matrix_dtypes); which++) {
            ht_scope *scope = ht_scope_open();
            ht_tensor *x = matrix(orders[i], orders[i], matrix_dtypes[which / 6],
                                  split_of(which % 3 - 1), which % 6 > 2);

            check_eigh(ht_add(x, adjoint(x)));
            ht_scope_close(scope);
        }
    }
    for (int split = 0; split < 2; split++) { /* one eigenvalue, none, and two that differ much */
        check_eigh(ht_eye(9, 9, HT_FLOAT64, split));
        check_eigh(ht_zeros(HT_SHAPE(9, 9), HT_FLOAT32, split));
        check_eigh(
            ht_sub(ht_eye(9, 9, HT_FLOAT64, split), ht_ones(HT_SHAPE(9, 9), HT_FLOAT64, split)));
    }
}

/* Sums of their elements are out of range, but not their eigenvalues. */
static void eigenvalues_near_the_ends_of_the_range(void **state)
{
    static const struct {
        ht_dtype dtype;
        double scale;
    } cases[] = {{HT_FLOAT32, 0x1p126}, {HT_FLOAT32, 0x1p-130}, {HT_FLOAT64, 0x1p1022}};

    (void)state;
    for (int i = 0; i < 3 * 3; i++) {
        ht_tensor *signs = ht_sign(random_matrix(40, 40, HT_FLOAT64, HT_NONE, 6));
        ht_tensor *a = ht_mul_scalar(ht_add(signs, adjoint(signs)), 0.125), *w, *v, *expected;

        assert_int_equal(ht_eigh(a, &expected, NULL), HT_SUCCESS);
        a = ht_astype(ht_mul_scalar(a, cases[i / 3].scale), cases[i / 3].dtype);
        assert_int_equal(ht_eigh(ht_resplit(a, split_of(i % 3 - 1)), &w, &v), HT_SUCCESS);
        w = ht_div_scalar(ht_astype(w, HT_FLOAT64), cases[i / 3].scale);
        ht_test_expect_same(w, expected, 1e-4);
        expect_orthonormal(v);
    }
}

/* Columns that cannot be made orthogonal are an error on all ranks. */
static void rotations_without_end_are_reported(void **state)
{
    (void)state;
    for (int i = 0; i < 4 && ht_test_size > 1; i++) {
        ht_tensor *x = random_matrix(12, 12, HT_FLOAT64, 1, 3);

        ht_fill_(ht_narrow(ht_narrow(x, 0, 5, 6), 1, 11, 12), i / 2 ? NAN : INFINITY);
        HT_TEST_EXPECT_ERROR(ht__jacobi("name", x, NULL, i % 2), HT_ERR_ARGUMENT,
                             "name: the iteration did not converge");
    }
}

static ht_tensor *matrix_at(ht_tensor *batch, int64_t i)
{
    return ht_squeeze(ht_narrow(ht_resplit(batch, HT_NONE), 0, i, i + 1), 0);
}

static void batches_are_factored_one_by_one(void **state)
{
    ht_tensor *x = ht_test_randn(HT_SHAPE(5, 7, 3), HT_FLOAT64, HT_NONE, 9);
    ht_tensor *a = ht_test_randn(HT_SHAPE(5, 4, 4), HT_FLOAT64, HT_NONE, 9);

    (void)state;
    for (int split = -1; split < 3; split++) {
        ht_tensor *u, *s, *vh, *w, *v, *one, *h, *p;

        assert_int_equal(ht_svd(ht_resplit(x, split_of(split)), &u, &s, &vh), HT_SUCCESS);
        assert_int_equal(ht_eigh(ht_resplit(a, split_of(split)), &w, &v), HT_SUCCESS);
        assert_int_equal(ht_polar(ht_resplit(x, split_of(split)), &p, &h), HT_SUCCESS);
        for (int64_t i = 0; i < 5; i++) {
            assert_int_equal(ht_svd(matrix_at(x, i), NULL, &one, NULL), HT_SUCCESS);
            ht_test_expect_same(matrix_at(s, i), one, 1e-13);
            one = ht_mul(matrix_at(u, i), matrix_at(s, i));
            ht_test_expect_same(ht_matmul(one, matrix_at(vh, i)), matrix_at(x, i), 1e-13);
            assert_int_equal(ht_eigh(matrix_at(a, i), &one, NULL), HT_SUCCESS);
            ht_test_expect_same(matrix_at(w, i), one, 1e-13);
            ht_test_expect_same(ht_matmul(matrix_at(p, i), matrix_at(h, i)), matrix_at(x, i),
                                1e-13);
            ht_test_expect_same(
                ht_matmul(matrix_at(ht_pinv(ht_resplit(x, split_of(split))), i), matrix_at(x, i)),
                ht_eye(3, 3, HT_FLOAT64, HT_NONE), 1e-12);
        }
    }
}

static void polar_factors(void **state)
{
    (void)state;
    for (int which = 0; which < 3 * (int)COUNT(matrix_dtypes); which++) {
        for (int size = 0; size < 3; size++) {
            ht_scope *scope = ht_scope_open();
            ht_tensor *x = matrix(sizes[size][0], sizes[size][1], matrix_dtypes[which / 3],
                                  split_of(which % 3 - 1), false);
            ht_tensor *u, *h, *alone, *w;

            assert_int_equal(ht_polar(x, &u, &h), HT_SUCCESS);
            assert_int_equal(ht_polar(x, &alone, NULL), HT_SUCCESS);
            assert_int_equal(ht_tensor_split(u), ht_tensor_split(x));
            expect_near(ht_matmul(u, h), x, 500);
            expect_near(alone, u, 500);
            expect_near(adjoint(h), h, 500);
            expect_orthonormal(u);
            assert_int_equal(ht_eigh(h, &w, NULL), HT_SUCCESS);
            assert_true(ht_item(ht_min(w, HT_NONE)) > -1e-5);
            ht_scope_close(scope);
        }
    }
}

/* Random samples see all of a matrix of rank 6. */
static void randomised_decompositions_of_low_rank_are_exact(void **state)
{
    ht_tensor *x = ht_matmul(random_matrix(40, 6, HT_FLOAT64, HT_NONE, 1),
                             random_matrix(6, 30, HT_FLOAT64, HT_NONE, 2));

    (void)state;
    for (int split = -1; split < 2; split++) {
        ht_tensor *u, *s, *vh, *exact, *w, *v, *part = ht_resplit(x, split_of(split));
        ht_tensor *a = ht_matmul(part, ht_transpose(part, 0, 1));

        assert_int_equal(ht_svd(x, NULL, &exact, NULL), HT_SUCCESS);
        assert_int_equal(ht_rsvd(part, 6, &u, &s, &vh), HT_SUCCESS);
        expect_near(ht_matmul(ht_mul(u, s), vh), x, 5000);
        expect_near(s, ht_narrow(exact, 0, 0, 6), 5000);
        expect_orthonormal(u);
        assert_int_equal(ht_tensor_split(split == 1 ? vh : u), split_of(split));
        assert_int_equal(ht_rsvd_ext(part, 3, 1, 8, &u, &s, &vh), HT_SUCCESS);
        ht_test_expect_same(s, ht_narrow(exact, 0, 0, 3), 1e-2);
        a = ht_resplit(a, split_of(split));
        assert_int_equal(ht_reigh(a, 6, &w, &v), HT_SUCCESS);
        ht_test_expect_same(ht_sqrt(w), ht_narrow(exact, 0, 0, 6), 1e-10);
        ht_test_expect_same(ht_matmul(a, v), ht_mul(v, w), 1e-9);
        assert_int_equal(ht_reigh_ext(a, 2, 4, 2, &w, NULL), HT_SUCCESS);
        ht_test_expect_same(ht_sqrt(w), ht_narrow(exact, 0, 0, 2), 1e-9);
    }
}

static void bad_arguments_are_reported(void **state)
{
    ht_tensor *u = NULL, *s = NULL, *v = NULL;

    (void)state;
    for (int split = -1; split < 2; split++) {
        ht_tensor *nan = ht_ones(HT_SHAPE(9, 9), HT_FLOAT32, HT_NONE);

        ht_fill_(ht_narrow(ht_narrow(nan, 0, 4, 5), 1, 2, 3), split == 0 ? NAN : INFINITY);
        nan = ht_resplit(nan, split_of(split));
        HT_TEST_EXPECT_ERROR(ht_svd(nan, &u, &s, &v), HT_ERR_ARGUMENT,
                             "ht_svd: an operand has a NaN or an infinity, expected finite "
                             "elements");
        HT_TEST_EXPECT_ERROR(ht_eigh(nan, &s, &v), HT_ERR_ARGUMENT,
                             "ht_eigh: an operand has a NaN");
        HT_TEST_EXPECT_ERROR(ht_rsvd(nan, 2, &u, &s, &v), HT_ERR_ARGUMENT,
                             "ht_rsvd: an operand has");
    }
    HT_TEST_EXPECT_ERROR(ht_eigh(ht_zeros(HT_SHAPE(2, 3), HT_FLOAT32, 0), &s, &v), HT_ERR_SHAPE,
                         "ht_eigh: a is (2, 3), expected a square matrix");
    HT_TEST_EXPECT_ERROR(ht_polar(ht_zeros(HT_SHAPE(2, 3), HT_FLOAT32, 0), &s, &v), HT_ERR_SHAPE,
                         "ht_polar: x is (2, 3), expected at most as many columns as rows");
    HT_TEST_EXPECT_ERROR(ht_rsvd(ht_zeros(HT_SHAPE(2, 3), HT_FLOAT32, 0), 3, &u, &s, &v),
                         HT_ERR_ARGUMENT, "ht_rsvd: 3 values of a matrix (2, 3)");
    HT_TEST_EXPECT_ERROR(ht_reigh_ext(ht_zeros(HT_SHAPE(3, 3), HT_FLOAT32, 0), 1, -1, 0, &s, &v),
                         HT_ERR_ARGUMENT, "ht_reigh_ext: 1 values of a matrix (3, 3), -1");
    assert_null(s);
}

HT_TEST_SUITE(test_spectra, cmocka_unit_test(svd_of_every_size_dtype_and_split),
              cmocka_unit_test(eigh_of_every_size_dtype_and_split),
              cmocka_unit_test(eigenvalues_near_the_ends_of_the_range),
              cmocka_unit_test(rotations_without_end_are_reported),
              cmocka_unit_test(batches_are_factored_one_by_one), cmocka_unit_test(polar_factors),
              cmocka_unit_test(randomised_decompositions_of_low_rank_are_exact),
              cmocka_unit_test(bad_arguments_are_reported));

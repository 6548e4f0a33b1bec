/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include "core/algorithms/factor/matrices_test.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Singular values 1, 1/2, 1/4 and so on. */
static ht_tensor *decaying(int64_t m, int64_t n, ht_dtype dtype, int split)
{
    const int64_t k = m < n ? m : n;
    ht_tensor *u, *v, *r, *s = ht_exp2(ht_neg(ht_arange(0, (double)k, 1, HT_FLOAT64, HT_NONE)));

    assert_int_equal(ht_qr(random_matrix(m, k, dtype, HT_NONE, 1), &u, &r), HT_SUCCESS);
    assert_int_equal(ht_qr(random_matrix(n, k, dtype, HT_NONE, 2), &v, &r), HT_SUCCESS);
    return ht_resplit(ht_astype(ht_matmul(ht_mul(u, s), adjoint(v)), dtype), split);
}

static double norm(ht_tensor *x)
{
    return sqrt(ht_item(ht_sum(ht_square(ht_abs(x)), HT_NONE)));
}

static void expect_factors(ht_tensor *x, ht_tensor *u, ht_tensor *s, ht_tensor *vh, double error)
{
    ht_tensor *rest = ht_sub(x, ht_matmul(ht_mul(u, s), vh));

    expect_orthonormal(u);
    expect_orthonormal(adjoint(vh));
    assert_true(fabs(norm(rest) / norm(x) - error) < 1e-5 * (error + 1e-1));
}

static void check_hierarchical(ht_tensor *x)
{
    const int split = ht_tensor_split(x);
    ht_tensor *u, *s, *vh, *exact;
    double error;

    assert_int_equal(ht_svd(x, NULL, &exact, NULL), HT_SUCCESS);
    assert_int_equal(ht_hsvd_rank(x, 3, &u, &s, &vh, &error), HT_SUCCESS);
    assert_int_equal(ht_tensor_size(s), 3);
    assert_int_equal(ht_tensor_split(u), split == 0 ? 0 : HT_NONE);
    assert_int_equal(ht_tensor_split(vh), split == 1 ? 1 : HT_NONE);
    expect_factors(x, u, s, vh, error);
    ht_test_expect_same(s, ht_narrow(exact, 0, 0, 3), 1e-3);
    for (int digits = 1; digits < 4; digits++) {
        const double rtol = pow(10, -digits);

        assert_int_equal(ht_hsvd_rtol(x, rtol, &u, &s, &vh, &error), HT_SUCCESS);
        expect_factors(x, u, s, vh, error);
        assert_true(error <= rtol * 1.001);
    }
    assert_int_equal(ht_hsvd(x, 2, 1e-9, 9, NULL, &s, NULL, NULL), HT_SUCCESS);
    assert_int_equal(ht_tensor_size(s), 2);
    assert_int_equal(ht_hsvd(x, 0, 0, 0, &u, &s, &vh, &error), HT_SUCCESS);
    expect_factors(x, u, s, vh, error);
    assert_true(error < 1e-5);
}

static void hierarchical_svd_keeps_large_values(void **state)
{
    static const int64_t sizes[][2] = {{30, 12}, {12, 30}, {9, 9}, {5, 4}};

    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        for (int which = 0; which < 3 * (int)COUNT(matrix_dtypes); which++) {
            ht_scope *scope = ht_scope_open();

            check_hierarchical(decaying(sizes[i][0], sizes[i][1], matrix_dtypes[which / 3],
                                        split_of(which % 3 - 1)));
            ht_scope_close(scope);
        }
    }
    for (int split = -1; split < 2; split++) {
        ht_tensor *u, *s, *vh, *zeros = ht_zeros(HT_SHAPE(8, 9), HT_FLOAT32, split_of(split));
        double error;

        assert_int_equal(ht_hsvd_rank(zeros, 2, &u, &s, &vh, &error), HT_SUCCESS);
        assert_true(error == 0);
        expect_orthonormal(u);
        zeros = ht_zeros(HT_SHAPE(0, 9), HT_FLOAT32, split_of(split));
        assert_int_equal(ht_hsvd_rtol(zeros, 0.1, &u, &s, &vh, NULL), HT_SUCCESS);
        assert_int_equal(ht_tensor_size(s), 0);
    }
}

/* Column by column, and several at once. */
static void columns_that_come_later_are_as_if_they_had_been_there(void **state)
{
    (void)state;
    for (int which = 0; which < 4 * (int)COUNT(matrix_dtypes); which++) {
        const int by_rows = which % 2 ? 0 : HT_NONE, by_columns = which % 4 > 1 ? 1 : HT_NONE;
        const ht_dtype dtype = matrix_dtypes[which / 4];
        ht_tensor *x = random_matrix(10, 14, dtype, HT_NONE, 5), *u, *s, *vh, *exact;

        assert_int_equal(ht_svd(ht_narrow(x, 1, 0, 4), &u, &s, &vh), HT_SUCCESS);
        u = ht_resplit(u, by_rows);
        vh = ht_resplit(vh, by_columns);
        for (int64_t n = 4; n < 14; n += n < 8 ? 2 : 6) {
            ht_tensor *come = ht_resplit(ht_narrow(x, 1, n, n + (n < 8 ? 2 : 6)),
                                         split_of(which % 3 - 1));

            assert_int_equal(ht_isvd(come, u, s, vh, 0, &u, &s, &vh), HT_SUCCESS);
            assert_int_equal(ht_tensor_split(u), by_rows);
            assert_int_equal(ht_tensor_split(vh), by_columns);
        }
        expect_near(ht_matmul(ht_mul(u, s), vh), x, 500);
        expect_orthonormal(u);
        assert_int_equal(ht_svd(x, NULL, &exact, NULL), HT_SUCCESS);
        expect_near(s, exact, 500);
        assert_int_equal(ht_isvd(ht_narrow(x, 1, 0, 1), u, s, vh, 3, &u, &s, &vh), HT_SUCCESS);
        assert_int_equal(ht_tensor_size(s), 3);
        assert_int_equal(ht_tensor_shape(vh)[1], 15);
    }
}

static void bad_arguments_are_reported(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(4, 3), HT_FLOAT32, 0), *u = NULL, *s = NULL, *vh = NULL;
    ht_tensor *eye = ht_eye(4, 4, HT_FLOAT32, 1), *ones = ht_ones(HT_SHAPE(4), HT_FLOAT32, 0);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_hsvd_rtol(x, NAN, &u, &s, &vh, NULL), HT_ERR_ARGUMENT,
                         "ht_hsvd_rtol: rtol is nan, expected 0 to 1");
    HT_TEST_EXPECT_ERROR(ht_hsvd_rank(x, -1, &u, &s, &vh, NULL), HT_ERR_ARGUMENT,
                         "ht_hsvd_rank: rank is -1");
    HT_TEST_EXPECT_ERROR(ht_hsvd(ones, 1, 0, 5, &u, &s, &vh, NULL), HT_ERR_SHAPE,
                         "ht_hsvd: x is (4,), expected a matrix");
    HT_TEST_EXPECT_ERROR(ht_isvd(x, eye, ones, x, 0, &u, &s, &vh), HT_ERR_ARGUMENT,
                         "ht_isvd: rank is 0, the split of u is 1 and that of vh is 0");
    HT_TEST_EXPECT_ERROR(ht_isvd(x, x, ones, x, 0, &u, &s, &vh), HT_ERR_SHAPE,
                         "ht_isvd: columns is (4, 3), u is (4, 3), s is (4,) and vh is (4, 3)");
    assert_null(u);
}

HT_TEST_SUITE(test_truncated, cmocka_unit_test(hierarchical_svd_keeps_large_values),
              cmocka_unit_test(columns_that_come_later_are_as_if_they_had_been_there),
              cmocka_unit_test(bad_arguments_are_reported));

/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include "gradcheck.h"
#include "core/algorithms/factor/matrices_test.h"

/* Fewer rows or columns than ranks, empty, tall enough for blocks, square and wide. */
static const int64_t sizes[][2] = {{9, 4}, {40, 5}, {6, 6}, {4, 9},   {1, 1},   {3, 1},  {1, 3},
                                   {0, 3}, {3, 0},  {0, 0}, {30, 30}, {33, 20}, {20, 33}};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static void check_qr(ht_tensor *x, int r_split)
{
    const int64_t m = ht_tensor_shape(x)[0], n = ht_tensor_shape(x)[1];
    ht_tensor *q, *r, *alone;

    assert_int_equal(ht_qr(x, &q, &r), HT_SUCCESS);
    assert_int_equal(ht_tensor_split(q), ht_tensor_split(x));
    assert_int_equal(ht_tensor_split(r), r_split);
    assert_int_equal(ht_tensor_shape(q)[1], m < n ? m : n);
    expect_near(ht_matmul(q, r), x, 10 * (double)(m + 1));
    expect_orthonormal(q);
    ht_test_expect_same(ht_triu(r, 0), r, 0);
    ht_test_expect_same(ht_abs(ht_diagonal(r, 0, 0, 1)), ht_real(ht_diagonal(r, 0, 0, 1)), 0);
    assert_int_equal(ht_qr(x, NULL, &alone), HT_SUCCESS);
    expect_near(alone, r, 10 * (double)(m + 1));
}

static bool is_tall(int64_t m, int64_t n)
{
    int64_t start, length;

    ht_comm_chunk(ht_comm_world(), m, 0, &start, &length);
    return length >= n || ht_comm_size(ht_comm_world()) == 1;
}

static void qr_of_every_size_dtype_and_split(void **state)
{
    const bool alone = ht_comm_size(ht_comm_world()) == 1;

    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        for (size_t d = 0; d < COUNT(matrix_dtypes); d++) {
            for (int split = -1; split < 2; split++) {
                ht_scope *scope = ht_scope_open();
                ht_tensor *x = random_matrix(sizes[i][0], sizes[i][1], matrix_dtypes[d],
                                             split_of(split), i + 1);

                check_qr(x, split == 0 && is_tall(sizes[i][0], sizes[i][1]) && !alone
                                ? HT_NONE
                                : split_of(split));
                ht_scope_close(scope);
            }
        }
    }
}

/* Many blocks of rows on each rank; unbalanced slabs, some of them empty; a view. */
static void qr_of_tall_and_uneven_matrices(void **state)
{
    ht_tensor *x = random_matrix(9000, 6, HT_FLOAT64, 0, 3), *q, *r, *whole_q, *whole_r;

    (void)state;
    check_qr(random_matrix(9000, 33, HT_FLOAT32, HT_NONE, 4), HT_NONE);
    assert_int_equal(ht_qr(ht_resplit(x, HT_NONE), &whole_q, &whole_r), HT_SUCCESS);
    assert_int_equal(ht_qr(x, &q, &r), HT_SUCCESS);
    ht_test_expect_same(r, whole_r, 1e-12);
    ht_test_expect_same(q, whole_q, 1e-12);
    x = ht_narrow(x, 0, 10, 31);
    assert_int_equal(ht_qr(x, &q, &r), HT_SUCCESS);
    expect_near(ht_matmul(q, r), x, 300);
    expect_orthonormal(q);
    x = ht_transpose(ht_narrow(random_matrix(8, 60, HT_COMPLEX128, 1, 5), 1, 40, 60), 0, 1);
    assert_int_equal(ht_qr(x, &q, &r), HT_SUCCESS);
    expect_near(ht_matmul(q, r), x, 300);
    expect_orthonormal(q);
}

/* A product of narrow factors, zeros, and a column that is another one. */
static void q_is_orthonormal_whatever_the_rank(void **state)
{
    (void)state;
    for (int split = -1; split < 2; split++) {
        ht_tensor *narrow = ht_matmul(random_matrix(24, 3, HT_FLOAT64, split_of(split), 1),
                                      random_matrix(3, 12, HT_FLOAT64, HT_NONE, 2));
        ht_tensor *zeros = ht_zeros(HT_SHAPE(15, 7), HT_FLOAT64, split_of(split)), *q, *r;

        narrow = ht_resplit(narrow, split_of(split));
        assert_int_equal(ht_qr(narrow, &q, &r), HT_SUCCESS);
        expect_near(ht_matmul(q, r), narrow, 300);
        expect_orthonormal(q);
        assert_int_equal(ht_qr(zeros, &q, &r), HT_SUCCESS);
        ht_test_expect_same(ht_matmul(q, r), zeros, 0);
        expect_orthonormal(q);
    }
}

static ht_tensor *matrix_at(ht_tensor *batch, int64_t i)
{
    return ht_squeeze(ht_narrow(ht_resplit(batch, HT_NONE), 0, i, i + 1), 0);
}

static void batches_are_factored_one_by_one(void **state)
{
    ht_tensor *x = ht_test_randn(HT_SHAPE(5, 7, 4), HT_FLOAT64, HT_NONE, 9);

    (void)state;
    for (int split = -1; split < 3; split++) {
        ht_tensor *q, *r, *p, *l, *u, *one_q, *one_r, *part = ht_resplit(x, split_of(split));

        assert_int_equal(ht_qr(part, &q, &r), HT_SUCCESS);
        assert_int_equal(ht_tensor_split(q), split_of(split));
        assert_int_equal(ht_lu(part, &p, &l, &u), HT_SUCCESS);
        for (int64_t i = 0; i < 5; i++) {
            assert_int_equal(ht_qr(matrix_at(x, i), &one_q, &one_r), HT_SUCCESS);
            ht_test_expect_same(matrix_at(q, i), one_q, 1e-14);
            ht_test_expect_same(matrix_at(r, i), one_r, 1e-14);
            assert_int_equal(ht_lu(matrix_at(x, i), &one_q, &one_r, &part), HT_SUCCESS);
            ht_test_expect_same(matrix_at(u, i), part, 1e-14);
            ht_test_expect_same(matrix_at(l, i), one_r, 1e-14);
            part = ht_resplit(x, split_of(split));
        }
    }
}

/* Row i of l u against row p[i] of x. */
static void check_lu(ht_tensor *x)
{
    const int64_t m = ht_tensor_shape(x)[0], n = ht_tensor_shape(x)[1];
    ht_tensor *p, *l, *u, *permutation = ht_zeros(HT_SHAPE(m, m), HT_FLOAT64, HT_NONE);
    const double *rows;

    assert_int_equal(ht_lu(x, &p, &l, &u), HT_SUCCESS);
    assert_int_equal(ht_tensor_split(l), ht_tensor_split(x));
    assert_int_equal(ht_tensor_split(u), ht_tensor_split(x));
    assert_int_equal(ht_tensor_dtype(p), HT_INT64);
    assert_int_equal(ht_tensor_shape(u)[0], m < n ? m : n);
    rows = ht_test_values(p);
    for (int64_t i = 0; i < m; i++)
        ht_fill_(ht_narrow(ht_narrow(permutation, 0, i, i + 1), 1, (int64_t)rows[i],
                           (int64_t)rows[i] + 1),
                 1);
    permutation = ht_astype(permutation, ht_tensor_dtype(x));
    expect_near(ht_matmul(l, u), ht_matmul(permutation, x), 10 * (double)(m + 1));
    ht_test_expect_same(ht_tril(l, 0), l, 0);
    ht_test_expect_same(ht_triu(u, 0), u, 0);
    if (ht_tensor_size(l) > 0)
        assert_true(ht_item(ht_max(ht_abs(l), HT_NONE)) <= 1.5); /* pivots were large */
}

static void lu_of_every_size_dtype_and_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        for (size_t d = 0; d < COUNT(matrix_dtypes); d++) {
            for (int split = -1; split < 2; split++) {
                ht_scope *scope = ht_scope_open();

                check_lu(random_matrix(sizes[i][0], sizes[i][1], matrix_dtypes[d], split_of(split),
                                       i + 1));
                ht_scope_close(scope);
            }
        }
    }
}

/* x x^H + 1; the part above the diagonal is not read. */
static void cholesky_of_every_size_dtype_and_split(void **state)
{
    static const int64_t orders[] = {0, 1, 2, 6, 13, 30};

    (void)state;
    for (size_t i = 0; i < COUNT(orders); i++) {
        for (size_t d = 0; d < COUNT(matrix_dtypes); d++) {
            for (int split = -1; split < 2; split++) {
                const int64_t n = orders[i];
                ht_scope *scope = ht_scope_open();
                ht_tensor *x = random_matrix(n, n, matrix_dtypes[d], split_of(split), 7);
                ht_tensor *a = ht_add(ht_matmul(x, adjoint(x)),
                                      ht_eye(n, n, matrix_dtypes[d], HT_NONE));
                ht_tensor *l;

                a = ht_resplit(a, split_of(split));
                l = ht_cholesky(a);
                assert_int_equal(ht_tensor_split(l), split_of(split));
                expect_near(ht_matmul(l, adjoint(l)), a, 10 * (double)(n + 1));
                ht_test_expect_same(ht_tril(l, 0), l, 0);
                ht_test_expect_same(ht_cholesky(ht_tril(a, 0)), l, 0);
                ht_scope_close(scope);
            }
        }
    }
    for (int split = -1; split < 3; split++) {
        ht_tensor *l = ht_tril(ht_add_scalar(ht_rand(HT_SHAPE(3, 4, 4), HT_FLOAT64, HT_NONE), 1),
                               0);
        ht_tensor *a = ht_zeros(HT_SHAPE(3, 4, 4), HT_FLOAT64, HT_NONE);

        for (int64_t i = 0; i < 3; i++)
            ht_copy_(ht_narrow(a, 0, i, i + 1),
                     ht_expand_dims(ht_matmul(matrix_at(l, i), adjoint(matrix_at(l, i))), 0));
        ht_test_expect_same(ht_cholesky(ht_resplit(a, split_of(split))), l, 1e-10);
    }
}

/* ---- gradients ------------------------------------------------------------------------------ */

static ht_tensor *take_q(ht_tensor *inputs[], void *user)
{
    ht_tensor *q, *r;

    (void)user;
    return ht_qr(inputs[0], &q, &r) == HT_SUCCESS ? q : NULL;
}

static ht_tensor *take_r(ht_tensor *inputs[], void *user)
{
    ht_tensor *r;

    (void)user;
    return ht_qr(inputs[0], NULL, &r) == HT_SUCCESS ? r : NULL;
}

static ht_tensor *take_cholesky(ht_tensor *inputs[], void *user)
{
    ht_tensor *x = inputs[0];

    (void)user;
    return ht_cholesky(
        ht_add(ht_matmul(x, ht_transpose(x, 0, 1)), ht_eye(4, 4, HT_FLOAT64, HT_NONE)));
}

static void gradients_are_those_of_differences(void **state)
{
    (void)state;
    for (int split = -1; split < 2; split++) {
        ht_tensor *tall[1] = {ht_test_randn(HT_SHAPE(8, 3), HT_FLOAT64, split_of(split), 3)};
        ht_tensor *square[1] = {ht_test_randn(HT_SHAPE(4, 4), HT_FLOAT64, split_of(split), 4)};

        ht_tensor_set_requires_grad(tall[0], true);
        ht_tensor_set_requires_grad(square[0], true);
        ht_test_gradcheck(take_q, 1, tall, NULL, 1e-5);
        ht_test_gradcheck(take_r, 1, tall, NULL, 1e-5);
        ht_test_gradcheck(take_r, 1, square, NULL, 1e-4);
        ht_test_gradcheck(take_cholesky, 1, square, NULL, 1e-5);
    }
}

static void bad_arguments_are_reported(void **state)
{
    ht_tensor *vector = ht_zeros(HT_SHAPE(3), HT_FLOAT32, 0), *r = NULL, *q = NULL;
    ht_tensor *wide = ht_zeros(HT_SHAPE(2, 3), HT_FLOAT32, 0);
    ht_tensor *indefinite = ht_mul_scalar(ht_eye(9, 9, HT_FLOAT32, 1), -1);
    ht_tensor *nan = ht_full(HT_SHAPE(9, 9), NAN, HT_FLOAT32, 1);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_qr(vector, &q, &r), HT_ERR_SHAPE,
                         "ht_qr: x is (3,), expected a matrix");
    HT_TEST_EXPECT_ERROR(ht_cholesky(wide), HT_ERR_SHAPE,
                         "ht_cholesky: a is (2, 3), expected a square matrix");
    HT_TEST_EXPECT_ERROR(ht_qr(ht_astype(wide, HT_FLOAT16), &q, &r), HT_ERR_DTYPE,
                         "ht_qr: x is float16, expected float32 or wider (ht_astype)");
    for (int split = -1; split < 2; split++) {
        HT_TEST_EXPECT_ERROR(ht_cholesky(ht_resplit(indefinite, split_of(split))), HT_ERR_ARGUMENT,
                             "ht_cholesky: a is not positive definite: its leading minor of order "
                             "1 is not");
        HT_TEST_EXPECT_ERROR(ht_cholesky(ht_resplit(nan, split_of(split))), HT_ERR_ARGUMENT,
                             "is not positive definite");
    }
    assert_null(q);
    assert_null(r);
    assert_int_equal(ht_qr(ht_ones(HT_SHAPE(3, 2), HT_INT16, 0), &q, &r), HT_SUCCESS);
    assert_int_equal(ht_tensor_dtype(q), HT_FLOAT32);
    assert_int_equal(ht_qr(nan, &q, &r), HT_SUCCESS);
    assert_true(isnan(ht_item(ht_sum(r, HT_NONE))));
}

HT_TEST_SUITE(test_decompositions, cmocka_unit_test(qr_of_every_size_dtype_and_split),
              cmocka_unit_test(qr_of_tall_and_uneven_matrices),
              cmocka_unit_test(q_is_orthonormal_whatever_the_rank),
              cmocka_unit_test(batches_are_factored_one_by_one),
              cmocka_unit_test(lu_of_every_size_dtype_and_split),
              cmocka_unit_test(cholesky_of_every_size_dtype_and_split),
              cmocka_unit_test(gradients_are_those_of_differences),
              cmocka_unit_test(bad_arguments_are_reported));

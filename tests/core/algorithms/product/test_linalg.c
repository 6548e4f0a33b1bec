/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include "ht_test.h"
#include "tensor_check.h"

#include <stdlib.h>

static int split_of(int i)
{
    return i < 0 ? HT_NONE : i;
}

/* Row i, column j by the definition. */
static void naive(const double *a, const double *b, int m, int k, int n, double *c)
{
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            c[i * n + j] = 0;
            for (int l = 0; l < k; l++)
                c[i * n + j] += a[i * k + l] * b[l * n + j];
        }
    }
}

static void check_sizes(int m, int k, int n)
{
    const int64_t a_shape[2] = {m, k}, b_shape[2] = {k, n};
    /* The split of the result, by the splits none, 0, 1 of a (rows) and b (columns). */
    static const int promised[3][3] = {{-1, 0, 1}, {0, 0, 0}, {0, 0, 1}};
    double expected[200];
    ht_scope *scope = ht_scope_open();
    ht_tensor *a = ht_test_randn(2, a_shape, HT_FLOAT64, HT_NONE, 7);
    ht_tensor *b = ht_test_randn(2, b_shape, HT_FLOAT64, HT_NONE, 8);

    naive(ht_test_values(a), ht_test_values(b), m, k, n, expected);
    for (int sa = -1; sa < 2; sa++) {
        for (int sb = -1; sb < 2; sb++) {
            ht_tensor *c = ht_matmul(ht_resplit(a, split_of(sa)), ht_resplit(b, split_of(sb)));

            ht_test_expect(c, expected, 1e-14);
            assert_int_equal(ht_tensor_split(c), split_of(promised[sa + 1][sb + 1]));
        }
    }
    ht_scope_close(scope);
}

static void every_pair_of_splits_gives_the_product(void **state)
{
    (void)state;
    check_sizes(5, 7, 6);
    check_sizes(9, 2, 11);
    check_sizes(16, 15, 3);
    check_sizes(1, 8, 1);
    check_sizes(3, 0, 4);
}

/* No sum is added in another order in another call. */
static void a_split_inner_axis_gives_the_same_bits_again(void **state)
{
    ht_tensor *a = ht_test_randn(HT_SHAPE(33, 40), HT_FLOAT32, 1, 10);
    ht_tensor *b = ht_test_randn(HT_SHAPE(40, 9), HT_FLOAT32, 0, 11), *c = ht_matmul(a, b);

    (void)state;
    for (int i = 0; i < 5; i++)
        ht_test_expect_same(ht_matmul(a, b), c, 0);
}

static void transposed_and_unbalanced_operands_multiply(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *a = ht_test_randn(HT_SHAPE(8, 5), HT_FLOAT32, 0, 9);
    ht_tensor *part = ht_narrow(a, 0, 1, 6);
    ht_tensor *reference = ht_matmul(ht_resplit(ht_transpose(part, 0, 1), HT_NONE),
                                     ht_resplit(part, HT_NONE));

    ht_test_expect_same(ht_matmul(ht_transpose(part, 0, 1), part), reference, 1e-5);
    ht_test_expect_same(ht_matmul(ht_transpose(part, 0, 1), ht_balance(part)), reference, 1e-5);
    ht_scope_close(scope);
}

/* Numbers of all sizes, modulo 2^bits. */
static uint64_t number(int64_t index, uint64_t seed)
{
    uint64_t x = ((uint64_t)index + 1) * 0x9e3779b97f4a7c15 + seed;

    return (x ^ x >> 29) * 0xbf58476d1ce4e5b9;
}

/* The low bits of a (rows, columns) matrix, or of its transpose, in memory of a dtype. */
static ht_tensor *low_bits(const uint64_t *values, int64_t rows, int64_t columns, ht_dtype dtype,
                           bool transposed, int split)
{
    const size_t size = ht_dtype_size(dtype);
    const int64_t m = transposed ? columns : rows, n = transposed ? rows : columns;
    char *bytes = malloc((size_t)(rows * columns) * size);
    ht_tensor *x;

    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++)
            memcpy(bytes + (size_t)(i * n + j) * size,
                   &values[transposed ? j * columns + i : i * columns + j], size);
    }
    x = ht_array(bytes, HT_SHAPE(m, n), dtype, HT_NONE);
    free(bytes);
    return ht_resplit(transposed ? ht_transpose(x, 0, 1) : x, split);
}

/* In every way that the operands may lie, larger than the panels that the product goes by. */
static void integers_are_exact_and_wrap_around(void **state)
{
    enum { M = 3, K = 133, N = 517 };
    static uint64_t a[M * K], b[K * N], c[M * N];

    (void)state;
    for (int i = 0; i < M * K; i++)
        a[i] = number(i, 1);
    for (int i = 0; i < K * N; i++)
        b[i] = number(i, 2);
    for (int i = 0; i < M * N; i++) {
        for (int k = 0; k < K; k++)
            c[i] += a[i / N * K + k] * b[k * N + i % N];
    }
    for (int dtype = HT_UINT8; dtype <= HT_INT64; dtype++) {
        for (int way = 0; way < 36; way++) {
            ht_scope *scope = ht_scope_open();
            ht_tensor *x = low_bits(a, M, K, (ht_dtype)dtype, way / 9 % 2, split_of(way % 3 - 1));
            ht_tensor *y = low_bits(b, K, N, (ht_dtype)dtype, way / 18, split_of(way / 3 % 3 - 1));
            ht_tensor *z = low_bits(c, M, N, (ht_dtype)dtype, false, HT_NONE);
            ht_tensor *product = ht_matmul(x, y);

            assert_int_equal(ht_tensor_dtype(product), dtype);
            assert_true(ht_item(ht_all(ht_eq(product, z), HT_NONE)) == 1);
            ht_scope_close(scope);
        }
    }
}

static void misuse_is_reported(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *a = ht_ones(HT_SHAPE(4, 3), HT_FLOAT32, 0);
    ht_tensor *b = ht_ones(HT_SHAPE(5, 2), HT_FLOAT32, 1);

    HT_TEST_EXPECT_ERROR(ht_matmul(a, b), HT_ERR_SHAPE,
                         "ht_matmul: a is (4, 3), b is (5, 2): inner sizes 3 and 5 differ");
    HT_TEST_EXPECT_ERROR(ht_matmul(a, ht_ones(HT_SHAPE(), HT_FLOAT32, HT_NONE)), HT_ERR_SHAPE,
                         "ht_matmul: a is (4, 3), b is (), expected vectors or matrices");
    HT_TEST_EXPECT_ERROR(ht_matmul(ht_ones(HT_SHAPE(2, 4, 3), HT_FLOAT32, 0),
                                   ht_ones(HT_SHAPE(5, 3, 4), HT_FLOAT32, 0)),
                         HT_ERR_SHAPE,
                         "ht_matmul: a is (2, 4, 3), b is (5, 3, 4): batches of 2 and 5");
    ht_scope_close(scope);
}

HT_TEST_SUITE(test_linalg, cmocka_unit_test(every_pair_of_splits_gives_the_product),
              cmocka_unit_test(a_split_inner_axis_gives_the_same_bits_again),
              cmocka_unit_test(transposed_and_unbalanced_operands_multiply),
              cmocka_unit_test(integers_are_exact_and_wrap_around),
              cmocka_unit_test(misuse_is_reported));

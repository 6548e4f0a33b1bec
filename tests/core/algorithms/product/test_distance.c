/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

enum { EUCLIDEAN, EUCLIDEAN_EXPANDED, MANHATTAN, GAUSSIAN, GAUSSIAN_EXPANDED, KINDS };

static ht_tensor *call(int kind, ht_tensor *x, ht_tensor *y)
{
    switch (kind) {
    case MANHATTAN:
        return ht_manhattan(x, y);
    case GAUSSIAN:
    case GAUSSIAN_EXPANDED:
        return ht_rbf(x, y, 1.5, kind == GAUSSIAN_EXPANDED);
    default:
        return ht_cdist(x, y, kind == EUCLIDEAN_EXPANDED);
    }
}

static double distance(int kind, const double *x, const double *y, int64_t k)
{
    double sum = 0;

    for (int64_t l = 0; l < k; l++)
        sum += kind == MANHATTAN ? fabs(x[l] - y[l]) : (x[l] - y[l]) * (x[l] - y[l]);
    return kind == MANHATTAN ? sum : kind >= GAUSSIAN ? exp(-sum / 4.5) : sqrt(sum);
}

static int split_of(int i)
{
    return i < 0 ? HT_NONE : i;
}

/* Rows of k numbers; the rows of one operand are unbalanced, or stored as columns. */
static void check_sizes(int64_t m, int64_t n, int64_t k, ht_dtype dtype, double tolerance)
{
    static double expected[80 * 80];
    ht_scope *outer = ht_scope_open();
    ht_tensor *x = ht_test_randn(HT_SHAPE(m + 1, k), dtype, HT_NONE, 1);
    ht_tensor *y = ht_test_randn(HT_SHAPE(k, n), dtype, HT_NONE, 2);
    const double *a = ht_test_values(x), *b;

    y = ht_transpose(y, 0, 1);
    b = ht_test_values(y);
    for (int kind = 0; kind < KINDS; kind++) {
        for (int64_t i = 0; i < m * n; i++)
            expected[i] = distance(kind, a + (i / n + 1) * k, b + i % n * k, k);
        for (int way = 0; way < 9; way++) {
            const int sx = way / 3 - 1, sy = way % 3 - 1;
            ht_scope *scope = ht_scope_open();
            ht_tensor *rows = ht_narrow(ht_resplit(x, split_of(sx)), 0, 1, m + 1);
            ht_tensor *d = call(kind, rows, ht_resplit(y, split_of(sy)));

            assert_int_equal(ht_tensor_dtype(d), dtype);
            assert_int_equal(ht_tensor_split(d), sx >= 0 ? 0 : sy >= 0 ? 1 : HT_NONE);
            ht_test_expect(d, expected, tolerance);
            ht_scope_close(scope);
        }
    }
    ht_scope_close(outer);
}

static void every_pair_of_splits(void **state)
{
    (void)state;
    check_sizes(5, 7, 3, HT_FLOAT64, 1e-7);
    check_sizes(2, 70, 4, HT_FLOAT32, 1e-3);
    check_sizes(70, 3, 1, HT_FLOAT64, 1e-7);
    check_sizes(0, 3, 2, HT_FLOAT32, 0);
    check_sizes(3, 0, 2, HT_FLOAT32, 0);
    check_sizes(4, 5, 0, HT_FLOAT64, 0);
}

/* Small differences are not lost, and equal rows have distance 0. */
static void differences_are_exact(void **state)
{
    ht_tensor *x = ht_array((float[]){10000, 10000.001f, 10000, 10000}, HT_SHAPE(2, 2), HT_FLOAT32,
                            0);
    const double step = (double)10000.001f - 10000;

    (void)state;
    ht_test_expect(ht_cdist(x, x, false), (double[]){0, step, step, 0}, 0);
    ht_test_expect(ht_manhattan(x, x), (double[]){0, step, step, 0}, 0);
    ht_test_expect(ht_rbf(x, x, 1, false), (double[]){1, 1, 1, 1}, 1e-5);
}

static void distances_of_integers_bool_and_float16(void **state)
{
    ht_tensor *x = ht_array((int[]){0, 3, 0, 4}, HT_SHAPE(4, 1), HT_INT32, 0), *y;

    (void)state;
    y = ht_cdist(x, ht_astype(x, HT_BOOL), false);
    assert_int_equal(ht_tensor_dtype(y), HT_FLOAT32);
    ht_test_expect(y, (double[]){0, 1, 0, 1, 3, 2, 3, 2, 0, 1, 0, 1, 4, 3, 4, 3}, 0);
    y = ht_manhattan(ht_astype(x, HT_FLOAT16), ht_astype(x, HT_INT8));
    assert_int_equal(ht_tensor_dtype(y), HT_FLOAT16);
    ht_test_expect(ht_narrow(y, 0, 1, 2), (double[]){3, 0, 3, 1}, 0);
    assert_int_equal(ht_tensor_dtype(ht_cdist(x, ht_astype(x, HT_FLOAT64), true)), HT_FLOAT64);
}

static ht_tensor *differentiated(ht_tensor *in[], void *user)
{
    return call(*(int *)user, in[0], in[1]);
}

static void gradients(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        for (int way = 0; way < 4; way++) {
            ht_scope *scope = ht_scope_open();
            ht_tensor *in[2] = {ht_test_randn(HT_SHAPE(3, 2), HT_FLOAT64, split_of(way % 2 - 1), 1),
                                ht_test_randn(HT_SHAPE(4, 2), HT_FLOAT64,
                                              split_of(way / 2 * (1 + kind % 2) - 1), 2)};

            ht_tensor_set_requires_grad(in[0], true);
            ht_tensor_set_requires_grad(in[1], true);
            ht_test_gradcheck(differentiated, 2, in, &kind, 1e-6);
            ht_scope_close(scope);
        }
    }
}

static void gradient_of_distances_of_rows_to_themselves(void **state)
{
    ht_tensor *x = ht_array((double[]){0, 0, 3, 4}, HT_SHAPE(2, 2), HT_FLOAT64, 0);

    (void)state;
    ht_tensor_set_requires_grad(x, true);
    assert_int_equal(ht_backward(ht_sum(ht_cdist(x, x, false), HT_NONE)), HT_SUCCESS);
    ht_test_expect(ht_tensor_grad(x), (double[]){-1.2, -1.6, 1.2, 1.6}, 1e-14);
}

/* Rows that all move by the same keep their gradients, and infinite ones spoil no others. */
static void gradients_far_from_zero(void **state)
{
    static const float near[] = {0, 0.125f, 1, 0.5f, -0.25f, 2};
    static const int kinds[] = {EUCLIDEAN, MANHATTAN, GAUSSIAN};

    (void)state;
    for (int i = 0; i < 3 * 4; i++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *gradients[3][2];

        for (int k = 0; k < 3; k++) {
            const int count = k < 2 ? 3 : 4; /* a row more, which is infinite */
            ht_tensor *x = ht_array(near, HT_SHAPE(3, 2), HT_FLOAT32, HT_NONE), *in[2];

            x = ht_add_scalar(x, k == 1 ? 0x1p20 : 0);
            in[0] = ht_concatenate(
                2,
                (ht_tensor *[]){ht_full(HT_SHAPE(count - 3, 2), INFINITY, HT_FLOAT32, HT_NONE), x},
                0);
            in[1] = ht_add_scalar(ht_narrow(ht_flip(x, HT_AXES(1)), 0, 0, 2), 0.5);
            for (int j = 0; j < 2; j++) {
                in[j] = ht_detach(ht_copy(ht_resplit(in[j], split_of((i >> j) % 2 - 1))));
                ht_tensor_set_requires_grad(in[j], true);
            }
            assert_int_equal(ht_backward(ht_sum(call(kinds[i / 4], in[0], in[1]), HT_NONE)),
                             HT_SUCCESS);
            gradients[k][0] = ht_narrow(ht_tensor_grad(in[0]), 0, count - 3, count);
            gradients[k][1] = ht_tensor_grad(in[1]);
        }
        ht_test_expect_same(gradients[1][0], gradients[0][0], 1e-6);
        ht_test_expect_same(gradients[1][1], gradients[0][1], 1e-6);
        ht_test_expect_same(gradients[2][0], gradients[0][0], 1e-6);
        ht_scope_close(scope);
    }
}

/* The derivative of the sum of `kind` by one row of x, from differences of pairs. */
static double slope(int kind, const double *x, const double *y, int64_t k, int64_t l)
{
    double sum = 0, difference = x[l] - y[l];

    for (int64_t i = 0; i < k; i++)
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    if (kind == EUCLIDEAN)
        return sum > 0 ? difference / sqrt(sum) : 0;
    return exp(-sum / 4.5) * difference / -2.25;
}

/* Rows that are near each other, in two groups at the distance `apart`. */
static void check_groups(ht_dtype dtype, double apart, double tolerance)
{
    enum { M = 9, N = 8, K = 3 };
    static const int kinds[] = {EUCLIDEAN, GAUSSIAN};
    double rows[2][M * K];

    for (int64_t i = 0; i < M * K; i++) {
        rows[0][i] = (double)(i * 37 % 32) / 16 + (double)(i / K % 2) * apart;
        rows[1][i] = (double)(i * 21 % 32) / 16 + (double)(i / K % 2) * apart;
    }
    for (int i = 0; dtype == HT_FLOAT32 && i < M * K; i++) {
        rows[0][i] = (float)rows[0][i];
        rows[1][i] = (float)rows[1][i];
    }
    for (int i = 0; i < 2 * 4; i++) {
        ht_scope *scope = ht_scope_open();
        const int kind = kinds[i / 4];
        double expected[2][M * K] = {{0}};
        ht_tensor *in[2];

        for (int j = 0; j < 2; j++) {
            in[j] = ht_array(rows[j], HT_SHAPE(j == 0 ? M : N, K), HT_FLOAT64, HT_NONE);
            in[j] = ht_resplit(ht_astype(in[j], dtype), split_of((i >> j) % 2 - 1));
            in[j] = ht_detach(ht_copy(in[j]));
            ht_tensor_set_requires_grad(in[j], true);
        }
        for (int64_t at = 0; at < M * N * K; at++) {
            const int64_t a = at / K / N, b = at / K % N, l = at % K;
            const double d = slope(kind, &rows[0][a * K], &rows[1][b * K], K, l);

            expected[0][a * K + l] += d;
            expected[1][b * K + l] -= d;
        }
        assert_int_equal(ht_backward(ht_sum(call(kind, in[0], in[1]), HT_NONE)), HT_SUCCESS);
        for (int j = 0; j < 2; j++)
            ht_test_expect(ht_tensor_grad(in[j]), expected[j], tolerance);
        ht_scope_close(scope);
    }
}

static void gradients_of_groups_far_apart(void **state)
{
    (void)state;
    check_groups(HT_FLOAT32, 0x1p20, 2e-6);
    check_groups(HT_FLOAT64, 0x1p40, 1e-13);
}

/* PyTorch's gradients: 0 / 0 in a column where a row is infinite, and in a row with a distance of
 * NaN. */
static void gradients_of_infinite_rows(void **state)
{
    const double inf = INFINITY, r = 1 / sqrt(2.0);

    (void)state;
    for (int i = 0; i < 4; i++) {
        ht_tensor *x = ht_array((double[]){inf, 0, 1, 2, 2, 1}, HT_SHAPE(3, 2), HT_FLOAT64,
                                split_of(i % 2 - 1));
        ht_tensor *y = ht_array((double[]){1, 2, 3, 2}, HT_SHAPE(2, 2), HT_FLOAT64,
                                split_of(i / 2 - 1));

        ht_tensor_set_requires_grad(x, true);
        ht_tensor_set_requires_grad(y, true);
        assert_int_equal(ht_backward(ht_sum(ht_cdist(x, y, false), HT_NONE)), HT_SUCCESS);
        ht_test_expect(ht_tensor_grad(x), (double[]){NAN, 0, -1, 0, 0, -2 * r}, 1e-14);
        ht_test_expect(ht_tensor_grad(y), (double[]){NAN, r, NAN, r}, 1e-14);
    }
}

static void misuse_is_reported(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(4, 3), HT_FLOAT32, 0), *y = ht_ones(HT_SHAPE(4, 2), HT_INT8, 0);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_cdist(x, y, false), HT_ERR_SHAPE,
                         "ht_cdist: x is (4, 3), y is (4, 2), expected two matrices with the");
    HT_TEST_EXPECT_ERROR(ht_manhattan(x, ht_astype(x, HT_COMPLEX64)), HT_ERR_DTYPE,
                         "ht_manhattan: not defined for complex64");
    HT_TEST_EXPECT_ERROR(ht_rbf(x, x, 0, false), HT_ERR_ARGUMENT,
                         "ht_rbf: sigma is 0, expected more than 0");
}

HT_TEST_SUITE(test_distance, cmocka_unit_test(every_pair_of_splits),
              cmocka_unit_test(differences_are_exact),
              cmocka_unit_test(distances_of_integers_bool_and_float16), cmocka_unit_test(gradients),
              cmocka_unit_test(gradient_of_distances_of_rows_to_themselves),
              cmocka_unit_test(gradients_far_from_zero),
              cmocka_unit_test(gradients_of_groups_far_apart),
              cmocka_unit_test(gradients_of_infinite_rows), cmocka_unit_test(misuse_is_reported));

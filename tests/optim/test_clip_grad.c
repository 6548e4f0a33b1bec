/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* Gradient clipping, against numbers worked out by hand. */
#include "ht_test.h"

#include <math.h>

#include "ht.h"
#include "tensor_check.h"

static ht_tensor *leaf(int ndim, const int64_t shape[], ht_dtype dtype)
{
    ht_tensor *x = ht_full(ndim, shape, 0, dtype, HT_LOCAL);

    ht_tensor_set_requires_grad(x, true);
    return x;
}

/* A list of leaves whose gradients are these: x * gradient summed. */
static ht_value *leaves_with(int count, const double *const gradients[], const int64_t lengths[],
                             ht_dtype dtype)
{
    ht_value *list = ht_value_list();

    for (int i = 0; i < count; i++) {
        ht_tensor *x = leaf(1, &lengths[i], dtype);

        if (gradients[i] != NULL) {
            ht_tensor *weights = ht_array(gradients[i], 1, &lengths[i], HT_FLOAT64, HT_LOCAL);

            ht_backward(ht_sum(ht_mul(x, ht_astype(weights, dtype)), HT_NONE));
        }
        ht_value_append(list, ht_value_tensor(x));
    }
    return list;
}

static ht_tensor *gradient(ht_value *list, int i)
{
    return ht_tensor_grad(ht_value_as_tensor(ht_value_at(list, i)));
}

static const double ab[2] = {3, 0}, c[1] = {-4};
static const double *const pair[] = {ab, NULL, c};
static const int64_t lengths[] = {2, 5, 1};

static void test_norms(void **state)
{
    const double norms[][2] = {{2, 5}, {1, 7}, {INFINITY, 4}};

    (void)state;
    for (int i = 0; i < 3; i++) {
        ht_scope *scope = ht_scope_open();
        ht_value *list = leaves_with(3, pair, lengths, HT_FLOAT64);

        assert_true(ht_clip_grad_norm_(list, 100, norms[i][0], false) == norms[i][1]);
        ht_test_expect(gradient(list, 0), ab, 0);
        assert_true(ht_clip_grad_norm_(list, 1, norms[i][0], false) == norms[i][1]);
        ht_test_expect(gradient(list, 0), (double[]){3 / norms[i][1], 0}, 1e-6);
        ht_test_expect(gradient(list, 2), (double[]){-4 / norms[i][1]}, 1e-6);
        ht_scope_close(scope);
    }
}

/* 4096^2 times 1/4096: summed one after another in float32, what comes late would be lost. */
static void test_long_norm_is_summed_in_double(void **state)
{
    enum { N = 1 << 24 };
    int64_t length = N;
    ht_scope *scope = ht_scope_open();
    ht_value *list = ht_value_list();
    ht_tensor *x;

    (void)state;
    x = leaf(1, &length, HT_FLOAT32);
    ht_backward(ht_mul_scalar(ht_sum(x, HT_NONE), 1.0 / 3));
    ht_value_append(list, ht_value_tensor(x));
    assert_true(fabs(ht_clip_grad_norm_(list, INFINITY, 2, true) - 4096 * (double)(1.0f / 3)) <
                1e-6);
    ht_scope_close(scope);
}

/* The gradient of a transposed view lies in memory as its parameter does not. */
static void test_strided_gradients(void **state)
{
    ht_scope *scope = ht_scope_open();
    ht_value *list = ht_value_list();
    double numbers[6] = {1, -2, 3, -4, 5, -6};
    ht_tensor *x, *weights;

    (void)state;
    x = leaf(HT_SHAPE(2, 3), HT_FLOAT64);
    weights = ht_array(numbers, HT_SHAPE(3, 2), HT_FLOAT64, HT_LOCAL);
    ht_backward(ht_sum(ht_mul(ht_transpose(x, 0, 1), weights), HT_NONE));
    ht_value_append(list, ht_value_tensor(x));
    assert_int_equal(ht_clip_grad_value_(list, 3.5), HT_SUCCESS);
    ht_test_expect(gradient(list, 0), (double[]){1, 3, 3.5, -2, -3.5, -3.5}, 0);
    ht_scope_close(scope);
}

static void test_values(void **state)
{
    const double values[5] = {-1, 0.25, NAN, INFINITY, -0.5},
                 limited[5] = {-0.5, 0.25, NAN, 0.5, -0.5};
    const double *const one[] = {values};
    const int64_t five = 5;

    (void)state;
    for (int d = 0; d < 2; d++) {
        ht_scope *scope = ht_scope_open();
        ht_value *list = leaves_with(1, one, &five, d ? HT_FLOAT32 : HT_FLOAT64);

        assert_int_equal(ht_clip_grad_value_(list, 0.5), HT_SUCCESS);
        ht_test_expect(gradient(list, 0), limited, 0);
        ht_scope_close(scope);
    }
}

static void test_bad_input(void **state)
{
    const double infinite[1] = {INFINITY};
    const double *const one[] = {infinite};
    const int64_t length = 1;
    ht_scope *scope = ht_scope_open();
    ht_value *list = leaves_with(1, one, &length, HT_FLOAT64);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_clip_grad_norm_(list, 1, 2, true), HT_ERR_ARGUMENT,
                         "ht_clip_grad_norm_: the norm of the gradients is inf; gradients that are "
                         "infinite or NaN cannot be clipped");
    assert_true(isinf(ht_item(gradient(list, 0))));
    assert_true(isinf(ht_clip_grad_norm_(list, 1, 2, false)));
    assert_true(isnan(ht_item(gradient(list, 0)))); /* inf * 0, as in PyTorch */
    HT_TEST_EXPECT_ERROR(ht_clip_grad_norm_(list, 1, 0, false), HT_ERR_ARGUMENT,
                         "ht_clip_grad_norm_: norm_type is 0, expected a number above 0");
    HT_TEST_EXPECT_ERROR(ht_get_total_norm(list, -1, false), HT_ERR_ARGUMENT,
                         "ht_get_total_norm: norm_type is -1, expected a number above 0");
    HT_TEST_EXPECT_ERROR(ht_clip_grads_with_norm_(list, -1, 1), HT_ERR_ARGUMENT,
                         "ht_clip_grads_with_norm_: max_norm is -1, expected at least 0");
    HT_TEST_EXPECT_ERROR(ht_clip_grads_with_norm_(NULL, 1, 0.5), HT_ERR_ARGUMENT,
                         "ht_clip_grads_with_norm_: parameters is NULL");
    HT_TEST_EXPECT_ERROR(ht_clip_grad_norm_(list, -1, 2, false), HT_ERR_ARGUMENT,
                         "ht_clip_grad_norm_: max_norm is -1, expected at least 0");
    HT_TEST_EXPECT_ERROR(ht_clip_grad_value_(NULL, 1), HT_ERR_ARGUMENT,
                         "ht_clip_grad_value_: parameters is NULL");
    ht_scope_close(scope);
}

/* Its kernels reach its own memory only. */
static void test_a_device_of_its_own(void **state)
{
    const int64_t two = 2;
    ht_device *dummy = ht_device_get("dummy:0");
    ht_tensor *x = ht_array((float[]){1, 1}, 1, &two, HT_FLOAT32, HT_LOCAL);
    ht_tensor *g = ht_array((float[]){3, 4}, 1, &two, HT_FLOAT32, HT_LOCAL);
    ht_value *list;

    (void)state;
    x = ht_to_device(x, dummy);
    ht_tensor_set_requires_grad(x, true);
    assert_int_equal(ht_tensor_set_grad(x, ht_to_device(g, dummy)), HT_SUCCESS);
    list = ht_value_tensors(1, &x);
    assert_true(fabs(ht_clip_grad_norm_(list, 10, 2, false) - 5) < 1e-12);
    assert_true(fabs(ht_clip_grad_norm_(list, 2.5, 2, false) - 5) < 1e-12);
    ht_test_expect(ht_to_device(ht_tensor_grad(x), ht_device_get("cpu")), (double[]){1.5, 2}, 1e-6);
}

/* Norm and scaling as separate calls; other orders than 1, 2 and infinity. */
static void test_norm_and_scaling_separately(void **state)
{
    const int64_t sizes[] = {2, 1};
    const double two[] = {3, -4}, one[] = {5};
    const double *const values[] = {two, one};
    ht_value *list = leaves_with(2, values, sizes, HT_FLOAT64);
    ht_tensor *both[] = {gradient(list, 0), gradient(list, 1)};
    ht_value *tensors = ht_value_tensors(2, both);

    (void)state;
    assert_true(ht_get_total_norm(ht_value_list(), 2, true) == 0);
    assert_true(fabs(ht_get_total_norm(tensors, 2, false) - sqrt(50)) < 1e-14);
    assert_true(fabs(ht_get_total_norm(tensors, 3, false) - cbrt(216)) < 1e-13);
    assert_true(fabs(ht_get_total_norm(tensors, 0.5, false) - pow(sqrt(3) + 2 + sqrt(5), 2)) <
                1e-13);
    assert_true(ht_get_total_norm(tensors, INFINITY, false) == 5);
    assert_true(fabs(ht_clip_grad_norm_(list, 100, 3, false) - 6) < 1e-13);
    assert_int_equal(ht_clip_grads_with_norm_(list, 5, 10), HT_SUCCESS);
    ht_test_expect(gradient(list, 0), (double[]){1.5, -2}, 1e-6);
    assert_int_equal(ht_clip_grads_with_norm_(list, 5, 1), HT_SUCCESS);
    ht_test_expect(gradient(list, 1), (double[]){2.5}, 1e-6);
    assert_int_equal(ht_clip_grads_with_norm_(list, 1, NAN), HT_SUCCESS);
    assert_true(isnan(ht_item(gradient(list, 1))));
    HT_TEST_EXPECT_ERROR(ht_get_total_norm(tensors, 2, true), HT_ERR_ARGUMENT,
                         "ht_get_total_norm: the norm of the gradients is nan");
}

/* For any size of elements and any dtype: a part that is out of range, or rounded to float32, would
 * be seen. */
static void test_norms_of_other_orders(void **state)
{
    enum { N = 1000 };
    static const double orders[] = {0.02, 0.5, 1.5, 3, 8, 300}, sizes[] = {1e-30, 1, 1e30};
    double numbers[2][N];

    (void)state;
    for (size_t i = 0; i < 18; i++) {
        const double order = orders[i / 3], size = sizes[i % 3];
        double sum = 0, norm;
        ht_tensor *both[2];

        for (int t = 0; t < 2; t++) {
            for (int k = 0; k < N; k++) {
                numbers[t][k] = (float)((k % 7 - 3) * (t == 0 ? 0.1 : 1) * size / 3);
                sum += pow(fabs(numbers[t][k] / size), order);
            }
            both[t] = ht_array(numbers[t], HT_SHAPE(N), HT_FLOAT64, HT_LOCAL);
            both[t] = ht_astype(both[t], HT_FLOAT32);
        }
        norm = size * pow(sum, 1 / order);
        for (int turn = 0; turn < 2; turn++) {
            const double got = ht_get_total_norm(ht_value_tensors(2, both), order, false);
            ht_tensor *first = both[0];

            if (!(got == norm || fabs(got - norm) <= 1e-12 * norm))
                fail_msg("order %g of %g: %.17g, expected %.17g", order, size, got, norm);
            both[0] = both[1];
            both[1] = first;
        }
    }
}

static void test_other_orders_of_special_numbers(void **state)
{
    static const double numbers[][2] = {{0, 0}, {INFINITY, 1}, {1, NAN}, {-INFINITY, NAN}};
    static const double wanted[] = {0, INFINITY, NAN, NAN};

    (void)state;
    for (int i = 0; i < 4; i++) {
        ht_tensor *two[] = {ht_array((double[]){2, 0}, HT_SHAPE(2), HT_FLOAT32, HT_LOCAL),
                            ht_array(numbers[i], HT_SHAPE(2), HT_FLOAT64, HT_LOCAL)};
        const double norms[] = {ht_get_total_norm(ht_value_tensor(two[1]), 3, false),
                                ht_get_total_norm(ht_value_tensors(2, two), 0.5, false)};

        for (int k = 0; k < 2; k++) {
            const double right = k == 1 && i == 0 ? 2 : wanted[i];

            assert_true(isnan(right) ? isnan(norms[k]) : norms[k] == right);
        }
    }
}

/* A tensor is taken in place of a list; a number is refused. */
static void test_one_tensor(void **state)
{
    const double values[] = {3, -4};
    const double *const gradients[] = {values};
    const int64_t two[] = {2};
    ht_value *list = leaves_with(1, gradients, two, HT_FLOAT64), *one = ht_value_at(list, 0);
    ht_value *gradient_alone = ht_value_tensor(gradient(list, 0)), *number = ht_value_number(3);

    (void)state;
    assert_true(ht_get_total_norm(gradient_alone, 2, true) == 5);
    assert_true(ht_clip_grad_norm_(one, 2.5, 2, true) == 5);
    ht_test_expect(gradient(list, 0), (double[]){1.5, -2}, 1e-6);
    assert_int_equal(ht_clip_grads_with_norm_(one, 1, 2), HT_SUCCESS);
    ht_test_expect(gradient(list, 0), (double[]){0.75, -1}, 1e-6);
    assert_int_equal(ht_clip_grad_value_(one, 0.5), HT_SUCCESS);
    ht_test_expect(gradient(list, 0), (double[]){0.5, -0.5}, 0);
    HT_TEST_EXPECT_ERROR(ht_clip_grad_norm_(number, 1, 2, true), HT_ERR_ARGUMENT,
                         "ht_clip_grad_norm_: parameters is a number, expected a list of tensors");
    HT_TEST_EXPECT_ERROR(ht_get_total_norm(number, 2, true), HT_ERR_ARGUMENT,
                         "ht_get_total_norm: tensors is a number, expected a list of tensors");
}

/* Squares are out of the range of float64 where the norm is not, in one gradient or in all. Expected
 * is the root in long double. */
static void test_squares_out_of_range(void **state)
{
    static const double sizes[] = {0, 1e-310, 1e-200, 1e-154, 1e-140,
                                   1, 1e150,  1e154,  1e200,  4e307};
    enum { SIZES = sizeof sizes / sizeof *sizes };

    (void)state;
    for (int i = 0; i < SIZES * SIZES; i++) {
        const double a[2] = {3 * sizes[i / SIZES], -sizes[i / SIZES]},
                     b[1] = {2 * sizes[i % SIZES]};
        const double *const both[] = {a, NULL, b};
        const long double square = (long double)a[0] * a[0] + (long double)a[1] * a[1] +
                                   (long double)b[0] * b[0];
        const double norm = (double)sqrtl(square), bound = norm * 1e-15 + 5e-324;
        ht_scope *scope = ht_scope_open();
        ht_value *list = leaves_with(3, both, lengths, HT_FLOAT64);

        assert_true(fabs(ht_clip_grad_norm_(list, 1, 2, true) - norm) <= bound);
        ht_test_expect(gradient(list, 0),
                       (double[]){norm > 1 ? a[0] / norm : a[0], norm > 1 ? a[1] / norm : a[1]},
                       1e-6);
        ht_test_expect(gradient(list, 2), (double[]){norm > 1 ? b[0] / norm : b[0]}, 1e-6);
        ht_scope_close(scope);
    }
}

/* A gradient of zeros does not decide what the squares of another one are divided by. */
static void test_zeros_with_small_squares(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        ht_tensor *two[2];

        two[i % 2] = ht_zeros(HT_SHAPE(3), i < 2 ? HT_FLOAT32 : HT_FLOAT64, HT_LOCAL);
        two[1 - i % 2] = ht_array((double[]){3e-200, 0, -4e-200}, HT_SHAPE(3), HT_FLOAT64,
                                  HT_LOCAL);
        assert_true(fabs(ht_get_total_norm(ht_value_tensors(2, two), 2, true) / 5e-200 - 1) <=
                    1e-15);
    }
}

/* Also with a gradient whose squares are out of range. */
static void test_infinite_squares(void **state)
{
    static const double large[2] = {1e200, 2}, special[][1] = {{INFINITY}, {NAN}};

    (void)state;
    for (int i = 0; i < 4; i++) {
        const double *const both[] = {large, NULL, special[i % 2]};
        ht_scope *scope = ht_scope_open();
        ht_value *list = leaves_with(3, both, lengths, i < 2 ? HT_FLOAT64 : HT_FLOAT32);
        const double norm = ht_clip_grad_norm_(list, 1, 2, false);

        /* 1e200 is infinite in float32 */
        assert_true(i % 2 == 0 ? norm == INFINITY : isnan(norm));
        ht_scope_close(scope);
    }
}

HT_TEST_SUITE(test_clip_grad, cmocka_unit_test(test_squares_out_of_range),
              cmocka_unit_test(test_zeros_with_small_squares),
              cmocka_unit_test(test_infinite_squares),
              cmocka_unit_test(test_norm_and_scaling_separately),
              cmocka_unit_test(test_norms_of_other_orders),
              cmocka_unit_test(test_other_orders_of_special_numbers),
              cmocka_unit_test(test_a_device_of_its_own), cmocka_unit_test(test_norms),
              cmocka_unit_test(test_long_norm_is_summed_in_double),
              cmocka_unit_test(test_strided_gradients), cmocka_unit_test(test_values),
              cmocka_unit_test(test_bad_input), cmocka_unit_test(test_one_tensor));

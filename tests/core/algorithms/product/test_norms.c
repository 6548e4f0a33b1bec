/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

enum { I = 4, J = 3, K = 5, ALL = I * J * K };
static const int64_t shape[3] = {I, J, K}, steps[3] = {J * K, K, 1};

static int split_of(int i)
{
    return i < 0 ? HT_NONE : i;
}

static double norm_of(const double *x, int64_t count, int64_t step, double ord)
{
    double sum = 0, largest = 0, smallest = INFINITY;

    for (int64_t i = 0; i < count; i++) {
        const double size = fabs(x[i * step]);

        sum += ord == 0 ? size != 0 : pow(size, ord);
        largest = fmax(largest, size);
        smallest = fmin(smallest, size);
    }
    if (isinf(ord))
        return ord > 0 ? largest : smallest;
    return ord == 0 ? sum : pow(sum, 1 / ord);
}

static const double orders[] = {2, 1, 0, 3, 0.5, -1, -2.5, INFINITY, -INFINITY};
enum { ORDERS = sizeof orders / sizeof orders[0] };

/* Some elements are 0. */
static ht_tensor *numbers(int split)
{
    ht_tensor *x = ht_test_randn(3, shape, HT_FLOAT64, HT_NONE, 3);

    return ht_resplit(ht_mul(x, ht_astype(ht_gt(x, ht_scalar(-1.2)), HT_FLOAT64)), split);
}

static void check_axis(ht_tensor *x, const double *values, double ord, int axis)
{
    double expected[ALL];
    int64_t count = 0;

    for (int64_t i = 0; i < ALL; i++) {
        if (i / steps[axis] % shape[axis] == 0)
            expected[count++] = norm_of(values + i, shape[axis], steps[axis], ord);
    }
    ht_test_expect(ht_vector_norm(x, ord, axis, false), expected, 1e-13);
    ht_test_expect(ht_vector_norm(x, ord, axis - 3, true), expected, 1e-13);
    assert_int_equal(ht_tensor_ndim(ht_vector_norm(x, ord, axis, true)), 3);
}

static void norms_of_vectors(void **state)
{
    (void)state;
    for (int split = -1; split < 3; split++) {
        for (int i = 0; i < ORDERS; i++) {
            ht_scope *scope = ht_scope_open();
            ht_tensor *x = numbers(split_of(split));
            const double *values = ht_test_values(x), whole = norm_of(values, ALL, 1, orders[i]);
            ht_norm_options options = ht_norm_options_default();

            for (int axis = 0; axis < 3; axis++)
                check_axis(x, values, orders[i], axis);
            ht_test_expect(ht_vector_norm(x, orders[i], HT_NONE, false), &whole, 1e-13);
            options.ord = orders[i];
            options.keepdims = true;
            ht_test_expect(ht_norm_ext(x, &options), &whole, 1e-13);
            ht_scope_close(scope);
        }
    }
}

/* The norm of the matrices of axes 0 and 2, for each index of axis 1. */
static double matrix_norm_of(const double *x, double ord)
{
    const int64_t count = fabs(ord) == 1 ? K : I, step = fabs(ord) == 1 ? 1 : J * K;
    const int64_t others = fabs(ord) == 1 ? I : K, other_step = fabs(ord) == 1 ? J * K : 1;
    double best = ord > 0 ? 0 : INFINITY, squares = 0;

    for (int64_t i = 0; i < count; i++) {
        const double sum = norm_of(x + i * step, others, other_step, 1);

        best = ord > 0 ? fmax(best, sum) : fmin(best, sum);
        squares += pow(norm_of(x + i * step, others, other_step, 2), 2);
    }
    return ord == HT_NORM_FRO ? sqrt(squares) : best;
}

static void norms_of_matrices(void **state)
{
    static const double kinds[] = {HT_NORM_FRO, 1, -1, INFINITY, -INFINITY};

    (void)state;
    for (int split = -1; split < 3; split++) {
        for (int i = 0; i < 5; i++) {
            ht_scope *scope = ht_scope_open();
            ht_tensor *x = numbers(split_of(split));
            const double *values = ht_test_values(x);
            const int axes[] = {0, 2};
            ht_norm_options options = ht_norm_options_default();
            double expected[J];

            for (int j = 0; j < J; j++)
                expected[j] = matrix_norm_of(values + j * K, kinds[i]);
            ht_test_expect(ht_matrix_norm(x, kinds[i], 0, 2, false), expected, 1e-13);
            ht_test_expect(ht_matrix_norm(ht_transpose(x, 0, 2), kinds[i], 2, 0, true), expected,
                           1e-13);
            options.ord = kinds[i];
            options.axes = axes;
            options.count = 2;
            ht_test_expect(ht_norm_ext(x, &options), expected, 1e-13);
            ht_scope_close(scope);
        }
    }
}

static void integers_complex_numbers_and_default_orders(void **state)
{
    ht_tensor *x = ht_array((int[]){3, 0, -4, 12}, HT_SHAPE(2, 2), HT_INT32, 0), *y;

    (void)state;
    ht_test_expect(ht_norm(x), (double[]){13}, 1e-6);
    assert_int_equal(ht_tensor_dtype(ht_norm(x)), HT_FLOAT32);
    ht_test_expect(ht_matrix_norm(x, HT_NORM_DEFAULT, HT_NONE, HT_NONE, false), (double[]){13},
                   1e-6);
    y = ht_mul_scalar_ext(ht_astype(x, HT_COMPLEX64), HT_COMPLEX(0.6, 0.8));
    assert_int_equal(ht_tensor_dtype(ht_norm(y)), HT_FLOAT32);
    ht_test_expect(ht_vector_norm(y, 1, 1, false), (double[]){3, 16}, 1e-6);
    ht_test_expect(ht_vector_norm(y, INFINITY, 0, false), (double[]){4, 12}, 1e-6);
    x = ht_full(HT_SHAPE(9), 60000, HT_FLOAT16, 0); /* its square is beyond float16 */
    ht_test_expect(ht_vector_norm(ht_mul_scalar(x, 1. / 16), 2, 0, false), (double[]){11250}, 1e-3);
    ht_test_expect(ht_norm(ht_zeros(HT_SHAPE(0, 3), HT_FLOAT32, 0)), (double[]){0}, 0);
}

static ht_tensor *norm_3(ht_tensor *in[], void *user)
{
    return ht_vector_norm(in[0], *(double *)user, 0, false);
}

static ht_tensor *matrix_norm_1(ht_tensor *in[], void *user)
{
    return ht_matrix_norm(in[0], *(double *)user, 2, 0, true);
}

static void gradients(void **state)
{
    static const double kinds[] = {2, 1, 3, 0.5, -2, INFINITY, -INFINITY};

    (void)state;
    for (int i = 0; i < 7; i++) {
        for (int split = -1; split < 3; split += 1) {
            ht_scope *scope = ht_scope_open();
            ht_tensor *in[1] = {ht_test_randn(3, shape, HT_FLOAT64, split_of(split), 5)};
            double ord = kinds[i];

            ht_tensor_set_requires_grad(in[0], true);
            ht_test_gradcheck(norm_3, 1, in, &ord, 1e-6);
            ord = i % 2 ? -1 : HT_NORM_FRO;
            if (i < 2)
                ht_test_gradcheck(matrix_norm_1, 1, in, &ord, 1e-6);
            ht_scope_close(scope);
        }
    }
}

static void the_norm_of_zeros_has_gradient_0(void **state)
{
    ht_tensor *x = ht_zeros(HT_SHAPE(5), HT_FLOAT64, 0);

    (void)state;
    ht_tensor_set_requires_grad(x, true);
    assert_int_equal(ht_backward(ht_norm(x)), HT_SUCCESS);
    ht_test_expect(ht_tensor_grad(x), (double[5]){0}, 0);
}

/* Norms and gradients of 16 bits are those of float64, rounded once. */
static void norms_of_16_bits_are_rounded_once(void **state)
{
    static const double powers[] = {3, 0.5, -2, 1.5, 7};
    static const ht_dtype dtypes[] = {HT_FLOAT16, HT_BFLOAT16};

    (void)state;
    for (int i = 0; i < 2 * 2 * 5; i++) {
        const double ord = powers[i % 5];
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = ht_test_randn(HT_SHAPE(40, 3), dtypes[i / 5 % 2], split_of(i / 10 - 1), 4);
        ht_tensor *wide = ht_astype(x, HT_FLOAT64), *y, *exact;

        ht_tensor_set_requires_grad(x, true);
        wide = ht_detach(wide);
        ht_tensor_set_requires_grad(wide, true);
        y = ht_vector_norm(x, ord, 0, false);
        exact = ht_vector_norm(wide, ord, 0, false);
        assert_int_equal(ht_tensor_dtype(y), dtypes[i / 5 % 2]);
        ht_test_expect_same(y, ht_astype(exact, dtypes[i / 5 % 2]), 0);
        assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
        assert_int_equal(ht_backward(ht_sum(exact, HT_NONE)), HT_SUCCESS);
        ht_test_expect_same(ht_tensor_grad(x), ht_tensor_grad(wide), i / 5 % 2 ? 0x1p-5 : 0x1p-8);
        ht_scope_close(scope);
    }
}

static void misuse_is_reported(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(4, 3, 2), HT_FLOAT32, 0);
    ht_norm_options options = ht_norm_options_default();

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_matrix_norm(x, 2, 0, 1, false), HT_ERR_ARGUMENT,
                         "ht_matrix_norm: ord is 2, expected 1, -1, an infinity or");
    HT_TEST_EXPECT_ERROR(ht_matrix_norm(x, 1, HT_NONE, HT_NONE, false), HT_ERR_SHAPE,
                         "ht_matrix_norm: x is (4, 3, 2), expected a matrix or two axes");
    HT_TEST_EXPECT_ERROR(ht_matrix_norm(x, 1, 1, -2, false), HT_ERR_ARGUMENT,
                         "ht_matrix_norm: axis 1 is given twice");
    HT_TEST_EXPECT_ERROR(ht_vector_norm(x, HT_NORM_FRO, 0, false), HT_ERR_ARGUMENT,
                         "ht_vector_norm: ord is HT_NORM_FRO, expected a number for a vector norm");
    HT_TEST_EXPECT_ERROR(ht_vector_norm(ht_narrow(x, 0, 0, 0), INFINITY, 0, false), HT_ERR_SHAPE,
                         "ht_vector_norm: x of shape (0, 3, 2) has no elements");
    options.count = 3;
    options.axes = (int[]){0, 1, 2};
    HT_TEST_EXPECT_ERROR(ht_norm_ext(x, &options), HT_ERR_ARGUMENT,
                         "ht_norm_ext: count is 3, expected one or two axes");
}

HT_TEST_SUITE(test_norms, cmocka_unit_test(norms_of_vectors), cmocka_unit_test(norms_of_matrices),
              cmocka_unit_test(integers_complex_numbers_and_default_orders),
              cmocka_unit_test(gradients), cmocka_unit_test(the_norm_of_zeros_has_gradient_0),
              cmocka_unit_test(norms_of_16_bits_are_rounded_once),
              cmocka_unit_test(misuse_is_reported));

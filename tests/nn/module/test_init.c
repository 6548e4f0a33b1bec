/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Initial values of parameters: exact ones, the statistics of random ones, and the same draws however
 * a tensor is split. */
#include "ht_test.h"
#include "tensor_check.h"

#include <math.h>

#include "ht.h"

static const int64_t weight[] = {60, 40, 3};
enum { OUT = 60, IN = 40, WINDOW = 3, SIZE = OUT * IN * WINDOW };

static void test_gains(void **state)
{
    (void)state;
    assert_true(ht_nn_init_calculate_gain("conv_transpose2d", NAN) == 1);
    assert_true(ht_nn_init_calculate_gain("tanh", NAN) == 5.0 / 3);
    assert_true(ht_nn_init_calculate_gain("relu", NAN) == sqrt(2));
    assert_true(ht_nn_init_calculate_gain("selu", NAN) == 0.75);
    assert_true(ht_nn_init_calculate_gain("leaky_relu", NAN) == sqrt(2 / (1 + 0.01 * 0.01)));
    assert_true(ht_nn_init_calculate_gain("leaky_relu", 0.2) == sqrt(2 / (1 + 0.2 * 0.2)));
}

static void test_eye_and_dirac(void **state)
{
    const int64_t matrix[] = {2, 3}, line[] = {4, 2, 3}, plane[] = {2, 3, 2, 1};

    (void)state;
    for (int i = -1; i < 2; i++) {
        const int split = i < 0 ? HT_LOCAL : i;
        ht_tensor *x = ht_full(2, matrix, 7, HT_FLOAT32, split);
        ht_tensor *y = ht_full(3, line, 7, HT_FLOAT64, split);
        ht_tensor *z = ht_full(4, plane, 7, HT_FLOAT32, split);

        assert_int_equal(ht_nn_init_eye(x), HT_SUCCESS);
        ht_test_expect(x, (double[]){1, 0, 0, 0, 1, 0}, 0);
        assert_int_equal(ht_nn_init_dirac(y, 2), HT_SUCCESS);
        ht_test_expect(
            y, (double[]){0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0},
            0);
        assert_int_equal(ht_nn_init_dirac(z, 1), HT_SUCCESS);
        ht_test_expect(z, (double[]){0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0}, 0);
    }
}

/* The draws of torch's functions, by name: a call, and the mean, standard deviation and bounds of its
 * values. */
static ht_status xavier_uniform(ht_tensor *x)
{
    return ht_nn_init_xavier_uniform(x, 2);
}

static ht_status xavier_normal(ht_tensor *x)
{
    return ht_nn_init_xavier_normal(x, 2);
}

static ht_status kaiming_uniform(ht_tensor *x)
{
    return ht_nn_init_kaiming_uniform_ext(x, 0, HT_FAN_OUT, "tanh");
}

static ht_status kaiming_normal(ht_tensor *x)
{
    return ht_nn_init_kaiming_normal(x, 0.5);
}

static ht_status kaiming_normal_ext(ht_tensor *x)
{
    return ht_nn_init_kaiming_normal_ext(x, 0, HT_FAN_OUT, "relu");
}

static ht_status normal(ht_tensor *x)
{
    return ht_nn_init_normal(x, 1, 3);
}

/* Most of the distribution lies in the interval: its mean is 0, its variance 1 - 4 f(2) / (F(2) -
 * F(-2)). */
static ht_status trunc_normal(ht_tensor *x)
{
    return ht_nn_init_trunc_normal(x, 0, 1, -2, 2);
}

/* Little of it: the tail above 2. */
static ht_status tail(ht_tensor *x)
{
    return ht_nn_init_trunc_normal(x, 0, 1, 2, 4);
}

static const struct {
    const char *name;
    ht_status (*draw)(ht_tensor *x);
    double mean, std, low, high;
} draws[] = {
    {"xavier_uniform", xavier_uniform, 0, 2 * 0.081649658092772609, -0.28284271247461906,
     0.28284271247461906},
    {"xavier_normal", xavier_normal, 0, 2 * 0.081649658092772609, -INFINITY, INFINITY},
    {"kaiming_uniform", kaiming_uniform, 0, 0.12422599874998832, -0.21516574145596762,
     0.21516574145596762},
    {"kaiming_normal", kaiming_normal, 0, 0.11547005383792515, -INFINITY, INFINITY},
    {"kaiming_normal_ext", kaiming_normal_ext, 0, 0.10540925533894598, -INFINITY, INFINITY},
    {"normal", normal, 1, 3, -INFINITY, INFINITY},
    {"trunc_normal", trunc_normal, 0, 0.87962566103423978, -2, 2},
    {"tail", tail, 2.37063315968317, 0.3310334025921436, 2, 4},
};

/* Within five standard errors of what the formulas say, and in the bounds. */
static void test_statistics(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof draws / sizeof *draws; i++) {
        ht_tensor *x = ht_zeros(3, weight, HT_FLOAT32, HT_LOCAL);
        const float *values;
        double sum = 0, squares = 0, mean, std;

        ht_nn_seed(5);
        assert_int_equal(draws[i].draw(x), HT_SUCCESS);
        values = ht_test_data(x);
        for (int k = 0; k < SIZE; k++) {
            assert_true(values[k] >= draws[i].low - 1e-6 && values[k] <= draws[i].high + 1e-6);
            sum += values[k];
            squares += (double)values[k] * values[k];
        }
        mean = sum / SIZE;
        std = sqrt(squares / SIZE - mean * mean);
        if (!(fabs(mean - draws[i].mean) <= 5 * draws[i].std / sqrt(SIZE)) ||
            !(fabs(std / draws[i].std - 1) <= 5 / sqrt(SIZE)))
            fail_msg("%s: mean %g and std %g, expected %g and %g", draws[i].name, mean, std,
                     draws[i].mean, draws[i].std);
    }
}

static ht_status orthogonal(ht_tensor *x)
{
    return ht_nn_init_orthogonal(x, 2);
}

/* An element has the same value for any split. */
static void test_splits(void **state)
{
    (void)state;
    for (int axis = 0; axis < 3; axis++) {
        for (size_t i = 0; i <= sizeof draws / sizeof *draws; i++) {
            ht_status (*draw)(ht_tensor * x) = i < sizeof draws / sizeof *draws ? draws[i].draw
                                                                                : orthogonal;
            ht_tensor *whole = ht_zeros(3, weight, HT_FLOAT64, HT_NONE);
            ht_tensor *split = ht_zeros(3, weight, HT_FLOAT64, axis);

            ht_nn_seed(11);
            assert_int_equal(draw(whole), HT_SUCCESS);
            ht_nn_seed(11);
            assert_int_equal(draw(split), HT_SUCCESS);
            ht_test_expect_same(whole, split, 0);
        }
    }
}

/* Rows or columns, whichever are fewer, are orthogonal and have the length of the gain. */
static void test_orthogonal(void **state)
{
    static const int64_t shapes[][2] = {{4, 6}, {6, 4}, {5, 5}};

    (void)state;
    for (int i = 0; i < 3; i++) {
        ht_tensor *x = ht_zeros(2, shapes[i], HT_FLOAT64, HT_LOCAL), *t, *gram;

        assert_int_equal(orthogonal(x), HT_SUCCESS);
        t = ht_transpose(x, 0, 1);
        gram = shapes[i][0] <= shapes[i][1] ? ht_matmul(x, t) : ht_matmul(t, x);
        gram = ht_sub(gram, ht_mul_scalar(ht_eye(ht_tensor_shape(gram)[0], ht_tensor_shape(gram)[0],
                                                 HT_FLOAT64, HT_LOCAL),
                                          4));
        assert_true(ht_item(ht_max(ht_abs(gram), HT_NONE)) < 1e-13);
    }
}

/* The number of zeros in each column is the sparsity times its length, rounded up; the draws are
 * the same for any split. */
static void test_sparse(void **state)
{
    const int64_t shape[] = {25, 8};

    (void)state;
    for (int split = 0; split < 2; split++) {
        ht_tensor *whole = ht_zeros(2, shape, HT_FLOAT64, HT_NONE);
        ht_tensor *x = ht_zeros(2, shape, HT_FLOAT64, split), *zeros;

        ht_nn_seed(3);
        assert_int_equal(ht_nn_init_sparse(whole, 0.33, 0.5), HT_SUCCESS);
        ht_nn_seed(3);
        assert_int_equal(ht_nn_init_sparse(x, 0.33, 0.5), HT_SUCCESS);
        ht_test_expect_same(whole, x, 0);
        zeros = ht_sum(ht_astype(ht_eq(whole, ht_scalar(0)), HT_FLOAT64), 0);
        ht_test_expect(zeros, (double[]){9, 9, 9, 9, 9, 9, 9, 9}, 0);
    }
}

static void test_misuse(void **state)
{
    const int64_t shape[] = {4, 6, 3};
    ht_tensor *x = ht_zeros(3, shape, HT_FLOAT32, HT_NONE), *row = ht_flatten(x, 0);
    ht_tensor *integers = ht_zeros(2, shape, HT_INT32, HT_NONE);
    const double gain = ht_nn_init_calculate_gain("relu", NAN);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_nn_init_eye(x), HT_ERR_SHAPE,
                         "ht_nn_init_eye: x is (4, 6, 3), expected 2 axes");
    HT_TEST_EXPECT_ERROR(ht_nn_init_dirac(row, 1), HT_ERR_SHAPE, "expected 3 to 5 axes");
    HT_TEST_EXPECT_ERROR(ht_nn_init_dirac(x, 3), HT_ERR_ARGUMENT,
                         "groups is 3, expected at least 1 and a divisor of the 4 outputs");
    HT_TEST_EXPECT_ERROR(ht_nn_init_xavier_normal(row, gain), HT_ERR_SHAPE,
                         "expected at least 2 axes");
    HT_TEST_EXPECT_ERROR(ht_nn_init_sparse(integers, 0.1, 1), HT_ERR_ARGUMENT,
                         "expected a contiguous tensor of a floating dtype");
    HT_TEST_EXPECT_ERROR(ht_nn_init_normal(x, 0, -1), HT_ERR_ARGUMENT, "std -1");
    HT_TEST_EXPECT_ERROR(ht_nn_init_trunc_normal(x, 0, 1, 2, -2), HT_ERR_ARGUMENT,
                         "low 2 and high -2");
    HT_TEST_EXPECT_ERROR(ht_nn_init_kaiming_normal_ext(x, 0, HT_FAN_IN, "gelu"), HT_ERR_ARGUMENT,
                         "nonlinearity is \"gelu\"");
}

static ht_status uniform(ht_tensor *x)
{
    return ht_nn_init_uniform(x, -1, 1);
}

static ht_status sparse(ht_tensor *x)
{
    return ht_nn_init_sparse(x, 0.5, 1);
}

static ht_status dirac(ht_tensor *x)
{
    return ht_nn_init_dirac(x, 1);
}

/* Numbers and views whose elements share memory; of the axes that each function takes. */
static void test_unwritable_tensors_are_refused(void **state)
{
    static const struct {
        const char *name;
        ht_status (*fill)(ht_tensor *x);
        int ndim;
    } rows[] = {
        {"ht_nn_init_uniform", uniform, 3},
        {"ht_nn_init_normal", normal, 3},
        {"ht_nn_init_trunc_normal", trunc_normal, 3},
        {"ht_nn_init_xavier_uniform", xavier_uniform, 3},
        {"ht_nn_init_xavier_normal", xavier_normal, 3},
        {"ht_nn_init_kaiming_uniform_ext", kaiming_uniform, 3},
        {"ht_nn_init_kaiming_normal", kaiming_normal, 3},
        {"ht_nn_init_kaiming_normal_ext", kaiming_normal_ext, 3},
        {"ht_nn_init_eye", ht_nn_init_eye, 2},
        {"ht_nn_init_dirac", dirac, 3},
        {"ht_nn_init_orthogonal", orthogonal, 3},
        {"ht_nn_init_sparse", sparse, 2},
    };
    const int64_t ones[] = {1, 1, 1};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ht_tensor *number = ht_scalar(2.5), *x = ht_full(1, ones, 2.5, HT_FLOAT32, HT_NONE);
        char text[128];

        snprintf(text, sizeof text,
                 "%s: x is a number (ht_scalar), expected a tensor that can be written",
                 rows[i].name);
        HT_TEST_EXPECT_ERROR(rows[i].fill(number), HT_ERR_STATE, text);
        assert_true(ht_item(number) == 2.5);
        snprintf(text, sizeof text, "%s: x is a read-only view", rows[i].name);
        HT_TEST_EXPECT_ERROR(rows[i].fill(ht_broadcast_to(x, rows[i].ndim, ones)), HT_ERR_STATE,
                             text);
        assert_true(ht_item(x) == 2.5);
    }
}

/* As in torch, also while gradients are recorded. */
static void test_a_leaf_can_be_initialised(void **state)
{
    ht_tensor *x = ht_zeros(3, weight, HT_FLOAT32, HT_NONE);

    (void)state;
    ht_tensor_set_requires_grad(x, true);
    assert_int_equal(uniform(x), HT_SUCCESS);
    assert_int_equal(trunc_normal(x), HT_SUCCESS);
    assert_true(ht_is_grad_enabled());
}

HT_TEST_SUITE(test_init, cmocka_unit_test(test_gains), cmocka_unit_test(test_eye_and_dirac),
              cmocka_unit_test(test_statistics), cmocka_unit_test(test_splits),
              cmocka_unit_test(test_orthogonal), cmocka_unit_test(test_sparse),
              cmocka_unit_test(test_misuse), cmocka_unit_test(test_unwritable_tensors_are_refused),
              cmocka_unit_test(test_a_leaf_can_be_initialised));

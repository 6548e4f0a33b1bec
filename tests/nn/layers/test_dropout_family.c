/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Layers that draw: dropout of channels, alpha dropout, and RReLU. */
#include <string.h>

#include "nn/nn_test.h"
#include "tensor_check.h"

enum { N = 64, C = 16, L = 6 };

/* A layer's output on ones of (N, C, ...), whose channels have L elements: each channel is one
 * value, which about half of them have. */
static void check_channels(ht_module *layer, int ndim, const int64_t shape[], double dropped)
{
    ht_tensor *x = ht_full(ndim, shape, 1, HT_FLOAT64, HT_LOCAL), *y = ht_forward(layer, x);
    const double *value = ht_test_data(ht_contiguous(y));
    int count = 0;

    for (int channel = 0; channel < N * C; channel++) {
        for (int i = 1; i < L; i++)
            assert_true(value[L * channel + i] == value[L * channel]);
        count += fabs(value[L * channel] - dropped) < 1e-12;
    }
    assert_true(fabs(count / (double)(N * C) - 0.5) < 4 * 0.5 / sqrt(N * C));
    ht_module_eval(layer);
    assert_ptr_equal(ht_forward(layer, x), x);
    ht_release(layer);
}

/* A dropped x becomes a (-alpha) + b, for p = 0.5. */
static double alpha_dropped(void)
{
    const double alpha = 1.7580993408473766, a = 1 / sqrt((alpha * alpha * 0.5 + 1) * 0.5);

    return -alpha * a + alpha * a * 0.5;
}

static void channels_are_dropped_as_one(void **state)
{
    (void)state;
    check_channels(ht_nn_dropout1d(0.5), HT_SHAPE(N, C, L), 0);
    check_channels(ht_nn_dropout1d(0.5), HT_SHAPE(N * C, L), 0);
    check_channels(ht_nn_dropout3d(0.5), HT_SHAPE(N, C, 1, 2, 3), 0);
    check_channels(ht_nn_dropout3d(0.5), HT_SHAPE(N * C, 1, 2, 3), 0);
    check_channels(ht_nn_feature_alpha_dropout(0.5), HT_SHAPE(N, C, L), alpha_dropped());
}

static void alpha_dropout_keeps_mean_and_variance(void **state)
{
    ht_module *layer = ht_nn_alpha_dropout(0.3);
    ht_tensor *x = ht_tensor_local(ht_test_randn(1, (int64_t[]){40000}, HT_FLOAT64, HT_NONE, 5));
    ht_tensor *y = ht_forward(layer, x);

    (void)state;
    assert_true(fabs(ht_item(ht_mean(y, HT_NONE))) < 0.03);
    assert_true(fabs(ht_item(ht_var(y, HT_NONE)) - 1) < 0.05);
    ht_release(layer);
}

static void probabilities_0_and_1(void **state)
{
    ht_tensor *x = nn_leaf(1, HT_SHAPE(4, 3), 0);

    (void)state;
    assert_ptr_equal(ht_alpha_dropout(x, 0, 1, 2), x);
    ht_test_expect_same(ht_alpha_dropout(x, 1, 1, 2), ht_zeros_like(x), 0);
    HT_TEST_EXPECT_ERROR(ht_alpha_dropout(x, 1.5, 1, 2), HT_ERR_ARGUMENT,
                         "ht_alpha_dropout: p is 1.5, expected 0 to 1");
    HT_TEST_EXPECT_ERROR(ht_nn_feature_alpha_dropout(-1), HT_ERR_ARGUMENT,
                         "ht_nn_feature_alpha_dropout: p is -1, expected 0 to 1");
}

static void slopes_of_rrelu_are_drawn_from_a_range(void **state)
{
    ht_tensor *x = ht_full(2, (int64_t[]){50, 40}, -1, HT_FLOAT32, 0);
    ht_tensor *whole = ht_rrelu(ht_resplit(x, HT_NONE), 0.25, 0.5, true, 3, 4);
    ht_tensor *y = ht_neg(ht_rrelu(x, 0.25, 0.5, true, 3, 4));

    (void)state;
    ht_test_expect_same(ht_neg(y), whole, 0);
    assert_true(ht_item(ht_min(y, HT_NONE)) >= 0.25 && ht_item(ht_min(y, HT_NONE)) < 0.26);
    assert_true(ht_item(ht_max(y, HT_NONE)) <= 0.5 && ht_item(ht_max(y, HT_NONE)) > 0.49);
    ht_test_expect_same(ht_rrelu(ht_neg(x), 0.25, 0.5, true, 3, 4), ht_neg(x), 0);
}

static void rrelu_draws_anew_in_training_alone(void **state)
{
    ht_module *layer = ht_nn_rrelu(0.25, 0.5);
    ht_tensor *x = ht_full(1, (int64_t[]){8}, -1, HT_FLOAT64, HT_LOCAL);
    ht_tensor *first = ht_forward(layer, x), *second = ht_forward(layer, x);

    (void)state;
    assert_memory_not_equal(ht_test_data(first), ht_test_data(second), 8 * sizeof(double));
    ht_module_eval(layer);
    ht_test_expect_same(ht_forward(layer, x), ht_mul_scalar(x, 0.375), 0);
    ht_release(layer);
}

HT_TEST_SUITE(test_dropout_family, cmocka_unit_test(channels_are_dropped_as_one),
              cmocka_unit_test(alpha_dropout_keeps_mean_and_variance),
              cmocka_unit_test(probabilities_0_and_1),
              cmocka_unit_test(slopes_of_rrelu_are_drawn_from_a_range),
              cmocka_unit_test(rrelu_draws_anew_in_training_alone));

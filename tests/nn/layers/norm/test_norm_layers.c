/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* LayerNorm, GroupNorm, InstanceNorm, RMSNorm and LocalResponseNorm: parameters, running
 * statistics, bad settings and inputs. */
#include <math.h>

#include "nn/nn_test.h"
#include "tensor_check.h"

static ht_tensor *two_samples(void)
{
    return ht_array((double[]){1, 3, 2, 6}, HT_SHAPE(2, 1, 2), HT_FLOAT64, HT_LOCAL);
}

static void expect_forward(ht_module *module, ht_tensor *x, const double *expected)
{
    assert_non_null(module);
    assert_int_equal(ht_module_to_dtype(module, HT_FLOAT64), HT_SUCCESS);
    ht_test_expect(ht_forward(module, x), expected, 1e-4);
    ht_release(module);
}

static void layers_normalise(void **state)
{
    const double each[] = {-1, 1, -1, 1}, rms[] = {0.4472136, 1.3416408, 0.4472136, 1.3416408};
    ht_tensor *x = two_samples();

    (void)state;
    expect_forward(ht_nn_layer_norm(HT_SHAPE(2)), x, each);
    expect_forward(ht_nn_layer_norm_ext(HT_SHAPE(1, 2), 1e-5, true, false), x, each);
    expect_forward(ht_nn_group_norm(1, 1), x, each);
    expect_forward(ht_nn_instance_norm1d(1, NULL), x, each);
    expect_forward(ht_nn_rms_norm(HT_SHAPE(1, 2)), x, rms);
    expect_forward(ht_nn_local_response_norm_ext(1, 0, 1, 2), x, (double[]){0.5, 1.5, 1, 3});
}

static void parameters_are_those_of_the_settings(void **state)
{
    ht_instance_norm_options options = ht_instance_norm_options_default();
    ht_module *modules[] = {ht_nn_layer_norm(HT_SHAPE(3, 2)),
                            ht_nn_layer_norm_ext(HT_SHAPE(3), 1e-5, true, false),
                            ht_nn_layer_norm_ext(HT_SHAPE(3), 1e-5, false, true),
                            ht_nn_group_norm(2, 4),
                            ht_nn_group_norm_ext(2, 4, 1e-5, false, true),
                            ht_nn_group_norm_ext(2, 4, 1e-5, true, false),
                            ht_nn_rms_norm(HT_SHAPE(4)),
                            ht_nn_instance_norm2d(5, NULL),
                            ht_nn_instance_norm3d(5, (options.affine = true, &options)),
                            ht_nn_instance_norm1d(5, (options.bias = false, &options))};
    const int64_t counts[] = {12, 3, 0, 8, 0, 4, 4, 0, 10, 5};

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        assert_int_equal(ht_module_parameter_count(modules[i]), counts[i]);
        ht_release(modules[i]);
    }
}

/* Means of 2 and 4, unbiased variances of 2 and 8. */
static void running_statistics_are_means_over_samples(void **state)
{
    ht_instance_norm_options options = ht_instance_norm_options_default();
    ht_tensor *x = two_samples(), *y;
    ht_module *norm;

    (void)state;
    options.track_running_stats = true;
    norm = ht_nn_instance_norm1d(1, &options);
    ht_module_to_dtype(norm, HT_FLOAT64);
    assert_non_null(ht_forward(norm, x));
    assert_non_null(ht_forward(norm, ht_narrow(x, 0, 0, 0))); /* no sample leaves them */
    assert_int_equal(ht_module_eval(norm), HT_SUCCESS);
    y = ht_forward(norm, x);
    ht_test_expect(y,
                   (double[]){(1 - 0.3) / sqrt(1.4), (3 - 0.3) / sqrt(1.4), (2 - 0.3) / sqrt(1.4),
                              (6 - 0.3) / sqrt(1.4)},
                   1e-5);
    ht_release(norm);
}

/* Statistics of the batch over all ranks. */
static void running_statistics_of_a_split_batch(void **state)
{
    ht_tensor *x = ht_array((double[]){1, 3, 2, 6}, HT_SHAPE(2, 1, 2), HT_FLOAT64, 0);
    ht_tensor *mean = ht_zeros(HT_SHAPE(1), HT_FLOAT64, HT_NONE);
    ht_tensor *var = ht_ones(HT_SHAPE(1), HT_FLOAT64, HT_NONE);

    (void)state;
    assert_non_null(ht_instance_norm(x, mean, var, NULL, NULL, true, 0.1, 1e-5));
    ht_test_expect(mean, (double[]){0.3}, 1e-15);
    ht_test_expect(var, (double[]){1.4}, 1e-15);
}

static void empty_batches_give_empty_results(void **state)
{
    ht_tensor *x = ht_zeros(HT_SHAPE(0, 4, 3), HT_FLOAT32, 0);

    (void)state;
    ht_tensor_set_requires_grad(x, true);
    for (int i = 0; i < 5; i++) {
        ht_tensor *y = i == 0   ? ht_layer_norm(x, HT_SHAPE(3), NULL, NULL, 1e-5)
                       : i == 1 ? ht_group_norm(x, 2, NULL, NULL, 1e-5)
                       : i == 2 ? ht_instance_norm(x, NULL, NULL, NULL, NULL, true, 0.1, 1e-5)
                       : i == 3 ? ht_rms_norm(x, HT_SHAPE(3), NULL, -1)
                                : ht_local_response_norm(x, 3, 1e-4, 0.75, 1);

        assert_int_equal(ht_tensor_shape(y)[0], 0);
        assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
    }
}

static void bad_settings_are_errors(void **state)
{
    (void)state;
    HT_TEST_EXPECT_ERROR(ht_nn_layer_norm(0, NULL), HT_ERR_ARGUMENT,
                         "ht_nn_layer_norm: ndim is 0, expected 1 to 8");
    HT_TEST_EXPECT_ERROR(ht_nn_layer_norm_ext(HT_SHAPE(2), -1, true, true), HT_ERR_ARGUMENT,
                         "ht_nn_layer_norm_ext: eps is -1, expected a finite value of at least 0");
    HT_TEST_EXPECT_ERROR(ht_nn_group_norm(3, 4), HT_ERR_ARGUMENT,
                         "ht_nn_group_norm: groups is 3, expected a divisor of channels 4");
    HT_TEST_EXPECT_ERROR(ht_nn_local_response_norm(0), HT_ERR_ARGUMENT,
                         "ht_nn_local_response_norm: size is 0, expected at least 1");
}

static void bad_inputs_are_errors(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(1, 4, 1), HT_FLOAT32, HT_NONE);
    ht_module *norm = ht_nn_instance_norm2d(4, NULL);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_group_norm(x, 3, NULL, NULL, 1e-5), HT_ERR_SHAPE,
                         "ht_group_norm: x is (1, 4, 1): 3 groups do not divide 4 channels");
    HT_TEST_EXPECT_ERROR(ht_group_norm(ht_narrow(x, 1, 0, 1), 1, NULL, NULL, 1e-5), HT_ERR_SHAPE,
                         "ht_group_norm: x is (1, 1, 1), expected more than one value per group");
    for (int axis = 1; axis < 3; axis++)
        HT_TEST_EXPECT_ERROR(ht_group_norm(ht_narrow(x, axis, 0, 0), 1, NULL, NULL, 1e-5),
                             HT_ERR_SHAPE, "expected more than one value per group");
    HT_TEST_EXPECT_ERROR(ht_instance_norm(x, NULL, NULL, NULL, NULL, true, 0.1, 1e-5), HT_ERR_SHAPE,
                         "ht_instance_norm: x is (1, 4, 1), expected more than one value per "
                         "channel");
    HT_TEST_EXPECT_ERROR(ht_instance_norm(x, NULL, NULL, NULL, NULL, false, 0.1, 1e-5),
                         HT_ERR_ARGUMENT,
                         "running_mean or running_var is NULL, expected both without "
                         "use_input_stats");
    HT_TEST_EXPECT_ERROR(ht_local_response_norm(x, 0, 1e-4, 0.75, 1), HT_ERR_ARGUMENT,
                         "ht_local_response_norm: size is 0, expected at least 1");
    HT_TEST_EXPECT_ERROR(ht_layer_norm(x, 0, NULL, NULL, NULL, 1e-5), HT_ERR_ARGUMENT,
                         "ht_layer_norm: ndim is 0, expected 1 to 8");
    HT_TEST_EXPECT_ERROR(ht_layer_norm(x, 9, (int64_t[]){1}, NULL, NULL, 1e-5), HT_ERR_ARGUMENT,
                         "ht_layer_norm: ndim is 9, expected 1 to 8");
    HT_TEST_EXPECT_ERROR(ht_forward(norm, x), HT_ERR_SHAPE,
                         "ht_nn_instance_norm2d: x is (1, 4, 1), expected 4 axes with 4 channels "
                         "in axis 1");
    ht_release(norm);
}

HT_TEST_SUITE(test_norm_layers, cmocka_unit_test(layers_normalise),
              cmocka_unit_test(parameters_are_those_of_the_settings),
              cmocka_unit_test(running_statistics_are_means_over_samples),
              cmocka_unit_test(running_statistics_of_a_split_batch),
              cmocka_unit_test(empty_batches_give_empty_results),
              cmocka_unit_test(bad_settings_are_errors), cmocka_unit_test(bad_inputs_are_errors));

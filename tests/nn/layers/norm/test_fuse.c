/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* A layer fused with its BatchNorm gives the same outputs in evaluation. */
#include <string.h>

#include "nn/nn_test.h"

static void fill(const char *name, ht_tensor *x, void *seed)
{
    ht_tensor *numbers = nn_leaf(++*(int *)seed, ht_tensor_ndim(x), ht_tensor_shape(x), HT_LOCAL);

    numbers = ht_detach(numbers);
    if (ht_tensor_dtype(x) == HT_INT64)
        return;
    if (strcmp(name, "running_var") == 0)
        numbers = ht_add_scalar(ht_abs(numbers), 0.25);
    assert_int_equal(ht_copy_(ht_detach(x), numbers), HT_SUCCESS);
}

/* In evaluation, with numbers that are not the first ones. */
static ht_module *filled(ht_module *layer, ht_dtype dtype, int seed)
{
    ht_module_to_dtype(layer, dtype);
    ht_module_named_parameters(layer, fill, &seed);
    ht_module_named_buffers(layer, fill, &seed);
    ht_module_eval(layer);
    return layer;
}

static void check(ht_module *conv, ht_module *bn, int ndim, const int64_t shape[], ht_dtype dtype,
                  double bound)
{
    ht_tensor *x = ht_astype(ht_detach(nn_leaf(7, ndim, shape, HT_LOCAL)), dtype), *expected, *y;
    ht_module *fused;

    filled(conv, dtype, 0);
    filled(bn, dtype, 10);
    expected = ht_forward(bn, ht_forward(conv, x));
    fused = ht_nn_fuse_conv_bn(conv, bn);
    assert_non_null(fused);
    assert_ptr_equal(ht_module_get_type(fused), ht_module_get_type(conv));
    y = ht_forward(fused, x);
    assert_true(ht_item(ht_max(ht_abs(ht_sub(y, expected)), HT_NONE)) < bound);
    assert_true(ht_tensor_requires_grad(ht_module_find_parameter(fused, "bias")));
    assert_true(ht_item(ht_norm(ht_sub(ht_forward(bn, ht_forward(conv, x)), expected))) == 0);
    ht_release(fused);
    ht_release(conv);
    ht_release(bn);
}

static ht_conv_options groups_of(int64_t groups)
{
    ht_conv_options options = ht_conv_options_default();

    options.groups = groups;
    return options;
}

static void fused_layers_give_the_same(void **state)
{
    ht_conv_options two = groups_of(2);
    ht_batch_norm_options plain = ht_batch_norm_options_default();
    const double bound = 1e-12;

    (void)state;
    plain.affine = false;
    check(ht_nn_linear(3, 4), ht_nn_batch_norm1d(4, NULL), HT_SHAPE(5, 3), HT_FLOAT64, bound);
    check(ht_nn_linear_ext(3, 4, false), ht_nn_batch_norm1d(4, &plain), HT_SHAPE(5, 3), HT_FLOAT64,
          bound);
    check(ht_nn_conv1d(4, 6, 2, &two, true), ht_nn_batch_norm1d(6, NULL), HT_SHAPE(2, 4, 5),
          HT_FLOAT64, bound);
    check(ht_nn_conv2d(2, 3, 2), ht_nn_batch_norm2d(3, NULL), HT_SHAPE(2, 2, 4, 4), HT_FLOAT64,
          bound);
    check(ht_nn_conv2d_ext(2, 3, 2, NULL, false), ht_nn_batch_norm2d(3, NULL), HT_SHAPE(2, 2, 4, 4),
          HT_FLOAT32, 1e-5);
    check(ht_nn_conv3d(1, 3, 2, NULL, false), ht_nn_batch_norm3d(3, NULL), HT_SHAPE(2, 1, 3, 3, 3),
          HT_FLOAT64, bound);
    check(ht_nn_conv_transpose1d(2, 3, 2, NULL, true), ht_nn_batch_norm1d(3, NULL),
          HT_SHAPE(2, 2, 4), HT_FLOAT64, bound);
    check(ht_nn_conv_transpose2d(4, 6, 2, &two, false), ht_nn_batch_norm2d(6, NULL),
          HT_SHAPE(2, 4, 3, 3), HT_FLOAT64, bound);
}

/* The bias that was made prints as one, and is part of states. */
static void a_fused_layer_has_a_bias(void **state)
{
    ht_module *conv = filled(ht_nn_conv2d_ext(1, 2, 1, NULL, false), HT_FLOAT32, 0);
    ht_module *bn = filled(ht_nn_batch_norm2d(2, NULL), HT_FLOAT32, 3), *fused, *plain;

    (void)state;
    fused = ht_nn_fuse_conv_bn(conv, bn);
    plain = ht_nn_conv2d(1, 2, 1);
    assert_int_equal(ht_module_load_state_dict(plain, ht_module_state_dict(fused)), HT_SUCCESS);
    assert_null(ht_module_find_parameter(conv, "bias"));
    ht_release(fused);
    ht_release(plain);
    ht_release(conv);
    ht_release(bn);
}

static void assert_refused(ht_module *conv, ht_module *bn, ht_status status, const char *message)
{
    assert_null(ht_nn_fuse_conv_bn(conv, bn));
    assert_int_equal(ht_error_get(NULL), status);
    nn_assert_error(message);
}

static void other_layers_are_refused(void **state)
{
    ht_module *conv = ht_nn_conv2d(2, 3, 1), *bn = ht_nn_batch_norm2d(3, NULL);
    ht_module *two = ht_nn_batch_norm2d(2, NULL), *relu = ht_nn_relu(), *grouped;
    ht_conv_options groups = groups_of(2);

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    ht_module_eval(two);
    assert_refused(NULL, bn, HT_ERR_ARGUMENT, "ht_nn_fuse_conv_bn: conv is NULL");
    assert_refused(conv, NULL, HT_ERR_ARGUMENT, "ht_nn_fuse_conv_bn: bn is NULL");
    assert_refused(relu, bn, HT_ERR_ARGUMENT,
                   "ht_nn_fuse_conv_bn: conv is ReLU, expected a convolution or a linear layer");
    assert_refused(conv, relu, HT_ERR_ARGUMENT,
                   "ht_nn_fuse_conv_bn: bn is ReLU, expected a BatchNorm with running statistics");
    assert_refused(conv, bn, HT_ERR_STATE,
                   "ht_nn_fuse_conv_bn: conv is in training, expected evaluation");
    ht_module_eval(conv);
    assert_refused(conv, bn, HT_ERR_STATE,
                   "ht_nn_fuse_conv_bn: bn is in training, expected evaluation");
    assert_refused(conv, two, HT_ERR_SHAPE,
                   "ht_nn_fuse_conv_bn: bn has 2 features, expected the output channels of conv");
    ht_module_eval(bn);
    grouped = ht_nn_conv_transpose2d(4, 6, 2, &groups, false);
    ht_module_eval(grouped);
    assert_refused(grouped, bn, HT_ERR_SHAPE,
                   "ht_nn_fuse_conv_bn: bn has 3 features, expected the output channels of conv");
    ht_release(grouped);
    ht_nn_spectral_norm(bn, "weight");
    assert_refused(conv, bn, HT_ERR_STATE,
                   "ht_nn_fuse_conv_bn: bn is parametrized, expected a layer without "
                   "parametrizations");
    ht_nn_weight_norm(conv, "weight", 0);
    assert_refused(conv, bn, HT_ERR_STATE,
                   "ht_nn_fuse_conv_bn: conv is parametrized, expected a layer without "
                   "parametrizations");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(conv);
    ht_release(bn);
    ht_release(two);
    ht_release(relu);
}

HT_TEST_SUITE(test_fuse, cmocka_unit_test(fused_layers_give_the_same),
              cmocka_unit_test(a_fused_layer_has_a_bias),
              cmocka_unit_test(other_layers_are_refused));

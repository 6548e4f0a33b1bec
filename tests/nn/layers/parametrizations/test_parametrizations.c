/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Weight and spectral normalisation give PyTorch's outputs, gradients and buffers. */
#include "golden/parametrizations.h"
#include "nn/nn_test.h"

static void assert_values(ht_tensor *x, const double *expected)
{
    ht_tensor *y = ht_array(expected, ht_tensor_ndim(x), ht_tensor_shape(x), HT_FLOAT64, HT_LOCAL);

    assert_true(ht_item(ht_max(ht_abs(ht_sub(ht_detach(x), y)), HT_NONE)) <= 1e-12);
}

/* The numbers of make_parametrizations.py. */
static ht_tensor *numbers(int seed, const ht_tensor *like)
{
    return ht_detach(nn_leaf(seed, ht_tensor_ndim(like), ht_tensor_shape(like), HT_LOCAL));
}

static void fill(const char *name, ht_tensor *x, void *seed)
{
    (void)name;
    ht_copy_(ht_detach(x), numbers(++*(int *)seed, x));
}

static ht_module *filled(ht_module *layer)
{
    int seed = 0;

    ht_module_to_dtype(layer, HT_FLOAT64);
    ht_module_named_parameters(layer, fill, &seed);
    return layer;
}

/* The expected result of a layer; NULL for an original or vector that does not exist. */
typedef struct expected {
    const double *y, *x, *original, *original0, *original1, *u, *v, *weight;
} expected;

static void assert_gradient(ht_module *layer, const char *path, const double *gradient)
{
    ht_tensor *x = ht_module_find_parameter(layer, path);

    assert_true((x == NULL) == (gradient == NULL));
    if (x != NULL)
        assert_values(ht_tensor_grad(x), gradient);
}

static void check(ht_module *layer, ht_tensor *x, expected e)
{
    ht_tensor *u = ht_module_find_buffer(layer, "parametrizations.weight.0._u");
    ht_tensor *v = ht_module_find_buffer(layer, "parametrizations.weight.0._v"), *y;

    assert_true((u != NULL) == (e.u != NULL) && (v != NULL) == (e.v != NULL));
    if (u != NULL) {
        ht_copy_(u, numbers(5, u));
        ht_copy_(v, numbers(6, v));
    }
    y = ht_forward(layer, x);
    assert_values(y, e.y);
    assert_int_equal(ht_backward(ht_sum(ht_mul(y, y), HT_NONE)), HT_SUCCESS);
    assert_values(ht_tensor_grad(x), e.x);
    assert_gradient(layer, "parametrizations.weight.original", e.original);
    assert_gradient(layer, "parametrizations.weight.original0", e.original0);
    assert_gradient(layer, "parametrizations.weight.original1", e.original1);
    if (u != NULL) {
        assert_values(u, e.u);
        assert_values(v, e.v);
    }
    ht_module_eval(layer);
    assert_values(ht_nn_parametrized(layer, "weight"), e.weight);
    ht_release(layer);
}

#define NORM(name)                                                   \
    (expected)                                                       \
    {                                                                \
        .y = name##_y, .x = name##_x, .original0 = name##_original0, \
        .original1 = name##_original1, .weight = name##_weight       \
    }
#define SPECTRAL(name)                                                                           \
    (expected)                                                                                   \
    {                                                                                            \
        .y = name##_y, .x = name##_x, .original = name##_original, .u = name##_u, .v = name##_v, \
        .weight = name##_weight                                                                  \
    }

static ht_tensor *rows(void)
{
    return nn_leaf(9, HT_SHAPE(2, 3), HT_LOCAL);
}

static ht_tensor *images(void)
{
    return nn_leaf(9, HT_SHAPE(2, 2, 3, 3), HT_LOCAL);
}

static ht_module *normed(ht_module *layer, int dim)
{
    assert_int_equal(ht_nn_weight_norm(filled(layer), "weight", dim), HT_SUCCESS);
    return layer;
}

static ht_module *spectral(ht_module *layer, int64_t iterations)
{
    assert_int_equal(iterations == 1 ? ht_nn_spectral_norm(filled(layer), "weight")
                                     : ht_nn_spectral_norm_ext(filled(layer), "weight", iterations,
                                                               1e-12, HT_NONE),
                     HT_SUCCESS);
    return layer;
}

static void weight_norm_is_that_of_pytorch(void **state)
{
    (void)state;
    check(normed(ht_nn_linear(3, 4), 0), rows(), NORM(norm_linear));
    check(normed(ht_nn_linear(3, 4), -1), rows(), NORM(norm_columns));
    check(normed(ht_nn_linear(3, 4), HT_NONE), rows(), NORM(norm_all));
    check(normed(ht_nn_conv2d(2, 3, 2), 0), images(), NORM(norm_conv));
}

static void spectral_norm_is_that_of_pytorch(void **state)
{
    (void)state;
    check(spectral(ht_nn_linear(3, 4), 1), rows(), SPECTRAL(spectral_linear));
    check(spectral(ht_nn_conv2d(2, 3, 2), 3), images(), SPECTRAL(spectral_conv));
    check(spectral(ht_nn_conv_transpose1d(2, 3, 2, NULL, true), 1),
          nn_leaf(9, HT_SHAPE(2, 2, 4), HT_LOCAL), SPECTRAL(spectral_transposed));
}

/* Evaluation does not change the vectors; two forwards in training have separate gradients. */
static void vectors_change_in_training_only(void **state)
{
    ht_module *layer = spectral(ht_nn_linear(3, 4), 1);
    ht_tensor *u = ht_module_find_buffer(layer, "parametrizations.weight.0._u"), *a, *b;
    ht_tensor *x = rows();

    (void)state;
    ht_copy_(u, numbers(5, u));
    ht_copy_(ht_module_find_buffer(layer, "parametrizations.weight.0._v"),
             numbers(6, ht_module_find_buffer(layer, "parametrizations.weight.0._v")));
    ht_module_eval(layer);
    assert_non_null(ht_forward(layer, x));
    assert_true(ht_item(ht_norm(ht_sub(u, numbers(5, u)))) == 0);
    ht_module_train(layer);
    a = ht_forward(layer, x);
    b = ht_forward(layer, x);
    assert_int_equal(ht_backward(ht_sum(ht_add(a, b), HT_NONE)), HT_SUCCESS);
    ht_release(layer);
}

/* The norm of a vector, and largest singular value 1 after the first iterations. */
static void spectral_norms_are_one(void **state)
{
    ht_module *layer = spectral(ht_nn_linear(3, 3), 20);
    ht_tensor *weight;

    (void)state;
    assert_int_equal(ht_nn_spectral_norm(layer, "bias"), HT_SUCCESS);
    for (int i = 0; i < 10; i++)
        weight = ht_nn_parametrized(layer, "weight");
    weight = ht_matmul(ht_transpose(weight, 0, 1), weight);
    for (int i = 0; i < 6; i++) /* the trace of the power 64 */
        weight = ht_matmul(weight, weight);
    assert_true(fabs(ht_item(ht_trace(weight, 0, 0, 1)) - 1) < 1e-6);
    assert_true(fabs(ht_item(ht_norm(ht_nn_parametrized(layer, "bias"))) - 1) < 1e-12);
    ht_release(layer);
}

/* The weights of a recurrent layer are taken by their places among its slots. */
static void recurrent_layers_can_be_normed(void **state)
{
    ht_module *lstm = ht_nn_lstm(3, 2), *plain = ht_nn_lstm(3, 2);
    ht_tensor *x = ht_astype(ht_detach(nn_leaf(1, HT_SHAPE(4, 2, 3), HT_LOCAL)), HT_FLOAT32), *y;

    (void)state;
    ht_module_load_state_dict(plain, ht_module_state_dict(lstm));
    assert_int_equal(ht_nn_weight_norm(lstm, "weight_hh_l0", 0), HT_SUCCESS);
    y = ht_forward(lstm, x);
    assert_true(ht_item(ht_norm(ht_sub(y, ht_forward(plain, x)))) < 1e-6);
    assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
    assert_non_null(
        ht_tensor_grad(ht_module_find_parameter(lstm, "parametrizations.weight_hh_l0.original0")));
    ht_release(lstm);
    ht_release(plain);
}

static void wrong_settings_are_refused(void **state)
{
    ht_module *layer = ht_nn_linear(3, 4);

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_int_equal(ht_nn_weight_norm(layer, "weight", 2), HT_ERR_ARGUMENT);
    nn_assert_error("ht_nn_weight_norm: dim 2 is outside weight of shape (4, 3)");
    assert_int_equal(ht_nn_weight_norm(layer, "scale", 0), HT_ERR_ARGUMENT);
    nn_assert_error("ht_nn_weight_norm: name is 'scale', expected a parameter of Linear");
    assert_int_equal(ht_nn_spectral_norm(NULL, "weight"), HT_ERR_ARGUMENT);
    nn_assert_error("ht_nn_spectral_norm: module is NULL");
    assert_int_equal(ht_nn_spectral_norm_ext(layer, "weight", 0, 1e-12, 0), HT_ERR_ARGUMENT);
    nn_assert_error("ht_nn_spectral_norm_ext: n_power_iterations is 0, expected at least 1");
    assert_int_equal(ht_nn_spectral_norm_ext(layer, "weight", 1, -1, 0), HT_ERR_ARGUMENT);
    nn_assert_error("ht_nn_spectral_norm_ext: eps is -1, expected a finite value of at least 0");
    assert_int_equal(ht_nn_spectral_norm_ext(layer, "weight", 1, 1e-12, 2), HT_ERR_ARGUMENT);
    nn_assert_error("ht_nn_spectral_norm_ext: dim 2 is outside weight of shape (4, 3)");
    assert_false(ht_nn_is_parametrized(layer, NULL));
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(layer);
}

HT_TEST_SUITE(test_parametrizations, cmocka_unit_test(weight_norm_is_that_of_pytorch),
              cmocka_unit_test(spectral_norm_is_that_of_pytorch),
              cmocka_unit_test(vectors_change_in_training_only),
              cmocka_unit_test(spectral_norms_are_one),
              cmocka_unit_test(recurrent_layers_can_be_normed),
              cmocka_unit_test(wrong_settings_are_refused));

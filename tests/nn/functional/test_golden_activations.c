/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Activations and their layers give PyTorch's values and gradients: at their bounds, of NaN and
 * infinities, and of empty batches; parameters out of range are errors. */
#include "golden/golden_case.h"
#include "golden/torch_activations.h"
#include "nn/nn_test.h"
#include "tensor_check.h"

/* clang-format off */
#define ONE(X) \
    X(relu, ht_relu, ht_nn_relu) \
    X(relu6, ht_relu6, ht_nn_relu6) \
    X(selu, ht_selu, ht_nn_selu) \
    X(gelu, ht_gelu, ht_nn_gelu) \
    X(gelu_tanh, ht_gelu_tanh, ht_nn_gelu_tanh) \
    X(silu, ht_silu, ht_nn_silu) \
    X(mish, ht_mish, ht_nn_mish) \
    X(sigmoid, ht_sigmoid, ht_nn_sigmoid) \
    X(logsigmoid, ht_logsigmoid, ht_nn_logsigmoid) \
    X(hardsigmoid, ht_hardsigmoid, ht_nn_hardsigmoid) \
    X(hardswish, ht_hardswish, ht_nn_hardswish) \
    X(softsign, ht_softsign, ht_nn_softsign) \
    X(tanhshrink, ht_tanhshrink, ht_nn_tanhshrink) \
    X(tanh, ht_tanh, ht_nn_tanh)
#define NUMBER(X) \
    X(leaky_relu, ht_leaky_relu, ht_nn_leaky_relu) \
    X(elu, ht_elu, ht_nn_elu) \
    X(celu, ht_celu, ht_nn_celu) \
    X(hardshrink, ht_hardshrink, ht_nn_hardshrink) \
    X(softshrink, ht_softshrink, ht_nn_softshrink)
#define NUMBERS(X) \
    X(softplus, ht_softplus, ht_nn_softplus) \
    X(hardtanh, ht_hardtanh, ht_nn_hardtanh) \
    X(threshold, ht_threshold, ht_nn_threshold)
#define AXIS(X) \
    X(softmax, ht_softmax, ht_nn_softmax) \
    X(softmin, ht_softmin, ht_nn_softmin) \
    X(log_softmax, ht_log_softmax, ht_nn_log_softmax) \
    X(glu, ht_glu, ht_nn_glu)

#define WRAP(f, call, layer) \
    static ht_tensor *call_##f(ht_tensor *in[], const double p[]) { (void)p; return call; } \
    static ht_module *layer_##f(const double p[]) { (void)p; return layer; }
#define OF_ONE(f, function, module) WRAP(f, function(in[0]), module())
#define OF_NUMBER(f, function, module) WRAP(f, function(in[0], p[0]), module(p[0]))
#define OF_NUMBERS(f, function, module) WRAP(f, function(in[0], p[0], p[1]), module(p[0], p[1]))
#define OF_AXIS(f, function, module) WRAP(f, function(in[0], (int)p[0]), module((int)p[0]))
ONE(OF_ONE) NUMBER(OF_NUMBER) NUMBERS(OF_NUMBERS) AXIS(OF_AXIS)
WRAP(softmax2d, ht_softmax(in[0], -3), ht_nn_softmax2d())

static ht_tensor *call_prelu(ht_tensor *in[], const double p[])
{
    (void)p;
    return ht_prelu(in[0], in[1]);
}

static ht_module *rrelu_in_evaluation(const double p[])
{
    ht_module *layer = ht_nn_rrelu(p[0], p[1]);

    ht_module_eval(layer);
    return layer;
}

static ht_tensor *call_rrelu(ht_tensor *in[], const double p[])
{
    return ht_rrelu(in[0], p[0], p[1], false, 0, 0);
}

#define ROW(f, function, module) {#f, call_##f, layer_##f},
static const golden_function functions[] = {
    ONE(ROW) NUMBER(ROW) NUMBERS(ROW) AXIS(ROW)
    {"prelu", call_prelu, NULL},
    {"rrelu_eval", call_rrelu, rrelu_in_evaluation},
    {"softmax2d", call_softmax2d, layer_softmax2d},
    {.name = NULL}};
/* clang-format on */

static void activations_are_those_of_pytorch(void **state)
{
    (void)state;
    golden_check(torch_activations, functions);
}

static void the_weight_of_prelu_is_learned(void **state)
{
    ht_module *layer = ht_nn_prelu(3, 0.5);
    ht_tensor *weight = ht_module_find_parameter(layer, "weight");
    ht_tensor *x = ht_tensor_local(
        ht_array((float[]){1, -2, -3}, HT_SHAPE(1, 3), HT_FLOAT32, HT_NONE));

    (void)state;
    assert_int_equal(ht_module_parameter_count(layer), 3);
    assert_int_equal(ht_backward(ht_sum(ht_forward(layer, x), HT_NONE)), HT_SUCCESS);
    ht_test_expect(ht_tensor_grad(weight), (double[]){0, -2, -3}, 0);
    ht_release(layer);
}

/* Along a split axis whose parts differ in length, or are empty. */
static void softmax_of_uneven_parts(void **state)
{
    ht_tensor *x = nn_leaf(1, HT_SHAPE(2, 3), HT_NONE);
    ht_tensor *split = ht_resplit(x, 1);

    (void)state;
    ht_test_expect_same(ht_softmax(split, 1), ht_softmax(x, 1), 1e-15);
    ht_test_expect_same(ht_log_softmax(split, 1), ht_log_softmax(x, 1), 1e-15);
    ht_test_expect_same(ht_sum(ht_softmin(split, 1), 1), ht_ones(HT_SHAPE(2), HT_FLOAT64, HT_NONE),
                        1e-15);
}

static void parameters_out_of_range_are_errors(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(4, 3), HT_FLOAT32, HT_NONE);
    ht_tensor *two = ht_ones(HT_SHAPE(2), HT_FLOAT32, HT_NONE);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_hardtanh(x, 1, -1), HT_ERR_ARGUMENT,
                         "ht_hardtanh: min is 1, expected at most max");
    HT_TEST_EXPECT_ERROR(ht_softshrink(x, -0.5), HT_ERR_ARGUMENT,
                         "ht_softshrink: lambda is -0.5, expected at least 0");
    HT_TEST_EXPECT_ERROR(ht_celu(x, 0), HT_ERR_ARGUMENT,
                         "ht_celu: alpha is 0, expected a value other than 0");
    HT_TEST_EXPECT_ERROR(ht_rrelu(x, 0.5, 0.25, true, 0, 0), HT_ERR_ARGUMENT,
                         "ht_rrelu: lower is 0.5, expected at most upper");
    HT_TEST_EXPECT_ERROR(ht_glu(x, 1), HT_ERR_SHAPE,
                         "ht_glu: axis 1 of x (4, 3) is 3 long, expected an even length");
    HT_TEST_EXPECT_ERROR(ht_softmax(x, 2), HT_ERR_ARGUMENT, "ht_softmax: ");
    HT_TEST_EXPECT_ERROR(ht_log_softmax(ht_sum(x, HT_NONE), 1), HT_ERR_ARGUMENT,
                         "ht_log_softmax: ");
    HT_TEST_EXPECT_ERROR(
        ht_prelu(x, two), HT_ERR_SHAPE,
        "ht_prelu: weight has 2 elements, expected 1 or 3, the channels of x (4, 3)");
    HT_TEST_EXPECT_ERROR(ht_nn_prelu(0, 0.25), HT_ERR_ARGUMENT,
                         "ht_nn_prelu: num_parameters is 0, expected at least 1");
}

static void softmax2d_takes_images(void **state)
{
    ht_module *layer = ht_nn_softmax2d();

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_forward(layer, ht_ones(HT_SHAPE(4, 3), HT_FLOAT32, HT_NONE)),
                         HT_ERR_SHAPE, "x is (4, 3), expected (N, C, H, W) or (C, H, W)");
    ht_release(layer);
}

HT_TEST_SUITE(test_golden_activations, cmocka_unit_test(activations_are_those_of_pytorch),
              cmocka_unit_test(the_weight_of_prelu_is_learned),
              cmocka_unit_test(softmax_of_uneven_parts),
              cmocka_unit_test(parameters_out_of_range_are_errors),
              cmocka_unit_test(softmax2d_takes_images));

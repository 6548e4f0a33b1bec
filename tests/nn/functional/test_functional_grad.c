/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Gradients of the functional layers by finite differences, on inputs replicated and split. */
#include "core/tensor/graph.h"
#include "gradcheck.h"
#include "nn/nn_test.h"

#define TOLERANCE 1e-7

static const int splits[] = {HT_NONE, 0};

static ht_tensor *relu(ht_tensor *in[], void *user)
{
    (void)user;
    return ht_relu(in[0]);
}

static ht_tensor *relu_in_place(ht_tensor *in[], void *user)
{
    (void)user;
    return ht_relu_(ht_mul_scalar(in[0], 1.5));
}

static ht_tensor *leaky_relu(ht_tensor *in[], void *slope)
{
    return ht_leaky_relu(in[0], *(double *)slope);
}

/* One gradient reaches several layers that might write over it. */
static ht_tensor *shared_gradient(ht_tensor *in[], void *user)
{
    ht_tensor *a = ht_relu(in[0]), *b = ht_relu(ht_mul_scalar(in[0], -2.0));

    (void)user;
    return ht_add(ht_add(a, ht_dropout(in[0], 0.5, 3, 1)), ht_add(b, a));
}

static void test_shared_gradient(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        ht_tensor *x = nn_leaf(1, HT_SHAPE(5, 3), splits[s]);

        ht_gradcheck(shared_gradient, 1, &x, NULL, TOLERANCE);
    }
}

static void test_leaky_relu(void **state)
{
    double slopes[] = {0.01, 0, -1.5};

    (void)state;
    for (int s = 0; s < 2; s++) {
        for (int i = 0; i < 3; i++) {
            ht_tensor *x = nn_leaf(1, HT_SHAPE(5, 3), splits[s]);

            ht_gradcheck(leaky_relu, 1, &x, &slopes[i], TOLERANCE);
        }
    }
}

static void test_relu(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        ht_tensor *x = nn_leaf(1, HT_SHAPE(5, 3), splits[s]);

        ht_gradcheck(relu, 1, &x, NULL, TOLERANCE);
        ht_gradcheck(relu_in_place, 1, &x, NULL, TOLERANCE);
    }
}

static ht_tensor *linear(ht_tensor *in[], void *user)
{
    (void)user;
    return ht_linear(in[0], in[1], in[2]);
}

static ht_tensor *linear_no_bias(ht_tensor *in[], void *user)
{
    (void)user;
    return ht_linear(in[0], in[1], NULL);
}

static void test_linear(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        ht_tensor *in[] = {nn_leaf(1, HT_SHAPE(5, 3), splits[s]),
                           nn_leaf(2, HT_SHAPE(4, 3), HT_NONE), nn_leaf(3, HT_SHAPE(4), HT_NONE)};

        ht_gradcheck(linear, 3, in, NULL, TOLERANCE);
        ht_gradcheck(linear_no_bias, 2, in, NULL, TOLERANCE);
        in[0] = nn_leaf(4, HT_SHAPE(3, 2, 3), splits[s]);
        ht_gradcheck(linear, 3, in, NULL, TOLERANCE);
    }
}

/* A weight that is a view, and an input that is not contiguous. */
static ht_tensor *linear_of_views(ht_tensor *in[], void *user)
{
    (void)user;
    return ht_linear(ht_transpose(in[0], 0, 1), ht_transpose(in[1], 0, 1), NULL);
}

static void test_linear_of_views(void **state)
{
    ht_tensor *in[] = {nn_leaf(1, HT_SHAPE(3, 5), HT_NONE), nn_leaf(2, HT_SHAPE(3, 4), HT_NONE)};

    (void)state;
    ht_gradcheck(linear_of_views, 2, in, NULL, TOLERANCE);
    in[0] = nn_leaf(1, HT_SHAPE(3, 5), 1);
    ht_gradcheck(linear_of_views, 2, in, NULL, TOLERANCE);
}

static ht_tensor *conv2d(ht_tensor *in[], void *options)
{
    return ht_conv2d(in[0], in[1], in[2], options);
}

static ht_tensor *conv2d_channels_last(ht_tensor *in[], void *options)
{
    return ht_conv2d(ht_channels_last(in[0]), in[1], in[2], options);
}

static void test_conv2d(void **state)
{
    ht_conv2d_options options = ht_conv2d_options_default();

    (void)state;
    for (int s = 0; s < 2; s++) {
        ht_tensor *in[] = {nn_leaf(1, HT_SHAPE(3, 2, 4, 5), splits[s]),
                           nn_leaf(2, HT_SHAPE(3, 2, 2, 3), HT_NONE),
                           nn_leaf(3, HT_SHAPE(3), HT_NONE)};

        ht_gradcheck(conv2d, 3, in, NULL, TOLERANCE);
        ht_gradcheck(conv2d_channels_last, 3, in, NULL, TOLERANCE);
    }
    ht_tensor *in[] = {nn_leaf(1, HT_SHAPE(2, 4, 5, 5), 0),
                       nn_leaf(2, HT_SHAPE(4, 2, 2, 2), HT_NONE), nn_leaf(3, HT_SHAPE(4), HT_NONE)};
    options.stride[0] = 2;
    options.padding[0] = options.padding[1] = 1;
    options.dilation[1] = 2;
    options.groups = 2;
    ht_gradcheck(conv2d, 3, in, &options, TOLERANCE);
    ht_gradcheck(conv2d_channels_last, 3, in, &options, TOLERANCE);
}

static ht_tensor *max_pool(ht_tensor *in[], void *user)
{
    (void)user;
    return ht_max_pool2d(in[0], 2);
}

static ht_tensor *max_pool_overlapping(ht_tensor *in[], void *user)
{
    (void)user;
    return ht_max_pool2d_ext(ht_channels_last(in[0]), (int64_t[]){3, 2}, (int64_t[]){2, 1},
                             (int64_t[]){1, 1}, (int64_t[]){1, 2});
}

static void test_max_pool2d(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        ht_tensor *x = nn_leaf(1, HT_SHAPE(3, 2, 5, 4), splits[s]);

        ht_gradcheck(max_pool, 1, &x, NULL, TOLERANCE);
        ht_gradcheck(max_pool_overlapping, 1, &x, NULL, TOLERANCE);
    }
}

static ht_tensor *dropout(ht_tensor *in[], void *user)
{
    (void)user;
    return ht_dropout(in[0], 0.4, 7, 3);
}

static ht_tensor *dropout2d(ht_tensor *in[], void *user)
{
    (void)user;
    return ht_dropout2d(ht_channels_last(in[0]), 0.4, 7, 3);
}

static void test_dropout(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        ht_tensor *x = nn_leaf(1, HT_SHAPE(5, 3, 2, 2), splits[s]);

        ht_gradcheck(dropout, 1, &x, NULL, TOLERANCE);
        ht_gradcheck(dropout2d, 1, &x, NULL, TOLERANCE);
    }
}

static ht_tensor *log_softmax(ht_tensor *in[], void *axis)
{
    return ht_log_softmax(in[0], *(int *)axis);
}

static void test_log_softmax(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        for (int axis = -1; axis <= 1; axis++) {
            ht_tensor *x = nn_leaf(1, HT_SHAPE(4, 3, 2), axis == 0 ? HT_NONE : splits[s]);

            ht_gradcheck(log_softmax, 1, &x, &axis, TOLERANCE);
        }
    }
}

struct loss {
    ht_tensor *target;
    ht_reduction_mode mode;
};

static ht_tensor *nll(ht_tensor *in[], void *user)
{
    struct loss *loss = user;

    return ht_nll_loss(in[0], loss->target, loss->mode);
}

static ht_tensor *cross_entropy(ht_tensor *in[], void *user)
{
    struct loss *loss = user;

    return ht_cross_entropy(in[0], loss->target, loss->mode);
}

static ht_tensor *mse(ht_tensor *in[], void *user)
{
    struct loss *loss = user;

    return ht_mse_loss(in[0], in[1], loss->mode);
}

static void test_mse_loss(void **state)
{
    struct loss loss;

    (void)state;
    for (int s = 0; s < 4; s++) {
        ht_tensor *x[2] = {nn_leaf(1, HT_SHAPE(5, 3), splits[s % 2]),
                           nn_leaf(2, HT_SHAPE(5, 3), splits[s / 2])};

        for (loss.mode = HT_MEAN; loss.mode <= HT_NO_REDUCTION; loss.mode++)
            ht_gradcheck(mse, 2, x, &loss, TOLERANCE);
    }
}

static void test_losses(void **state)
{
    const int64_t classes[5] = {2, 0, 1, 1, 2};
    struct loss loss;

    (void)state;
    for (int s = 0; s < 4; s++) {
        ht_tensor *x = nn_leaf(1, HT_SHAPE(5, 3), splits[s % 2]);

        loss.target = ht_array(classes, HT_SHAPE(5), HT_INT64, splits[s / 2]);
        for (loss.mode = HT_MEAN; loss.mode <= HT_NO_REDUCTION; loss.mode++) {
            ht_gradcheck(nll, 1, &x, &loss, TOLERANCE);
            ht_gradcheck(cross_entropy, 1, &x, &loss, TOLERANCE);
        }
    }
}

struct order {
    int events, weight, input; /* which event it was, from 1 */
};

static void weight_ready(ht_tensor *leaf, void *user)
{
    struct order *order = user;

    (void)leaf;
    order->weight = ++order->events;
}

static ht_tensor *input_arrives(ht_tensor *grad, void *user)
{
    struct order *order = user;

    (void)grad;
    order->input = ++order->events;
    return NULL;
}

/* A reducer hears of a layer's weight before the gradient of the layer's input is there, and sends
 * it meanwhile. A program's hook may change the weight, which that gradient is made of: it comes
 * after the layer. */
static void test_weights_of_a_linear_layer_come_first(void **state)
{
    (void)state;
    for (int early = 0; early < 2; early++) {
        ht_tensor *x = nn_leaf(1, HT_SHAPE(5, 3), HT_NONE);
        ht_tensor *weight = nn_leaf(2, HT_SHAPE(4, 3), HT_NONE);
        struct order order = {0};

        ht_tensor_register_hook(x, input_arrives, &order);
        if (early)
            ht__register_early_hook(weight, weight_ready, NULL, NULL, &order);
        else
            ht_tensor_register_grad_ready_hook(weight, weight_ready, &order);
        assert_int_equal(ht_backward(ht_sum(ht_linear(x, weight, NULL), HT_NONE)), HT_SUCCESS);
        assert_int_equal(order.weight, early ? 1 : 2);
        assert_int_equal(order.input, early ? 2 : 1);
    }
}

HT_TEST_SUITE(test_functional_grad, cmocka_unit_test(test_relu), cmocka_unit_test(test_leaky_relu),
              cmocka_unit_test(test_shared_gradient), cmocka_unit_test(test_linear),
              cmocka_unit_test(test_linear_of_views), cmocka_unit_test(test_conv2d),
              cmocka_unit_test(test_max_pool2d), cmocka_unit_test(test_dropout),
              cmocka_unit_test(test_log_softmax), cmocka_unit_test(test_losses),
              cmocka_unit_test(test_mse_loss),
              cmocka_unit_test(test_weights_of_a_linear_layer_come_first));

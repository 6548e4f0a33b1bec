/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Gradients that several functionals share or reach in order; those of each one alone are tested by
 * test_functionals.c. */
#include "core/tensor/graph.h"
#include "gradcheck.h"
#include "nn/nn_test.h"

#define TOLERANCE 1e-7

static const int splits[] = {HT_NONE, 0};

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

        ht_test_gradcheck(shared_gradient, 1, &x, NULL, TOLERANCE);
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
    ht_test_gradcheck(linear_of_views, 2, in, NULL, TOLERANCE);
    in[0] = nn_leaf(1, HT_SHAPE(3, 5), 1);
    ht_test_gradcheck(linear_of_views, 2, in, NULL, TOLERANCE);
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

/* A reducer gets a layer's weight gradient before that of the layer's input is there, and sends it
 * meanwhile. A program's hook may change the weight, which that gradient is made of: it comes after
 * the layer. */
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

HT_TEST_SUITE(test_functional_grad, cmocka_unit_test(test_shared_gradient),
              cmocka_unit_test(test_linear_of_views),
              cmocka_unit_test(test_weights_of_a_linear_layer_come_first));

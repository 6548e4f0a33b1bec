/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* The search for NaN in backward passes. */
#include <math.h>

#include "ht.h"
#include "ht_test.h"
#include "tensor_check.h"

/* Its last element is 0, where the derivative of the square root is infinite. */
static ht_tensor *roots_of(int split, ht_tensor **x)
{
    *x = ht_array((double[]){4, 1, 9, 16, 0}, HT_SHAPE(5), HT_FLOAT64, split);
    ht_tensor_set_requires_grad(*x, true);
    return ht_sqrt(*x);
}

/* The gradient of the root is 0, and 0 / 0 is NaN: on one rank alone where x is split. */
static ht_tensor *loss_of(int split, ht_tensor **x)
{
    return ht_sum(ht_mul_scalar(roots_of(split, x), 0), HT_NONE);
}

static void a_nan_ends_the_pass_on_all_ranks(void **state)
{
    const int splits[] = {HT_NONE, 0};

    (void)state;
    assert_false(ht_set_detect_anomaly(true));
    assert_true(ht_is_anomaly_enabled());
    for (int i = 0; i < 2; i++) {
        ht_tensor *x, *loss = loss_of(splits[i], &x);

        HT_TEST_EXPECT_ERROR(ht_backward(loss), HT_ERR_ARGUMENT,
                             "ht_backward: the gradient of ht_sqrt for its operand 0, ");
        assert_null(ht_tensor_grad(x));
    }
    assert_true(ht_set_detect_anomaly(false));
}

static void without_it_the_pass_goes_on(void **state)
{
    ht_tensor *x;

    (void)state;
    assert_false(ht_is_anomaly_enabled());
    assert_int_equal(ht_backward(loss_of(0, &x)), HT_SUCCESS);
    ht_test_expect(ht_tensor_grad(x), (double[]){0, 0, 0, 0, NAN}, 0);
}

static void other_numbers_pass(void **state)
{
    ht_tensor *x, *y;

    (void)state;
    ht_set_detect_anomaly(true);
    y = ht_sum(roots_of(0, &x), HT_NONE);
    assert_int_equal(ht_backward_ext(y, NULL, true), HT_SUCCESS);
    assert_int_equal(ht_backward(y), HT_SUCCESS);
    ht_set_detect_anomaly(false);
    ht_test_expect(ht_tensor_grad(x), (double[]){.5, 1, 1. / 3, .25, INFINITY}, 1e-15);
}

static ht_tensor *root(ht_module *self, ht_tensor *x)
{
    (void)self;
    return ht_sqrt(x);
}

static const ht_module_type root_type = {.name = "Root", .forward = root};

static void the_message_names_the_layer(void **state)
{
    ht_module *net = ht_nn_sequential(
        2, (ht_module *[]){ht_module_new(0, &root_type), ht_nn_identity()});
    ht_tensor *x;

    (void)state;
    roots_of(0, &x);
    ht_set_detect_anomaly(true);
    HT_TEST_EXPECT_ERROR(ht_backward(ht_sum(ht_mul_scalar(ht_forward(net, x), 0), HT_NONE)),
                         HT_ERR_ARGUMENT, "ht_backward in 0: the gradient of ht_sqrt");
    ht_set_detect_anomaly(false);
    ht_release(net);
}

HT_TEST_SUITE(test_anomaly, cmocka_unit_test(a_nan_ends_the_pass_on_all_ranks),
              cmocka_unit_test(without_it_the_pass_goes_on), cmocka_unit_test(other_numbers_pass),
              cmocka_unit_test(the_message_names_the_layer));

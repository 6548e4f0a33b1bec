/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Comparisons of gradients with central differences. */
#include <math.h>

#include "ht.h"
#include "ht_test.h"
#include "tensor_check.h"

static ht_tensor *leaf(ht_dtype dtype, int split)
{
    ht_tensor *x = ht_add_scalar(ht_arange(0, 6, 1, HT_FLOAT64, HT_NONE), 0.5);

    x = ht_copy(ht_resplit(ht_astype(ht_reshape(x, HT_SHAPE(3, 2)), dtype), split));
    assert_int_equal(ht_tensor_set_requires_grad(x, true), HT_SUCCESS);
    return x;
}

/* Twice the derivative of element 3, and right elsewhere. */
static void square_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *factor = ht_array((double[]){2, 2, 2, 4, 2, 2}, HT_SHAPE(3, 2), HT_FLOAT64, HT_NONE);

    gin[0] = ht_mul(ht_mul(g, factor), ht_node_saved(node, 0));
}

static ht_tensor *wrong_square(ht_tensor *in[], void *user)
{
    const bool was = ht_set_grad_enabled(false);
    ht_tensor *y = ht_mul(in[0], in[0]);
    ht_node *node;

    (void)user;
    ht_set_grad_enabled(was);
    node = ht_node_new("wrong_square", square_backward, 1, in);
    ht_node_save(node, in[0]);
    return ht_node_set_output(node, y);
}

static ht_tensor *quotient(ht_tensor *in[], void *user)
{
    (void)user;
    return ht_div(ht_exp(ht_mul_scalar(in[0], 0.1)), in[1]);
}

static ht_tensor *first(ht_tensor *in[], void *user)
{
    (void)user;
    return ht_mul_scalar(in[0], 3);
}

static ht_tensor *nothing(ht_tensor *in[], void *user)
{
    (void)in;
    (void)user;
    return NULL;
}

static const int splits[] = {HT_NONE, 0, 1};

/* The inputs keep their values and gradients, to the last bit. */
static void right_gradients_pass(void **state)
{
    const ht_dtype dtypes[] = {HT_FLOAT64, HT_COMPLEX128};

    (void)state;
    for (int job = 0; job < 6; job++) {
        ht_tensor *in[2] = {leaf(dtypes[job / 3], splits[job % 3]), leaf(HT_FLOAT64, HT_NONE)};
        ht_tensor *before = ht_detach(ht_copy(in[0])), *grad = ht_ones_like(in[0]);
        bool equal = false;

        ht_tensor_set_grad(in[0], grad);
        assert_int_equal(ht_gradcheck(quotient, 2, in, NULL, NULL), HT_SUCCESS);
        assert_int_equal(ht_equal(in[0], before, &equal), HT_SUCCESS);
        assert_true(equal);
        assert_ptr_equal(ht_tensor_grad(in[0]), grad);
        assert_null(ht_tensor_grad(in[1]));
    }
}

static void an_input_without_a_use_has_the_gradient_0(void **state)
{
    ht_tensor *in[2] = {leaf(HT_FLOAT64, 0), leaf(HT_FLOAT64, 0)};

    (void)state;
    assert_int_equal(ht_gradcheck(first, 2, in, NULL, NULL), HT_SUCCESS);
}

/* A zeroed gradient is still none, and the next one takes its memory. */
static void gradcheck_restores_gradients(void **state)
{
    ht_tensor *in[2] = {leaf(HT_FLOAT64, 0), leaf(HT_FLOAT64, 0)};
    ht_tensor *memory = ht_ones_like(in[0]), *kept = ht_ones_like(in[1]);
    ht_value *list = ht_value_list();
    ht_optimizer *sgd;

    (void)state;
    ht_value_append(list, ht_value_tensor(in[0]));
    sgd = ht_optim_sgd(list, 0.1, NULL);
    ht_tensor_set_grad(in[0], memory);
    ht_optimizer_zero_grad(sgd);
    ht_tensor_set_grad(in[1], kept);
    ht_tensor_set_requires_grad(in[1], false);
    assert_int_equal(ht_gradcheck(quotient, 2, in, NULL, NULL), HT_SUCCESS);
    assert_ptr_equal(ht_tensor_grad(in[1]), kept);
    assert_null(ht_tensor_grad(in[0]));
    assert_int_equal(ht_backward(ht_sum(ht_square(in[0]), HT_NONE)), HT_SUCCESS);
    assert_ptr_equal(ht_tensor_grad(in[0]), memory);
    ht_release(sgd);
}

static void a_wrong_gradient_is_named(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        ht_tensor *x = leaf(HT_FLOAT64, splits[i]), *before = ht_detach(ht_copy(x));
        bool equal = false;

        HT_TEST_EXPECT_ERROR(ht_gradcheck(wrong_square, 1, &x, NULL, NULL), HT_ERR_ARGUMENT,
                             "ht_gradcheck: the gradient of input 0 at element 3 is ");
        assert_int_equal(ht_equal(x, before, &equal), HT_SUCCESS);
        assert_true(equal);
        assert_null(ht_tensor_grad(x));
    }
}

static void the_bounds_are_those_of_the_options(void **state)
{
    ht_gradcheck_options options = ht_gradcheck_options_default();
    ht_tensor *x = leaf(HT_FLOAT64, 0);

    (void)state;
    options.rtol = 1.001; /* twice as much is as far off as the difference itself */
    assert_int_equal(ht_gradcheck(wrong_square, 1, &x, NULL, &options), HT_SUCCESS);
    options.rtol = 0.99;
    HT_TEST_EXPECT_ERROR(ht_gradcheck(wrong_square, 1, &x, NULL, &options), HT_ERR_ARGUMENT,
                         "at element 3");
    options.atol = 10;
    assert_int_equal(ht_gradcheck(wrong_square, 1, &x, NULL, &options), HT_SUCCESS);
    options.eps = 0;
    HT_TEST_EXPECT_ERROR(ht_gradcheck(wrong_square, 1, &x, NULL, &options), HT_ERR_ARGUMENT,
                         "ht_gradcheck: eps is 0, expected more than 0");
    options.eps = INFINITY;
    HT_TEST_EXPECT_ERROR(ht_gradcheck(wrong_square, 1, &x, NULL, &options), HT_ERR_ARGUMENT,
                         "eps is inf, expected more than 0 and finite");
    options = ht_gradcheck_options_default();
    options.atol = -1;
    HT_TEST_EXPECT_ERROR(ht_gradcheck(wrong_square, 1, &x, NULL, &options), HT_ERR_ARGUMENT,
                         "atol is -1, expected at least 0");
    options = ht_gradcheck_options_default();
    options.rtol = NAN;
    HT_TEST_EXPECT_ERROR(ht_gradcheck(wrong_square, 1, &x, NULL, &options), HT_ERR_ARGUMENT,
                         "rtol is nan, expected at least 0");
    options.size = 0;
    HT_TEST_EXPECT_ERROR(ht_gradcheck(wrong_square, 1, &x, NULL, &options), HT_ERR_ARGUMENT,
                         "ht_gradcheck_options_default");
}

static void wrong_inputs_are_refused(void **state)
{
    ht_tensor *single = leaf(HT_FLOAT32, 0), *x = leaf(HT_FLOAT64, 0), *y = ht_exp(x);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_gradcheck(first, 1, &single, NULL, NULL), HT_ERR_DTYPE,
                         "input 0 is float32, expected float64 or complex128");
    HT_TEST_EXPECT_ERROR(ht_gradcheck(first, 1, &y, NULL, NULL), HT_ERR_STATE, "expected a leaf");
    HT_TEST_EXPECT_ERROR(ht_gradcheck(NULL, 1, &x, NULL, NULL), HT_ERR_ARGUMENT, "f is NULL");
    HT_TEST_EXPECT_ERROR(ht_gradcheck(first, -5, &x, NULL, NULL), HT_ERR_ARGUMENT,
                         "ht_gradcheck: count is -5, expected at least 0");
    HT_TEST_EXPECT_ERROR(ht_gradcheck(first, 1, NULL, NULL, NULL), HT_ERR_ARGUMENT,
                         "ht_gradcheck: inputs is NULL and count is 1, expected a list or 0");
    HT_TEST_EXPECT_ERROR(ht_gradcheck(nothing, 1, &x, NULL, NULL), HT_ERR_ARGUMENT,
                         "the result of f is NULL");
}

HT_TEST_SUITE(test_gradcheck, cmocka_unit_test(right_gradients_pass),
              cmocka_unit_test(an_input_without_a_use_has_the_gradient_0),
              cmocka_unit_test(gradcheck_restores_gradients),
              cmocka_unit_test(a_wrong_gradient_is_named),
              cmocka_unit_test(the_bounds_are_those_of_the_options),
              cmocka_unit_test(wrong_inputs_are_refused));

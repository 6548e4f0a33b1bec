/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Layers of activations give what their functions give; exact values and derivatives. */
#include <string.h>

#include "activation_rows.h"
#include "elementwise.h"
#include "golden/activations.h"
#include "nn/nn_test.h"
#include "tensor_check.h"

enum { COUNT = sizeof activation_x / sizeof *activation_x };

static void layers_call_their_functions(void **state)
{
    (void)state;
    for (const ht_test_function *f = ht_test_functions; f->name != NULL; f++) {
        ht_module *layer = f->layer != NULL ? f->layer() : NULL;
        ht_tensor *x = nn_leaf(1, HT_SHAPE(5, 3), 0);

        if (layer == NULL)
            continue;
        ht_test_expect_same(ht_forward(layer, x), f->call(x), 0);
        assert_int_equal(ht_module_parameter_count(layer), 0);
        ht_release(layer);
    }
}

/* clang-format off */
ACTIVATIONS_OF_X(VALUE_OF_X)
#define ROW_OF_X(f, function, layer, value, slope, ...) {function, layer, f, f##_slope},
/* clang-format on */

static const struct {
    ht_tensor *(*call)(ht_tensor *x);
    ht_module *(*layer)(void);
    double (*value)(double x);
    double (*slope)(double x);
} of_x[] = {ACTIVATIONS_OF_X(ROW_OF_X)};

static void compositions_are_those_of_their_formulas(void **state)
{
    enum { N = 8 };
    const double at[N] = {-20, -3.5, -1.25, -0.375, 0.375, 1.25, 3.5, 20};
    double y[N], dx[N];

    (void)state;
    for (size_t i = 0; i < sizeof of_x / sizeof *of_x; i++) {
        ht_tensor *x = ht_array(at, HT_SHAPE(N), HT_FLOAT64, 0), *result;
        ht_module *layer = of_x[i].layer();

        for (int k = 0; k < N; k++) {
            y[k] = of_x[i].value(at[k]);
            dx[k] = of_x[i].slope(at[k]);
        }
        ht_tensor_set_requires_grad(x, true);
        result = of_x[i].call(x);
        ht_test_expect(result, y, 1e-15);
        assert_int_equal(ht_backward(ht_sum(result, HT_NONE)), HT_SUCCESS);
        ht_test_expect(ht_tensor_grad(x), dx, 2e-15);
        ht_test_expect_same(ht_forward(layer, x), result, 0);
        ht_release(layer);
    }
}

static void check(ht_tensor *(*f)(ht_tensor *), const double *y, const double *dx, int split)
{
    ht_tensor *x = ht_array(activation_x, HT_SHAPE(COUNT), HT_FLOAT64, split), *result;

    ht_tensor_set_requires_grad(x, true);
    result = f(x);
    ht_test_expect(result, y, 1e-15);
    assert_int_equal(ht_backward(ht_sum(result, HT_NONE)), HT_SUCCESS);
    ht_test_expect(ht_tensor_grad(x), dx, 2e-15);
}

static void values_and_derivatives_are_exact(void **state)
{
    (void)state;
    for (int split = HT_NONE;; split = 0) {
        check(ht_gelu, gelu_y, gelu_dx, split);
        check(ht_silu, silu_y, silu_dx, split);
        if (split == 0)
            break;
    }
}

/* For each function of the table that has a kernel of its gradient. */
#define FOR_EACH(f)                                                           \
    for (const ht_test_function *f = ht_test_functions; f->name != NULL; f++) \
        if (f->call != NULL && f->grad != 0)

static ht_tensor *leaf_of(ht_dtype dtype, int layout)
{
    ht_tensor *x = ht_astype(nn_leaf(1, HT_SHAPE(7, 4), layout == 1 ? 0 : HT_NONE), dtype);

    x = ht_detach(layout == 2 ? ht_transpose(x, 0, 1) : x);
    assert_int_equal(ht_tensor_set_requires_grad(x, true), HT_SUCCESS);
    return x;
}

/* Whether or not a gradient is recorded, of any layout. */
static void values_are_the_same_without_a_gradient(void **state)
{
    (void)state;
    FOR_EACH(f)
    for (ht_dtype dtype = HT_FLOAT16; dtype <= HT_FLOAT64; dtype++)
        for (int layout = 0; layout < 3; layout++) {
            ht_tensor *x = leaf_of(dtype, layout), *y = f->call(x);

            assert_true(ht_tensor_requires_grad(y));
            ht_test_expect_same(y, f->call(ht_detach(x)), 0);
        }
}

/* A graph that is kept gives the same gradient again: twice of it are in the leaf. */
static void kept_graphs_give_the_same_gradient_again(void **state)
{
    (void)state;
    FOR_EACH(f)
    for (ht_dtype dtype = HT_FLOAT16; dtype <= HT_FLOAT64; dtype++) {
        ht_tensor *x = leaf_of(dtype, 1), *sum = ht_sum(f->call(x), HT_NONE), *once;

        assert_int_equal(ht_backward_ext(sum, NULL, true), HT_SUCCESS);
        once = ht_copy(ht_tensor_grad(x));
        assert_int_equal(ht_backward(sum), HT_SUCCESS);
        ht_test_expect_same(ht_tensor_grad(x), ht_mul_scalar(once, 2), 0);
    }
}

/* The gradient of several factors is the slope times each, on parts of any layout. */
static void gradients_are_products_with_the_slope(void **state)
{
    (void)state;
    FOR_EACH(f)
    for (ht_dtype dtype = HT_FLOAT32; dtype <= HT_FLOAT64; dtype++)
        for (int layout = 0; layout < 3; layout++) {
            ht_tensor *x = leaf_of(dtype, layout), *y = f->call(x);
            ht_tensor *g = ht_sub_scalar(ht_mul_scalar(ht_detach(x), 3), 0.5), *slope;

            assert_int_equal(ht_backward_ext(y, ht_ones_like(y), true), HT_SUCCESS);
            slope = ht_copy(ht_tensor_grad(x));
            assert_int_equal(ht_tensor_set_grad(x, NULL), HT_SUCCESS);
            assert_int_equal(ht_backward_ext(y, g, false), HT_SUCCESS);
            ht_test_expect_same(ht_tensor_grad(x), ht_mul(g, slope),
                                dtype == HT_FLOAT32 ? 1e-6 : 1e-14);
        }
}

HT_TEST_SUITE(test_activation, cmocka_unit_test(layers_call_their_functions),
              cmocka_unit_test(compositions_are_those_of_their_formulas),
              cmocka_unit_test(values_and_derivatives_are_exact),
              cmocka_unit_test(values_are_the_same_without_a_gradient),
              cmocka_unit_test(kept_graphs_give_the_same_gradient_again),
              cmocka_unit_test(gradients_are_products_with_the_slope));

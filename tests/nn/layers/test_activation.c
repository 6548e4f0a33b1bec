/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Layers of activations give what their functions give; exact values and derivatives. */
#include <string.h>

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

HT_TEST_SUITE(test_activation, cmocka_unit_test(layers_call_their_functions),
              cmocka_unit_test(values_and_derivatives_are_exact));

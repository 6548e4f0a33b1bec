/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

/* y = factor a b, an operation as a program defines it. */
static void product_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const double *factor = ht_node_context(node, sizeof *factor);
    ht_tensor *scaled = ht_mul_scalar(g, *factor);

    if (ht_node_needs(node, 0))
        gin[0] = ht_mul(scaled, ht_node_saved(node, 1));
    if (ht_node_needs(node, 1))
        gin[1] = ht_mul(scaled, ht_node_saved(node, 0));
}

static ht_tensor *product(ht_tensor *a, ht_tensor *b, double factor)
{
    ht_node *node = ht_node_new("product", product_backward, HT_LIST(ht_tensor *, a, b));
    bool was = ht_set_grad_enabled(false);
    ht_tensor *y = ht_mul_scalar(ht_mul(a, b), factor);

    ht_set_grad_enabled(was);
    if (node != NULL) {
        double *kept = ht_node_context(node, sizeof *kept);

        *kept = factor;
        ht_node_save(node, a);
        ht_node_save(node, b);
    }
    return ht_node_set_output(node, y);
}

static ht_tensor *apply(ht_tensor *inputs[], void *factor)
{
    return product(inputs[0], inputs[1], *(double *)factor);
}

static void an_operation_of_the_program_has_a_gradient(void **state)
{
    (void)state;
    double factor = -1.5;
    ht_tensor *inputs[2];

    for (int i = 0; i < 2; i++) {
        inputs[i] = ht_test_randn(HT_SHAPE(4, 3), HT_FLOAT64, 0, (uint64_t)i);
        ht_tensor_set_requires_grad(inputs[i], true);
    }
    ht_test_gradcheck(apply, 2, inputs, &factor, 1e-7);
}

static void nothing_is_recorded_where_nothing_needs_it(void **state)
{
    (void)state;
    ht_tensor *a = ht_ones(HT_SHAPE(3), HT_FLOAT32, 0);

    assert_true(ht_is_grad_enabled());
    assert_false(ht_tensor_requires_grad(product(a, a, 2)));
    assert_true(ht_tensor_is_leaf(product(a, a, 2)));
}

static void a_list_of_inputs_is_there(void **state)
{
    (void)state;
    HT_TEST_EXPECT_ERROR(ht_node_new("product", product_backward, 1, NULL), HT_ERR_ARGUMENT,
                         "product: inputs is NULL");
}

static void a_saved_tensor_must_not_change(void **state)
{
    (void)state;
    ht_tensor *a = ht_ones(HT_SHAPE(3), HT_FLOAT32, 0), *b = ht_ones_like(a), *y;

    ht_tensor_set_requires_grad(a, true);
    y = ht_sum(product(a, b, 2), HT_NONE);
    ht_fill_(b, 7);
    HT_TEST_EXPECT_ERROR(ht_backward(y), HT_ERR_STATE, "product");
}

static void without_a_node_nothing_needs_a_gradient(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(3), HT_FLOAT32, 0);
    ht_node *node;

    (void)state;
    ht_tensor_set_requires_grad(x, true);
    assert_false(ht_node_needs(NULL, 0));
    node = ht_node_new("product", product_backward, HT_LIST(ht_tensor *, x, NULL));
    assert_true(ht_node_needs(node, 0));
    assert_false(ht_node_needs(node, 1));
    assert_false(ht_node_needs(node, 2));
    assert_false(ht_node_needs(node, -1));
    assert_null(ht_node_set_output(node, NULL));
}

HT_TEST_SUITE(test_node, cmocka_unit_test(an_operation_of_the_program_has_a_gradient),
              cmocka_unit_test(nothing_is_recorded_where_nothing_needs_it),
              cmocka_unit_test(a_list_of_inputs_is_there),
              cmocka_unit_test(without_a_node_nothing_needs_a_gradient),
              cmocka_unit_test(a_saved_tensor_must_not_change));

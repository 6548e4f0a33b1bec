/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Hooks of the backward pass see all gradients of a module's inputs and outputs, and replace them. */
#include "nn/nn_test.h"

/* The sums of gradients that a hook has seen, and -1 for none. */
struct seen {
    int calls, inputs, outputs;
    double input[3], output[3];
};

static double total(ht_tensor *grad)
{
    return grad != NULL ? ht_item(ht_sum(grad, HT_NONE)) : -1;
}

static void look(ht_module *module, int input_count, ht_tensor *grad_inputs[], int output_count,
                 ht_tensor *const grad_outputs[], void *user)
{
    struct seen *seen = user;

    assert_non_null(module);
    seen->calls++;
    seen->inputs = input_count;
    seen->outputs = output_count;
    for (int i = 0; i < input_count; i++)
        seen->input[i] = total(grad_inputs[i]);
    for (int i = 0; i < output_count; i++)
        seen->output[i] = total(grad_outputs[i]);
}

static void triple_inputs(ht_module *module, int input_count, ht_tensor *grad_inputs[],
                          int output_count, ht_tensor *const grad_outputs[], void *user)
{
    (void)module, (void)output_count, (void)grad_outputs, (void)user;
    for (int i = 0; i < input_count; i++) {
        if (grad_inputs[i] != NULL)
            grad_inputs[i] = ht_mul_scalar(grad_inputs[i], 3);
    }
}

static void halve_outputs(ht_module *module, int count, ht_tensor *grad_outputs[], void *user)
{
    (void)module, (void)user;
    for (int i = 0; i < count; i++) {
        if (grad_outputs[i] != NULL)
            grad_outputs[i] = ht_mul_scalar(grad_outputs[i], 0.5);
    }
}

static void wrong_shape(ht_module *module, int input_count, ht_tensor *grad_inputs[],
                        int output_count, ht_tensor *const grad_outputs[], void *user)
{
    (void)module, (void)input_count, (void)output_count, (void)grad_outputs, (void)user;
    grad_inputs[0] = ht_zeros(HT_SHAPE(5), HT_FLOAT64, HT_LOCAL);
}

/* (2 a + b, 3 b), of a list of a and b. */
static ht_value *mix_forward(ht_module *self, ht_value *inputs)
{
    ht_tensor *a = ht_value_as_tensor(ht_value_at(inputs, 0));
    ht_tensor *b = ht_value_as_tensor(ht_value_at(inputs, 1));
    ht_value *outputs = ht_value_map();

    (void)self;
    ht_value_set(outputs, "sum", ht_value_tensor(ht_add(ht_mul_scalar(a, 2), b)));
    ht_value_set(outputs, "triple", ht_value_tensor(ht_mul_scalar(b, 3)));
    return outputs;
}

static const ht_module_type mix_type = {.name = "Mix", .forward_value = mix_forward};

static bool same(ht_tensor *a, ht_tensor *b)
{
    bool equal = false;

    assert_int_equal(ht_equal(a, b, &equal), HT_SUCCESS);
    return equal;
}

static ht_tensor *leaf(void)
{
    return nn_leaf(1, HT_SHAPE(4), HT_LOCAL);
}

static ht_value *mix(ht_module *module, ht_tensor *a, ht_tensor *b)
{
    return ht_forward_value(module, ht_value_tensors(2, (ht_tensor *[]){a, b}));
}

static ht_tensor *result(const ht_value *outputs, const char *name)
{
    return ht_value_as_tensor(ht_value_get(outputs, name));
}

static void a_hook_sees_all_gradients(void **state)
{
    ht_module *module = ht_module_new(0, &mix_type);
    ht_tensor *a = leaf(), *b = leaf();
    struct seen seen = {0};
    ht_value *outputs;

    (void)state;
    assert_true(ht_module_register_full_backward_hook(module, look, &seen) != 0);
    outputs = mix(module, a, b);
    assert_int_equal(
        ht_backward(ht_sum(ht_add(result(outputs, "sum"), result(outputs, "triple")), HT_NONE)),
        HT_SUCCESS);
    assert_int_equal(seen.calls, 1);
    assert_int_equal(seen.inputs, 2);
    assert_int_equal(seen.outputs, 2);
    assert_true(seen.input[0] == 8 && seen.input[1] == 16);
    assert_true(seen.output[0] == 4 && seen.output[1] == 4);
    assert_true(total(ht_tensor_grad(a)) == 8 && total(ht_tensor_grad(b)) == 16);
    ht_release(module);
}

/* One output has no gradient, and one input gets none. */
static void gradients_may_be_missing(void **state)
{
    ht_module *module = ht_module_new(0, &mix_type);
    ht_tensor *a = leaf(), *b = leaf();
    struct seen seen = {0};

    (void)state;
    ht_module_register_full_backward_hook(module, look, &seen);
    assert_int_equal(ht_backward(ht_sum(result(mix(module, a, b), "triple"), HT_NONE)), HT_SUCCESS);
    assert_int_equal(seen.calls, 1);
    assert_true(seen.input[0] == -1 && seen.input[1] == 12);
    assert_true(seen.output[0] == -1 && seen.output[1] == 4);
    assert_null(ht_tensor_grad(a));
    ht_release(module);
}

static void hooks_replace_gradients(void **state)
{
    ht_module *module = ht_module_new(0, &mix_type);
    ht_tensor *a = leaf(), *b = leaf();
    struct seen seen = {0};
    uint64_t id;

    (void)state;
    ht_module_register_full_backward_pre_hook(module, halve_outputs, NULL);
    id = ht_module_register_full_backward_hook(module, triple_inputs, NULL);
    ht_module_register_full_backward_hook(module, look, &seen);
    ht_backward(ht_sum(result(mix(module, a, b), "sum"), HT_NONE));
    assert_true(seen.output[0] == 2 && seen.input[0] == 12 && seen.input[1] == 6);
    assert_true(total(ht_tensor_grad(a)) == 12 && total(ht_tensor_grad(b)) == 6);

    assert_int_equal(ht_module_remove_hook(module, id), HT_SUCCESS);
    ht_tensor_set_grad(a, NULL);
    ht_backward(ht_sum(result(mix(module, a, b), "sum"), HT_NONE));
    assert_true(total(ht_tensor_grad(a)) == 4);
    ht_release(module);
}

/* The same gradients as without hooks, in modules inside each other, and in their parameters. */
static void nested_modules_keep_their_gradients(void **state)
{
    ht_module *net, *plain;
    struct seen outer = {0}, inner = {0};
    ht_tensor *x = nn_leaf(3, HT_SHAPE(2, 3), HT_LOCAL), *y, *expected;

    (void)state;
    net = ht_nn_sequential(
        HT_LIST(ht_module *, ht_nn_linear(3, 3), ht_nn_relu(), ht_nn_linear(3, 1)));
    ht_module_to_dtype(net, HT_FLOAT64);
    plain = ht_module_clone(net);
    ht_module_register_full_backward_hook(net, look, &outer);
    ht_module_register_full_backward_hook(ht_module_find(net, "1"), look, &inner);
    y = ht_forward(plain, x);
    ht_backward(ht_sum(y, HT_NONE));
    expected = ht_retain(ht_tensor_grad(x));
    ht_tensor_set_grad(x, NULL);
    assert_true(same(ht_forward(net, x), y));
    ht_backward(ht_sum(ht_forward(net, x), HT_NONE));
    assert_true(same(ht_tensor_grad(x), expected));
    assert_true(same(ht_tensor_grad(ht_module_find_parameter(net, "0.weight")),
                     ht_tensor_grad(ht_module_find_parameter(plain, "0.weight"))));
    assert_int_equal(outer.calls, 1);
    assert_int_equal(inner.calls, 1);
    assert_true(outer.input[0] == total(expected));
    ht_release(expected);
    ht_release(net);
    ht_release(plain);
}

/* Only parameters need gradients: there is no gradient of an input. */
static void inputs_may_need_no_gradients(void **state)
{
    ht_module *linear = ht_nn_linear(3, 2);
    struct seen seen = {0};

    (void)state;
    ht_module_register_full_backward_hook(linear, look, &seen);
    ht_backward(ht_sum(ht_forward(linear, ht_ones(HT_SHAPE(4, 3), HT_FLOAT32, HT_LOCAL)), HT_NONE));
    assert_int_equal(seen.calls, 1);
    assert_int_equal(seen.inputs, 1);
    assert_true(seen.input[0] == -1 && seen.output[0] == 8);
    bool was = ht_set_grad_enabled(false);
    assert_non_null(ht_forward(linear, ht_ones(HT_SHAPE(4, 3), HT_FLOAT32, HT_LOCAL)));
    ht_set_grad_enabled(was);
    ht_release(linear);
}

static void a_graph_that_is_kept_runs_hooks_again(void **state)
{
    ht_module *module = ht_nn_identity();
    ht_tensor *x = leaf(), *y;
    struct seen seen = {0};

    (void)state;
    ht_module_register_full_backward_hook(module, look, &seen);
    y = ht_sum(ht_forward(module, x), HT_NONE);
    assert_int_equal(ht_backward_ext(y, NULL, true), HT_SUCCESS);
    assert_int_equal(ht_backward_ext(y, NULL, false), HT_SUCCESS);
    assert_int_equal(seen.calls, 2);
    assert_true(total(ht_tensor_grad(x)) == 8);
    ht_release(module);
}

/* Another operation writes over the output. */
static void the_output_may_be_written_in_place(void **state)
{
    ht_module *module = ht_module_new(0, &mix_type);
    ht_tensor *a = leaf(), *y;
    struct seen seen = {0};

    (void)state;
    ht_module_register_full_backward_hook(module, look, &seen);
    y = result(mix(module, a, leaf()), "sum");
    assert_non_null(y);
    assert_int_equal(ht_mul_scalar_(y, 5), HT_SUCCESS);
    ht_backward(ht_sum(y, HT_NONE));
    assert_true(total(ht_tensor_grad(a)) == 40 && seen.output[0] == 20);
    ht_release(module);
}

static void hooks_see_gradients_of_split_tensors(void **state)
{
    ht_module *module = ht_nn_identity();
    ht_tensor *x = nn_leaf(2, HT_SHAPE(7, 2), 0);
    struct seen seen = {0};

    (void)state;
    ht_module_register_full_backward_hook(module, triple_inputs, NULL);
    ht_module_register_full_backward_hook(module, look, &seen);
    ht_backward(ht_sum(ht_forward(module, x), HT_NONE));
    assert_true(seen.input[0] == 42 && seen.output[0] == 14);
    assert_true(total(ht_tensor_grad(x)) == 42);
    ht_release(module);
}

static void hooks_run_inside_and_around_a_wrapper(void **state)
{
    ht_module *net = ht_nn_linear(3, 2), *wrapper;
    struct seen inner = {0}, outer = {0};
    const double rows = 4; /* the wrapper's weight of the gradients of this rank */

    (void)state;
    ht_module_register_full_backward_hook(net, look, &inner);
    wrapper = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, true);
    ht_module_register_full_backward_hook(wrapper, look, &outer);
    ht_backward(
        ht_sum(ht_forward(wrapper, ht_ones(HT_SHAPE(4, 3), HT_FLOAT32, HT_LOCAL)), HT_NONE));
    assert_int_equal(inner.calls, 1);
    assert_int_equal(outer.calls, 1);
    assert_true(inner.output[0] == 8 * rows && outer.output[0] == 8 * rows);
    assert_true(total(ht_tensor_grad(ht_module_find_parameter(net, "weight"))) == 24);
    ht_release(wrapper);
    ht_release(net);
}

static void wrong_hooks_are_refused(void **state)
{
    ht_module *module = ht_nn_identity();
    ht_tensor *x = leaf();

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_int_equal(ht_module_register_full_backward_hook(NULL, look, NULL), 0);
    nn_assert_error("ht_module_register_full_backward_hook: module is NULL");
    assert_int_equal(ht_module_register_full_backward_hook(module, NULL, NULL), 0);
    nn_assert_error("ht_module_register_full_backward_hook: hook is NULL");
    assert_int_equal(ht_module_register_full_backward_pre_hook(module, NULL, NULL), 0);
    nn_assert_error("ht_module_register_full_backward_pre_hook: hook is NULL");

    ht_module_register_full_backward_hook(module, wrong_shape, NULL);
    assert_int_equal(ht_backward(ht_sum(ht_forward(module, x), HT_NONE)), HT_ERR_SHAPE);
    ht_error_clear();
    assert_null(ht_tensor_grad(x));
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(module);
}

HT_TEST_SUITE(test_backward_hooks, cmocka_unit_test(a_hook_sees_all_gradients),
              cmocka_unit_test(gradients_may_be_missing), cmocka_unit_test(hooks_replace_gradients),
              cmocka_unit_test(nested_modules_keep_their_gradients),
              cmocka_unit_test(inputs_may_need_no_gradients),
              cmocka_unit_test(a_graph_that_is_kept_runs_hooks_again),
              cmocka_unit_test(the_output_may_be_written_in_place),
              cmocka_unit_test(hooks_see_gradients_of_split_tensors),
              cmocka_unit_test(hooks_run_inside_and_around_a_wrapper),
              cmocka_unit_test(wrong_hooks_are_refused));

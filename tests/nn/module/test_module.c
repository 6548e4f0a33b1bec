/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* The module tree: names, sharing, hooks, replacing, cloning and printing, on a user-defined module
 * of two inputs that has children, a parameter and a buffer. */
#include <stdio.h>
#include <string.h>

#include "nn/nn_test.h"
#include "tensor_check.h"

/* y = scale (left(a) + right(b)), left and right linear. */
struct pair {
    ht_module *left, *right;
    ht_tensor *scale, *steps;
    int calls; /* not registered: copied bitwise */
};

static ht_value *pair_forward(ht_module *self, ht_value *inputs)
{
    struct pair *pair = ht_module_data(self);
    ht_tensor *a = ht_value_as_tensor(ht_value_get(inputs, "a"));
    ht_tensor *b = ht_value_as_tensor(ht_value_get(inputs, "b"));

    pair->calls++;
    return ht_value_tensor(
        ht_mul(ht_add(ht_forward(pair->left, a), ht_forward(pair->right, b)), pair->scale));
}

static const ht_module_type pair_type = {.name = "Pair", .forward_value = pair_forward};

static ht_tensor *ones(int64_t length, ht_dtype dtype)
{
    return ht_full(1, &length, 1.0, dtype, HT_LOCAL);
}

static ht_module *pair_new(void)
{
    ht_module *self = ht_module_new(sizeof(struct pair), &pair_type);
    struct pair *pair = ht_module_data(self);

    assert_int_equal(ht_module_add(self, "left", &pair->left, ht_nn_linear(3, 2)), HT_SUCCESS);
    assert_int_equal(ht_module_add(self, "right", &pair->right, ht_nn_linear_ext(3, 2, false)),
                     HT_SUCCESS);
    assert_int_equal(ht_module_add_parameter(self, "scale", &pair->scale, ones(2, HT_FLOAT32)),
                     HT_SUCCESS);
    assert_int_equal(ht_module_add_buffer(self, "steps", &pair->steps, ones(1, HT_INT64)),
                     HT_SUCCESS);
    return self;
}

static ht_value *pair_inputs(void)
{
    ht_value *inputs = ht_value_map();
    ht_tensor *x = ht_reshape(ht_astype(ones(6, HT_FLOAT32), HT_FLOAT32), HT_SHAPE(2, 3));

    ht_value_set(inputs, "a", ht_value_tensor(x));
    ht_value_set(inputs, "b", ht_value_tensor(ht_mul_scalar(x, -2.0)));
    return inputs;
}

static double first(ht_value *value)
{
    return ((const float *)ht_test_data(ht_value_as_tensor(value)))[0];
}

static void append_name(const char *name, ht_tensor *tensor, void *text)
{
    (void)tensor;
    strcat(strcat(text, name), " ");
}

static void append_module(const char *name, ht_module *module, void *text)
{
    strcat(strcat(strcat(text, name), ":"), ht_module_get_type(module)->name);
    strcat(text, " ");
}

static void test_names(void **state)
{
    ht_module *net = ht_nn_sequential(HT_LIST(ht_module *, pair_new(), ht_nn_relu()));
    char text[256] = "";

    (void)state;
    ht_module_named_parameters(net, append_name, text);
    assert_string_equal(text, "0.scale 0.left.weight 0.left.bias 0.right.weight ");
    text[0] = '\0';
    ht_module_named_buffers(net, append_name, text);
    assert_string_equal(text, "0.steps ");
    text[0] = '\0';
    ht_module_apply(net, append_module, text);
    assert_string_equal(text, ":Sequential 0:Pair 0.left:Linear 0.right:Linear 1:ReLU ");

    assert_int_equal(ht_module_parameter_count(net), 2 + 6 + 2 + 6);
    assert_int_equal(ht_value_count(ht_module_parameters(net)), 4);
    assert_ptr_equal(ht_module_find(net, ""), net);
    assert_string_equal(ht_module_get_type(ht_module_find(net, "0.right"))->name, "Linear");
    assert_null(ht_module_find(net, "0.middle"));
    assert_int_equal(ht_tensor_size(ht_module_find_parameter(net, "0.left.bias")), 2);
    assert_null(ht_module_find_parameter(net, "0.right.bias"));
    assert_null(ht_module_find_parameter(net, "0.steps"));
    ht_release(net);
}

static void test_shared_parameters_come_once(void **state)
{
    ht_module *net = pair_new(), *shared = ht_module_find(net, "left");
    ht_tensor *weight = ht_module_find_parameter(net, "left.weight");
    char text[256] = "";

    (void)state;
    assert_int_equal(ht_module_add(net, "again", NULL, ht_retain(shared)), HT_SUCCESS);
    assert_int_equal(ht_module_add_parameter(net, "tied", NULL, weight), HT_SUCCESS);
    ht_module_named_parameters(net, append_name, text);
    assert_string_equal(text, "scale tied left.bias right.weight ");
    ht_release(net);
}

static void test_replace_writes_the_field(void **state)
{
    ht_module *net = pair_new(), *other = ht_nn_linear(3, 2);
    struct pair *pair = ht_module_data(net);
    double before, after;

    (void)state;
    before = first(ht_forward_value(net, pair_inputs()));
    assert_int_equal(ht_module_replace(net, "left", other), HT_SUCCESS);
    assert_ptr_equal(pair->left, other);
    assert_ptr_equal(ht_module_find(net, "left"), other);
    after = first(ht_forward_value(net, pair_inputs()));
    assert_true(before != after);
    ht_release(net);
}

static void test_a_module_is_not_its_own_child(void **state)
{
    ht_module *net = pair_new();

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_module_replace(net, "left", ht_retain(net)), HT_ERR_ARGUMENT,
                         "ht_module_replace: the child for 'left' contains the module itself");
    assert_non_null(ht_module_child(net, 0, NULL));
    assert_null(ht_module_child(net, -1, NULL));
    ht_release(net);
}

static void test_clone_stands_alone(void **state)
{
    ht_module *net = pair_new(), *copy;
    struct pair *pair = ht_module_data(net), *twin;
    double before;

    (void)state;
    before = first(ht_forward_value(net, pair_inputs()));
    ht_module_eval(net);
    copy = ht_module_clone(net);
    twin = ht_module_data(copy);
    assert_ptr_not_equal(twin->left, pair->left);
    assert_int_equal(twin->calls, 1);
    assert_false(ht_module_is_training(copy));
    assert_true(ht_tensor_requires_grad(twin->scale));

    /* The clone keeps its values when the original changes, and when it is released. */
    ht_set_grad_enabled(false);
    ht_fill_(ht_module_find_parameter(net, "left.weight"), 7.0);
    ht_set_grad_enabled(true);
    assert_true(first(ht_forward_value(net, pair_inputs())) != before);
    ht_release(net);
    assert_true(first(ht_forward_value(copy, pair_inputs())) == before);
    ht_release(copy);
}

static void test_clone_keeps_sharing(void **state)
{
    ht_module *net = pair_new(), *copy;

    (void)state;
    ht_module_add(net, "again", NULL, ht_retain(ht_module_find(net, "left")));
    ht_module_add_parameter(net, "tied", NULL, ht_module_find_parameter(net, "right.weight"));
    copy = ht_module_clone(net);
    assert_ptr_equal(ht_module_find(copy, "again"), ht_module_find(copy, "left"));
    assert_ptr_equal(ht_module_find_parameter(copy, "tied"),
                     ht_module_find_parameter(copy, "right.weight"));
    ht_release(net);
    ht_release(copy);
}

static ht_value *halve_input(ht_module *module, ht_value *inputs, void *user)
{
    (void)module;
    ++*(int *)user;
    return ht_value_tensor(ht_mul_scalar(ht_value_as_tensor(inputs), 0.5));
}

static ht_value *negate_output(ht_module *module, ht_value *inputs, ht_value *output, void *user)
{
    (void)module;
    (void)inputs;
    ++*(int *)user;
    return ht_value_tensor(ht_neg(ht_value_as_tensor(output)));
}

static ht_value *watch_output(ht_module *module, ht_value *inputs, ht_value *output, void *user)
{
    (void)module;
    *(double *)user = first(inputs) + 10 * first(output);
    return NULL;
}

static void test_hooks(void **state)
{
    ht_module *relu = ht_nn_relu();
    ht_tensor *x = ones(1, HT_FLOAT32);
    double seen = 0;
    int calls = 0;
    uint64_t pre = ht_module_register_forward_pre_hook(relu, halve_input, &calls);
    uint64_t post = ht_module_register_forward_hook(relu, negate_output, &calls);
    uint64_t last = ht_module_register_forward_hook(relu, watch_output, &seen);

    (void)state;
    assert_true(ht_item(ht_forward(relu, x)) == -0.5);
    assert_int_equal(calls, 2);
    assert_true(seen == 0.5 + 10 * -0.5);

    assert_int_equal(ht_module_remove_hook(relu, pre), HT_SUCCESS);
    assert_true(ht_item(ht_forward(relu, x)) == -1.0);
    ht_module_remove_hook(relu, post);
    ht_module_remove_hook(relu, last);
    assert_true(ht_item(ht_forward(relu, x)) == 1.0);
    assert_int_equal(calls, 3);
    ht_release(relu);
}

struct leaving {
    ht_module *module;
    uint64_t id;
    int calls;
};

static ht_value *leave(ht_module *module, ht_value *inputs, void *user)
{
    struct leaving *self = user;

    (void)module;
    (void)inputs;
    self->calls++;
    ht_module_remove_hook(self->module, self->id);
    return NULL;
}

static void test_hooks_may_remove_themselves(void **state)
{
    ht_module *relu = ht_nn_relu();
    struct leaving first = {.module = relu}, second = {.module = relu};

    (void)state;
    first.id = ht_module_register_forward_pre_hook(relu, leave, &first);
    second.id = ht_module_register_forward_pre_hook(relu, leave, &second);
    ht_forward(relu, ones(1, HT_FLOAT32));
    ht_forward(relu, ones(1, HT_FLOAT32));
    assert_int_equal(first.calls, 1);
    assert_int_equal(second.calls, 1);
    ht_release(relu);
}

static void test_train_and_eval(void **state)
{
    ht_module *net = pair_new();

    (void)state;
    assert_true(ht_module_is_training(ht_module_find(net, "left")));
    ht_module_eval(net);
    assert_false(ht_module_is_training(net));
    assert_false(ht_module_is_training(ht_module_find(net, "right")));
    ht_module_train(net);
    assert_true(ht_module_is_training(ht_module_find(net, "right")));
    ht_release(net);
}

static void test_to_dtype_keeps_handles(void **state)
{
    ht_module *net = pair_new();
    ht_tensor *scale = ht_module_find_parameter(net, "scale");
    struct pair *pair = ht_module_data(net);

    (void)state;
    ht_tensor_set_grad(scale, ones(2, HT_FLOAT32));
    assert_int_equal(ht_module_to_dtype(net, HT_FLOAT64), HT_SUCCESS);
    assert_ptr_equal(ht_module_find_parameter(net, "scale"), scale);
    assert_int_equal(ht_tensor_dtype(scale), HT_FLOAT64);
    assert_int_equal(ht_tensor_dtype(ht_tensor_grad(scale)), HT_FLOAT64);
    assert_true(ht_tensor_requires_grad(scale));
    assert_int_equal(ht_tensor_dtype(pair->steps), HT_INT64);
    ht_release(net);
}

static void test_to_device_moves_all(void **state)
{
    ht_module *net = pair_new();
    struct pair *pair = ht_module_data(net);

    (void)state;
    assert_int_equal(ht_module_to_device(net, ht_device_get("cpu:1")), HT_SUCCESS);
    assert_ptr_equal(ht_tensor_device(pair->scale), ht_device_get("cpu:1"));
    assert_ptr_equal(ht_tensor_device(pair->steps), ht_device_get("cpu:1"));
    assert_ptr_equal(ht_tensor_device(ht_module_find_parameter(net, "left.bias")),
                     ht_device_get("cpu:1"));
    ht_release(net);
}

static void test_print(void **state)
{
    ht_module *net = ht_nn_sequential(HT_LIST(ht_module *, pair_new(), ht_nn_conv2d(1, 32, 3),
                                              ht_nn_dropout(0.25), ht_nn_relu()));
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);

    (void)state;
    ht_module_requires_grad(ht_module_find(net, "1"), false);
    ht_module_print(net, stream);
    fclose(stream);
    assert_string_equal(text, "Sequential(\n"
                              "  (0): Pair(  # 2\n"
                              "    (left): Linear(3, 2)  # 8\n"
                              "    (right): Linear(3, 2, bias=false)  # 6\n"
                              "  )\n"
                              "  (1): Conv2d(1, 32, kernel_size=3)  # 320\n"
                              "  (2): Dropout(p=0.25)\n"
                              "  (3): ReLU()\n"
                              ")\n"
                              "336 parameters, 16 trainable\n");
    free(text);
    ht_release(net);
}

static void test_misuse(void **state)
{
    ht_module *net = pair_new();
    ht_tensor *outside = NULL;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_int_equal(ht_module_add(net, "left", NULL, ht_nn_relu()), HT_ERR_ARGUMENT);
    nn_assert_error("ht_module_add: name is 'left', expected one that Pair does not have");
    assert_int_equal(ht_module_add(net, "a.b", NULL, ht_nn_relu()), HT_ERR_ARGUMENT);
    nn_assert_error("ht_module_add: name is 'a.b', expected one that is not empty and has no "
                    "'.' or '/'");
    assert_int_equal(ht_module_add_buffer(net, "outside", &outside, ones(1, HT_FLOAT32)),
                     HT_ERR_ARGUMENT);
    nn_assert_error(
        "ht_module_add_buffer: the slot of 'outside' is not a handle inside the 40 bytes "
        "of Pair");
    assert_int_equal(ht_module_add(net, "self", NULL, ht_retain(net)), HT_ERR_ARGUMENT);
    nn_assert_error("ht_module_add: 'self' contains the module it is added to");
    assert_null(ht_forward_value(ht_module_find(net, "left"), pair_inputs()));
    nn_assert_error("ht_forward_value in left: Linear takes one tensor, got a map");
    assert_int_equal(ht_module_remove_hook(net, 1u << 30), HT_ERR_ARGUMENT);
    nn_assert_error("ht_module_remove_hook: id is 1073741824, expected that of a hook");
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(net);
}

/* Adds what does not fit after its child has run: no longer the child's error. */
struct tail {
    ht_module *child;
};

static ht_tensor *tail_forward(ht_module *self, ht_tensor *x)
{
    struct tail *tail = ht_module_data(self);

    return ht_add(ht_forward(tail->child, x), ones(7, HT_FLOAT32));
}

static const ht_module_type tail_type = {.name = "Tail", .forward = tail_forward};

static void test_errors_name_the_layer(void **state)
{
    ht_module *tail = ht_module_new(sizeof(struct tail), &tail_type), *net;
    struct tail *fields = ht_module_data(tail);
    ht_tensor *narrow = ht_reshape(ones(3, HT_FLOAT32), HT_SHAPE(1, 3));
    ht_tensor *wide = ht_reshape(ones(4, HT_FLOAT32), HT_SHAPE(1, 4));

    (void)state;
    ht_module_add(tail, "child", &fields->child, ht_nn_linear(3, 2));
    net = ht_nn_sequential(HT_LIST(ht_module *, ht_nn_relu(), tail));
    HT_TEST_EXPECT_ERROR(ht_forward(net, wide), HT_ERR_SHAPE, "ht_linear in 1.child: x is (1, 4)");
    HT_TEST_EXPECT_ERROR(ht_forward(net, narrow), HT_ERR_SHAPE, "ht_add in 1: ");
    HT_TEST_EXPECT_ERROR(ht_add(narrow, wide), HT_ERR_SHAPE, "ht_add: ");
    HT_TEST_EXPECT_ERROR(ht_forward(fields->child, wide), HT_ERR_SHAPE, "ht_linear in 1.child: ");
    ht_release(net);
}

/* Two handles of one module that were views, one of them a view of memory that the module does not
 * own. */
static void views_get_memory_of_their_own(void **state)
{
    ht_tensor *base = ones(4, HT_FLOAT32), *part = ht_narrow(base, 0, 1, 2);
    ht_tensor *wide = ht_broadcast_to(ones(1, HT_FLOAT32), HT_SHAPE(3));
    ht_module *m = ht_module_new(0, &pair_type);

    (void)state;
    assert_int_equal(ht_module_add_parameter(m, "part", NULL, part), HT_SUCCESS);
    assert_int_equal(ht_module_add_buffer(m, "wide", NULL, wide), HT_SUCCESS);
    assert_ptr_equal(ht_module_find_parameter(m, "part"), part);
    assert_int_equal(ht_fill_(wide, 5), HT_SUCCESS);
    ht_set_grad_enabled(false);
    assert_int_equal(ht_fill_(part, 7), HT_SUCCESS);
    ht_set_grad_enabled(true);
    ht_test_expect_same(base, ones(4, HT_FLOAT32), 0);
    assert_int_equal(ht_module_to_dtype(m, HT_FLOAT64), HT_SUCCESS);
    assert_int_equal(ht_tensor_dtype(part), HT_FLOAT64);
    assert_int_equal(ht_tensor_dtype(wide), HT_FLOAT64);
    ht_release(m);
}

HT_TEST_SUITE(test_module, cmocka_unit_test(test_errors_name_the_layer),
              cmocka_unit_test(test_names), cmocka_unit_test(test_shared_parameters_come_once),
              cmocka_unit_test(test_replace_writes_the_field),
              cmocka_unit_test(test_a_module_is_not_its_own_child),
              cmocka_unit_test(test_clone_stands_alone), cmocka_unit_test(test_clone_keeps_sharing),
              cmocka_unit_test(test_hooks), cmocka_unit_test(test_hooks_may_remove_themselves),
              cmocka_unit_test(test_train_and_eval), cmocka_unit_test(test_to_dtype_keeps_handles),
              cmocka_unit_test(test_to_device_moves_all),
              cmocka_unit_test(views_get_memory_of_their_own), cmocka_unit_test(test_print),
              cmocka_unit_test(test_misuse));

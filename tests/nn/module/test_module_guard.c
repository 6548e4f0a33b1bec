/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* Properties that wrappers rely on: a guarded tree keeps its shape, is drained where it is read and
 * nowhere else. */
#include "nn/module/module.h"

#include "nn/nn_test.h"

struct wrapper {
    ht_module *module;
    ht_module_guard guard;
    int drains;
};

static ht_tensor *wrapper_forward(ht_module *self, ht_tensor *x)
{
    struct wrapper *wrapper = ht_module_data(self);

    return ht_forward(wrapper->module, x);
}

static void wrapper_destroy(ht_module *self)
{
    struct wrapper *wrapper = ht_module_data(self);

    ht__module_unguard(self, wrapper->module);
}

static const ht_module_type wrapper_type = {
    .name = "Wrapper", .forward = wrapper_forward, .destroy = wrapper_destroy};

static ht_status drain(void *user)
{
    ((struct wrapper *)user)->drains++;
    return HT_SUCCESS;
}

static ht_module *net_new(void)
{
    return ht_nn_sequential(
        HT_LIST(ht_module *, ht_nn_linear(3, 4), ht_nn_relu(), ht_nn_linear(4, 2)));
}

static ht_module *wrap(ht_module *net)
{
    ht_module *self = ht_module_new(sizeof(struct wrapper), &wrapper_type);
    struct wrapper *wrapper = ht_module_data(self);

    ht__module_wrap(self, &wrapper->module, net);
    wrapper->guard = (ht_module_guard){"ht_nn_wrapper", drain, wrapper};
    assert_int_equal(ht__module_guard("ht_nn_wrapper", self, net, &wrapper->guard), HT_SUCCESS);
    return self;
}

static void ignore(const char *name, ht_tensor *tensor, void *user)
{
    (void)name;
    (void)tensor;
    (void)user;
}

static void test_reading_drains(void **state)
{
    ht_module *net = net_new(), *self = wrap(net), *copy;
    struct wrapper *wrapper = ht_module_data(self);
    int expected = 0;

    (void)state;
    ht_module_named_parameters(self, ignore, NULL);
    assert_int_equal(wrapper->drains, ++expected);
    ht_module_named_parameters(net, ignore, NULL); /* through the model itself too */
    assert_int_equal(wrapper->drains, ++expected);
    ht_module_parameters(net);
    assert_int_equal(wrapper->drains, ++expected);
    ht_module_find_parameter(self, "module.0.bias");
    assert_int_equal(wrapper->drains, ++expected);
    ht_module_eval(self);
    assert_int_equal(wrapper->drains, ++expected);
    copy = ht_module_clone(net);
    assert_int_equal(wrapper->drains, ++expected);
    assert_int_equal(ht_module_to_dtype(copy, HT_FLOAT64), HT_SUCCESS); /* a clone is free */
    ht_release(copy);

    ht_module_train(self);
    ht_module_zero_grad(self);
    ht_module_parameter_count(self);
    ht_module_find(self, "module.0");
    assert_int_equal(wrapper->drains, expected);
    ht_release(self);
    ht_release(net);
}

static void test_guarded_tree_keeps_its_shape(void **state)
{
    ht_module *net = net_new(), *self = wrap(net);

    (void)state;
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_int_equal(ht_module_to_dtype(net, HT_FLOAT64), HT_ERR_STATE);
    nn_assert_error(
        "ht_module_to_dtype: ht_nn_wrapper holds this module; first change the module, then "
        "make its optimizer, then wrap it");
    assert_int_equal(ht_module_to_device(self, ht_device_get("cpu:1")), HT_ERR_STATE);
    ht_error_clear();
    assert_int_equal(ht_module_replace(net, "0", ht_nn_relu()), HT_ERR_STATE);
    ht_error_clear();
    assert_int_equal(ht_module_add(net, "3", NULL, ht_nn_relu()), HT_ERR_STATE);
    ht_error_clear();
    assert_int_equal(ht_module_requires_grad(net, false), HT_ERR_STATE);
    ht_error_clear();
    assert_null(ht_module_clone(self));
    nn_assert_error(
        "ht_module_clone: type Wrapper has a destroy hook but no clone hook: a copy of it "
        "would destroy the same things twice");
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);

    ht_release(self); /* the wrapper goes, the model stays and is free again */
    assert_int_equal(ht_module_to_dtype(net, HT_FLOAT64), HT_SUCCESS);
    ht_release(net);
}

static void test_wrapping_keeps_paths(void **state)
{
    ht_module *net = net_new(), *self = wrap(net);

    (void)state;
    assert_string_equal(ht_module_find(self, "module.2")->path, "2");
    assert_ptr_equal(ht__module_unwrapped(self), net);
    assert_ptr_equal(ht__module_unwrapped(net), net);
    ht_release(self);
    ht_release(net);
}

HT_TEST_SUITE(test_module_guard, cmocka_unit_test(test_reading_drains),
              cmocka_unit_test(test_guarded_tree_keeps_its_shape),
              cmocka_unit_test(test_wrapping_keeps_paths));

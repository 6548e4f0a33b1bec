/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Parameters that are computed from others: by a parametrization of the test's own, with optimizers,
 * wrappers, clones and files. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nn/nn_test.h"

static ht_tensor *square_forward(ht_module *self, ht_tensor *x)
{
    (void)self;
    return ht_square(x);
}

static ht_value *root(ht_module *self, ht_tensor *value)
{
    (void)self;
    return ht_value_tensor(ht_sqrt(value));
}

static const ht_module_type square_type = {.name = "Square", .forward = square_forward};

/* a b, of two originals. */
static ht_value *product_forward(ht_module *self, ht_value *inputs)
{
    (void)self;
    return ht_value_tensor(ht_mul(ht_value_as_tensor(ht_value_at(inputs, 0)),
                                  ht_value_as_tensor(ht_value_at(inputs, 1))));
}

static ht_value *halves(ht_module *self, ht_tensor *value)
{
    (void)self;
    return ht_value_tensors(2, (ht_tensor *[]){ht_mul_scalar(value, 0.5), ht_full_like(value, 2)});
}

static const ht_module_type product_type = {.name = "Product", .forward_value = product_forward};

static ht_tensor *short_forward(ht_module *self, ht_tensor *x)
{
    (void)self;
    return ht_narrow(x, 0, 0, 1);
}

static const ht_module_type short_type = {.name = "Short", .forward = short_forward};

static ht_module *square(void)
{
    return ht_module_new(0, &square_type);
}

static ht_module *product(void)
{
    return ht_module_new(0, &product_type);
}

/* y = x W^T with W = 4. */
static ht_module *linear_new(void)
{
    ht_module *linear = ht_nn_linear_ext(3, 2, false);

    ht_fill_(ht_detach(ht_module_find_parameter(linear, "weight")), 4);
    return linear;
}

static double output(ht_module *module)
{
    return ht_item(
        ht_sum(ht_forward(module, ht_ones(HT_SHAPE(1, 3), HT_FLOAT32, HT_LOCAL)), HT_NONE));
}

static double sum_of(ht_module *module, const char *path)
{
    return ht_item(ht_sum(ht_module_find_parameter(module, path), HT_NONE));
}

static void a_parameter_is_computed_from_its_original(void **state)
{
    ht_module *linear = linear_new();
    ht_tensor *weight = ht_module_find_parameter(linear, "weight"), *original;

    (void)state;
    assert_false(ht_nn_is_parametrized(linear, "weight"));
    assert_int_equal(ht_nn_register_parametrization(linear, "weight", square(), NULL), HT_SUCCESS);
    assert_true(ht_nn_is_parametrized(linear, "weight") && ht_nn_is_parametrized(linear, NULL));
    assert_false(ht_nn_is_parametrized(linear, "bias"));
    assert_null(ht_module_find_parameter(linear, "weight"));
    original = ht_module_find_parameter(linear, "parametrizations.weight.original");
    assert_ptr_equal(original, weight);
    assert_int_equal(ht_value_count(ht_module_parameters(linear)), 1);
    assert_true(output(linear) == 96);
    assert_true(ht_item(ht_sum(ht_nn_parametrized(linear, "weight"), HT_NONE)) == 96);

    ht_backward(ht_sum(ht_forward(linear, ht_ones(HT_SHAPE(1, 3), HT_FLOAT32, HT_LOCAL)), HT_NONE));
    assert_true(ht_item(ht_sum(ht_tensor_grad(original), HT_NONE)) == 48);
    ht_fill_(ht_detach(original), 1);
    assert_true(output(linear) == 6);
    ht_release(linear);
}

static void right_inverses_keep_the_value(void **state)
{
    ht_module *one = linear_new(), *two = linear_new();

    (void)state;
    assert_int_equal(ht_nn_register_parametrization(one, "weight", square(), root), HT_SUCCESS);
    assert_true(output(one) == 24);
    assert_true(sum_of(one, "parametrizations.weight.original") == 12);
    assert_int_equal(ht_nn_register_parametrization(two, "weight", product(), halves), HT_SUCCESS);
    assert_true(output(two) == 24);
    assert_true(sum_of(two, "parametrizations.weight.original0") == 12);
    assert_true(sum_of(two, "parametrizations.weight.original1") == 12);
    ht_release(one);
    ht_release(two);
}

static void parametrizations_follow_each_other(void **state)
{
    ht_module *linear = linear_new();

    (void)state;
    ht_nn_register_parametrization(linear, "weight", product(), halves);
    assert_int_equal(ht_nn_register_parametrization(linear, "weight", square(), root), HT_SUCCESS);
    assert_true(output(linear) == 96);
    assert_int_equal(ht_nn_remove_parametrizations(linear, "weight", true), HT_SUCCESS);
    assert_true(output(linear) == 96 && sum_of(linear, "weight") == 96);
    assert_false(ht_nn_is_parametrized(linear, NULL));
    assert_int_equal(ht_module_child_count(linear), 0);
    ht_release(linear);
}

static void removal_leaves_a_value_or_the_original(void **state)
{
    ht_module *linear = linear_new();
    ht_tensor *weight = ht_module_find_parameter(linear, "weight");

    (void)state;
    ht_nn_register_parametrization(linear, "weight", square(), NULL);
    assert_int_equal(ht_nn_remove_parametrizations(linear, "weight", false), HT_SUCCESS);
    assert_ptr_equal(ht_module_find_parameter(linear, "weight"), weight);
    assert_true(output(linear) == 24);
    ht_nn_register_parametrization(linear, "weight", square(), NULL);
    assert_int_equal(ht_nn_remove_parametrizations(linear, "weight", true), HT_SUCCESS);
    assert_ptr_equal(ht_module_find_parameter(linear, "weight"), weight);
    assert_true(output(linear) == 96 && ht_tensor_requires_grad(weight));
    ht_release(linear);
}

static void frozen_parameters_stay_frozen(void **state)
{
    ht_module *linear = linear_new();

    (void)state;
    ht_module_requires_grad(linear, false);
    ht_nn_register_parametrization(linear, "weight", product(), halves);
    assert_false(ht_tensor_requires_grad(
        ht_module_find_parameter(linear, "parametrizations.weight.original1")));
    ht_nn_remove_parametrizations(linear, "weight", true);
    assert_false(ht_tensor_requires_grad(ht_module_find_parameter(linear, "weight")));
    ht_release(linear);
}

static void clones_and_files_have_the_originals(void **state)
{
    ht_module *a = ht_nn_sequential(HT_LIST(ht_module *, linear_new())), *b;
    long id = ht_test_rank == 0 ? (long)getpid() : 0;
    char path[64];

    (void)state;
    MPI_Bcast(&id, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "/tmp/ht-test-parametrize-%ld.safetensors", id);
    ht_nn_register_parametrization(ht_module_find(a, "0"), "weight", square(), root);
    b = ht_module_clone(a);
    ht_fill_(ht_detach(ht_module_find_parameter(b, "0.parametrizations.weight.original")), 3);
    assert_true(output(a) == 24 && output(b) == 54);
    assert_int_equal(ht_module_save_safetensors(b, path, HT_COMM_WORLD), HT_SUCCESS);
    assert_int_equal(ht_module_load_safetensors(a, path, HT_COMM_WORLD), HT_SUCCESS);
    assert_true(output(a) == 54);
    ht_module_to_dtype(a, HT_FLOAT64);
    assert_true(ht_item(ht_sum(ht_forward(a, ht_ones(HT_SHAPE(1, 3), HT_FLOAT64, HT_LOCAL)),
                               HT_NONE)) == 54);
    ht_test_remove(path);
    ht_release(a);
    ht_release(b);
}

/* Two steps of SGD in a wrapper, of a model with a parametrized layer. */
static double train(bool blocking)
{
    ht_module *net = ht_nn_sequential(HT_LIST(ht_module *, linear_new(), ht_nn_linear(2, 1))),
              *wrapper;
    ht_optimizer *sgd;
    double result;

    ht_fill_(ht_detach(ht_module_find_parameter(net, "1.weight")), 0.25);
    ht_fill_(ht_detach(ht_module_find_parameter(net, "1.bias")), 0);
    ht_nn_register_parametrization(ht_module_find(net, "0"), "weight", square(), root);
    sgd = ht_optim_sgd(ht_module_parameters(net), 0.01, NULL);
    wrapper = ht_nn_data_parallel(net, HT_COMM_WORLD, sgd, blocking);
    for (int i = 0; i < 2; i++) {
        ht_tensor *x = ht_full(HT_SHAPE(1, 3), 0.1 * (ht_test_rank + 1), HT_FLOAT32, HT_LOCAL);
        ht_tensor *y = ht_forward(wrapper, x);

        ht_optimizer_zero_grad(sgd);
        assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
        assert_int_equal(ht_optimizer_step(sgd), HT_SUCCESS);
    }
    result = output(net);
    ht_release(wrapper);
    ht_release(sgd);
    ht_release(net);
    return result;
}

static void due_updates_reach_the_originals(void **state)
{
    const double blocking = train(true);

    (void)state;
    assert_true(blocking < 6 && blocking > 4);
    assert_true(train(false) == blocking);
}

static void a_failing_parametrization_fails_the_forward(void **state)
{
    ht_module *linear = linear_new(), *norm = ht_nn_linear(3, 2);

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_int_equal(
        ht_nn_register_parametrization(linear, "weight", ht_module_new(0, &short_type), NULL),
        HT_ERR_SHAPE);
    ht_error_clear();
    assert_false(ht_nn_is_parametrized(linear, "weight"));
    assert_true(output(linear) == 24);
    ht_nn_register_parametrization(linear, "weight", square(), NULL);
    assert_int_equal(
        ht_nn_register_parametrization(linear, "weight", ht_module_new(0, &short_type), NULL),
        HT_ERR_SHAPE);
    ht_error_clear();
    assert_true(output(linear) == 96);

    assert_int_equal(ht_nn_register_parametrization(linear, "weights", square(), NULL),
                     HT_ERR_ARGUMENT);
    nn_assert_error("ht_nn_register_parametrization: name is 'weights', expected a parameter of "
                    "Linear");
    assert_int_equal(ht_nn_register_parametrization(NULL, "weight", square(), NULL),
                     HT_ERR_ARGUMENT);
    nn_assert_error("ht_nn_register_parametrization: module is NULL");
    assert_int_equal(ht_nn_register_parametrization(linear, "weight", NULL, NULL), HT_ERR_ARGUMENT);
    nn_assert_error("ht_nn_register_parametrization: parametrization is NULL");
    assert_int_equal(ht_nn_remove_parametrizations(norm, "weight", true), HT_ERR_ARGUMENT);
    nn_assert_error("ht_nn_remove_parametrizations: name is 'weight', expected a parametrized "
                    "parameter of Linear");
    assert_null(ht_nn_parametrized(norm, "bias"));
    nn_assert_error("ht_nn_parametrized: name is 'bias', expected a parametrized parameter of "
                    "Linear");
    ht_nn_register_parametrization(norm, "weight", product(), halves);
    assert_int_equal(ht_nn_remove_parametrizations(norm, "weight", false), HT_ERR_ARGUMENT);
    nn_assert_error("ht_nn_remove_parametrizations: leave_parametrized is false, expected true for "
                    "2 originals");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(linear);
    ht_release(norm);
}

static void other_owners_are_refused(void **state)
{
    ht_module *linear = linear_new(), *named = linear_new();

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    ht_module_add_buffer(named, "parametrizations", NULL, ht_scalar(1));
    assert_int_equal(ht_nn_register_parametrization(named, "weight", square(), NULL),
                     HT_ERR_ARGUMENT);
    nn_assert_error("ht_nn_register_parametrization: module is a Linear with a 'parametrizations' "
                    "of its own, expected one without");
    assert_true(output(named) == 24);
    ht_nn_register_parametrization(linear, "weight", square(), NULL);
    assert_int_equal(
        ht_nn_register_parametrization(ht_module_find(linear, "parametrizations.weight"),
                                       "original", square(), NULL),
        HT_ERR_ARGUMENT);
    nn_assert_error("ht_nn_register_parametrization: module is the list of a parametrized "
                    "parameter, expected another module");
    assert_true(output(linear) == 96);

    ht_module_replace(linear, "parametrizations", ht_nn_identity());
    assert_null(ht_forward(linear, ht_ones(HT_SHAPE(1, 3), HT_FLOAT32, HT_LOCAL)));
    nn_assert_error("ht_forward: the parametrizations of weight were removed");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(linear);
    ht_release(named);
}

/* The slot has the value of the last forward, of another dtype. */
static void the_next_parametrization_fits_the_present_value(void **state)
{
    ht_module *a = linear_new(), *b = linear_new();

    (void)state;
    ht_nn_register_parametrization(a, "weight", square(), NULL);
    ht_module_to_dtype(a, HT_FLOAT64);
    assert_int_equal(ht_nn_register_parametrization(a, "weight", square(), NULL), HT_SUCCESS);
    assert_true(ht_item(ht_sum(ht_nn_parametrized(a, "weight"), HT_NONE)) == 6 * 256);
    ht_nn_register_parametrization(b, "weight", square(), NULL);
    ht_module_to_dtype(b, HT_FLOAT64);
    assert_int_equal(ht_nn_spectral_norm(b, "weight"), HT_SUCCESS);
    assert_int_equal(ht_tensor_dtype(ht_nn_parametrized(b, "weight")), HT_FLOAT64);
    ht_release(a);
    ht_release(b);
}

static void wrapped_modules_are_refused(void **state)
{
    ht_module *linear = linear_new(), *wrapper;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    wrapper = ht_nn_data_parallel(linear, HT_COMM_WORLD, NULL, true);
    assert_int_equal(ht_nn_register_parametrization(linear, "weight", square(), NULL),
                     HT_ERR_STATE);
    ht_error_clear();
    assert_true(output(wrapper) == 24);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_release(wrapper);
    ht_release(linear);
}

HT_TEST_SUITE(test_parametrize, cmocka_unit_test(a_parameter_is_computed_from_its_original),
              cmocka_unit_test(right_inverses_keep_the_value),
              cmocka_unit_test(parametrizations_follow_each_other),
              cmocka_unit_test(removal_leaves_a_value_or_the_original),
              cmocka_unit_test(frozen_parameters_stay_frozen),
              cmocka_unit_test(clones_and_files_have_the_originals),
              cmocka_unit_test(due_updates_reach_the_originals),
              cmocka_unit_test(a_failing_parametrization_fails_the_forward),
              cmocka_unit_test(other_owners_are_refused),
              cmocka_unit_test(the_next_parametrization_fits_the_present_value),
              cmocka_unit_test(wrapped_modules_are_refused));

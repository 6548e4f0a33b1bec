/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Functions whose backward pass runs them again: gradients, memory, random numbers, errors. */
#include <math.h>

#include "ht.h"
#include "ht_test.h"
#include "tensor_check.h"

static int runs;

static ht_tensor *leaf(int64_t rows, int split, uint64_t seed)
{
    ht_tensor *x = ht_test_randn(2, (int64_t[]){rows, 4}, HT_FLOAT64, split, seed);

    assert_int_equal(ht_tensor_set_requires_grad(x, true), HT_SUCCESS);
    return x;
}

/* A chain of operations that save operands, results and nothing. */
static ht_tensor *chain(ht_tensor *in[], void *user)
{
    ht_tensor *y = ht_mul(ht_exp(ht_mul_scalar(in[0], 0.1)), in[0]);

    runs++;
    for (int i = 0; i < *(int *)user; i++)
        y = ht_add(ht_tanh(y), ht_mul(y, in[1]));
    return ht_sqrt(ht_add_scalar(ht_square(y), 1));
}

static const int splits[] = {HT_NONE, 0, 1};

/* The graph around the function is differentiated as well. */
static ht_tensor *loss_of(ht_tensor *in[], int *depth, bool again)
{
    ht_tensor *inner[2] = {ht_mul_scalar(in[0], 2), in[1]};

    return ht_sum(ht_sin(again ? ht_recomputed(chain, 2, inner, depth) : chain(inner, depth)),
                  HT_NONE);
}

static void gradients_have_the_same_bits(void **state)
{
    int depth = 3;

    (void)state;
    for (int i = 0; i < 3; i++) {
        ht_tensor *in[2] = {leaf(5, splits[i], 1), leaf(1, HT_NONE, 2)}, *grads[2];

        assert_int_equal(ht_backward(loss_of(in, &depth, false)), HT_SUCCESS);
        for (int k = 0; k < 2; k++) {
            grads[k] = ht_copy(ht_tensor_grad(in[k]));
            ht_tensor_set_grad(in[k], NULL);
        }
        runs = 0;
        ht_tensor *loss = loss_of(in, &depth, true);

        assert_int_equal(runs, 1);
        for (int pass = 0; pass < 2; pass++) { /* the other one uses what the first one kept */
            assert_int_equal(ht_backward_ext(loss, NULL, pass == 0), HT_SUCCESS);
            assert_int_equal(runs, 2);
            for (int k = 0; k < 2; k++) {
                ht_test_expect_same(ht_tensor_grad(in[k]), grads[k], 0);
                ht_tensor_set_grad(in[k], NULL);
            }
        }
    }
}

/* Between the passes a chain of any length keeps its input and its result. */
static void memory_is_that_of_inputs_and_result(void **state)
{
    ht_tensor *in[2] = {leaf(64, 0, 3), leaf(1, HT_NONE, 4)}, *y[2];
    int64_t storages[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        const int64_t before = ht_live_objects("storage");

        y[i] = ht_recomputed(chain, 2, in, &(int){i == 0 ? 1 : 20});
        storages[i] = ht_live_objects("storage") - before;
    }
    assert_int_equal(storages[0], storages[1]);
    assert_int_equal(storages[0], 1);
    ht_test_expect_same(y[0], chain(in, &(int){1}), 0);
}

static ht_tensor *noisy(ht_tensor *in[], void *user)
{
    ht_tensor *noise = ht_rand(2, ht_tensor_shape(in[0]), HT_FLOAT64, ht_tensor_split(in[0]));

    (void)user;
    runs++;
    return ht_mul(ht_exp(in[0]), noise);
}

static ht_tensor *twice_noisy(ht_tensor *in[], void *user)
{
    ht_tensor *y = ht_recomputed(noisy, 1, in, NULL);

    return ht_mul(ht_exp(y), ht_mul(noisy(&y, user), y));
}

static void check_draws(ht_recomputed_fn *f)
{
    ht_tensor *x = leaf(5, 0, 5), *grad, *loss;
    uint64_t seed, draw, after;

    ht_random_seed(11);
    assert_int_equal(ht_backward(ht_sum(f(&x, NULL), HT_NONE)), HT_SUCCESS);
    grad = ht_copy(ht_tensor_grad(x));
    ht_tensor_set_grad(x, NULL);
    ht_random_seed(11);
    loss = ht_sum(ht_recomputed(f, 1, &x, NULL), HT_NONE);
    ht_rand(HT_SHAPE(3), HT_FLOAT64, HT_NONE); /* between the passes */
    ht_random_get_state(&seed, &draw);
    assert_int_equal(ht_backward(loss), HT_SUCCESS);
    ht_random_get_state(&seed, &after);
    assert_int_equal(draw, after);
    ht_test_expect_same(ht_tensor_grad(x), grad, 0);
}

static void draws_are_the_same(void **state)
{
    (void)state;
    check_draws(noisy);
}

static void a_function_may_be_inside_another(void **state)
{
    (void)state;
    check_draws(twice_noisy);
}

static ht_tensor *scaled(ht_tensor *in[], void *split)
{
    return ht_tanh(ht_mul(in[0], ht_full(HT_SHAPE(1, 4), 2, HT_FLOAT64, *(int *)split)));
}

static void expect_gradient_after(ht_tensor *y, ht_tensor *x)
{
    assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
    assert_non_null(ht_tensor_grad(x));
}

/* In the backward pass another device, and then another communicator, is in use. */
static void new_tensors_are_on_the_same_device_and_communicator(void **state)
{
    ht_device *device = ht_get_device(), *other = ht_device_get("cpu:1");
    ht_comm *comm = ht_get_comm(), *alone = ht_comm_split(HT_COMM_WORLD, ht_test_rank, 0);
    int split = HT_LOCAL;
    ht_tensor *x, *y;

    (void)state;
    ht_use_device(other);
    x = ht_ones(HT_SHAPE(3, 4), HT_FLOAT64, HT_LOCAL);
    ht_tensor_set_requires_grad(x, true);
    y = ht_recomputed(scaled, 1, &x, &split);
    ht_use_device(device);
    expect_gradient_after(y, x);
    assert_ptr_equal(ht_get_device(), device);

    split = HT_NONE;
    ht_use_comm(alone);
    x = ht_ones(HT_SHAPE(3, 4), HT_FLOAT64, HT_NONE);
    ht_tensor_set_requires_grad(x, true);
    y = ht_recomputed(scaled, 1, &x, &split);
    ht_use_comm(comm);
    ht_release(alone);
    expect_gradient_after(y, x);
    assert_ptr_equal(ht_get_comm(), comm);
}

static void without_recording_it_runs_once(void **state)
{
    ht_tensor *x = leaf(5, 0, 6);
    const bool was = ht_set_grad_enabled(false);

    (void)state;
    runs = 0;
    assert_false(ht_tensor_requires_grad(ht_recomputed(noisy, 1, &x, NULL)));
    ht_set_grad_enabled(was);
    assert_int_equal(runs, 1);
}

static ht_tensor *changing(ht_tensor *in[], void *user)
{
    return ++*(int *)user > 1 ? ht_tanh(in[0]) : ht_exp(in[0]);
}

/* Operations of the same names: of other shapes, of another dtype, and with another index saved. */
static ht_tensor *shorter(ht_tensor *in[], void *user)
{
    return ht_exp(ht_narrow(in[0], 1, 0, ++*(int *)user > 1 ? 1 : 4));
}

static ht_tensor *converted(ht_tensor *in[], void *user)
{
    ht_tensor *y = ht_astype(in[0], ++*(int *)user > 1 ? HT_FLOAT64 : HT_FLOAT32);

    return ht_exp(ht_mul_scalar(y, 2));
}

static ht_tensor *picked(ht_tensor *in[], void *user)
{
    const int64_t count = ++*(int *)user > 1 ? 1 : 3;

    return ht_getitem(in[0], HT_KEY(ht_arange(0, (double)count, 1, HT_INT64, HT_NONE)));
}

static ht_tensor *drawing(ht_tensor *in[], void *user)
{
    return ht_dropout(ht_narrow(in[0], 1, 0, ++*(int *)user > 1 ? 1 : 4), 0.5, 1, 1);
}

static void another_second_run_is_found(void **state)
{
    static ht_recomputed_fn *const functions[] = {changing, shorter, converted, picked, drawing};

    (void)state;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        ht_tensor *x = leaf(5, 0, 9), *y = ht_recomputed(functions[i], 1, &x, &(int){0});

        HT_TEST_EXPECT_ERROR(ht_backward(ht_sum(ht_square(y), HT_NONE)), HT_ERR_STATE,
                             "made other operations in its second run");
        assert_null(ht_tensor_grad(x));
    }
}

static ht_tensor *failing(ht_tensor *in[], void *user)
{
    return ++*(int *)user > 1 ? NULL : ht_exp(in[0]);
}

static void errors_of_the_second_run_end_the_pass(void **state)
{
    ht_tensor *x = leaf(5, 0, 7), *y;

    (void)state;
    y = ht_recomputed(failing, 1, &x, &(int){0});
    HT_TEST_EXPECT_ERROR(ht_backward(ht_sum(y, HT_NONE)), HT_ERR_ARGUMENT,
                         "the result of f is NULL");
    assert_null(ht_tensor_grad(x));
}

static void a_pass_after_one_that_failed_fails(void **state)
{
    ht_tensor *x = leaf(5, 0, 7), *loss;

    (void)state;
    loss = ht_sum(ht_recomputed(failing, 1, &x, &(int){0}), HT_NONE);
    HT_TEST_EXPECT_ERROR(ht_backward_ext(loss, NULL, true), HT_ERR_ARGUMENT,
                         "the result of f is NULL");
    HT_TEST_EXPECT_ERROR(ht_backward_ext(loss, NULL, true), HT_ERR_STATE,
                         "f of ht_recomputed has failed in an earlier second run");
    assert_null(ht_tensor_grad(x));
}

static ht_tensor *empty(ht_tensor *in[], void *user)
{
    (void)in, (void)user;
    return NULL;
}

static void wrong_calls_are_refused(void **state)
{
    ht_tensor *x = leaf(5, 0, 7);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_recomputed(NULL, 1, &x, NULL), HT_ERR_ARGUMENT, "f is NULL");
    HT_TEST_EXPECT_ERROR(ht_recomputed(noisy, 1, NULL, NULL), HT_ERR_ARGUMENT, "inputs is NULL");
    HT_TEST_EXPECT_ERROR(ht_recomputed(noisy, -5, &x, NULL), HT_ERR_ARGUMENT,
                         "ht_recomputed: count is -5, expected at least 0");
    HT_TEST_EXPECT_ERROR(ht_recomputed(empty, 0, NULL, NULL), HT_ERR_STATE,
                         "ht_recomputed: f returned NULL without an error");
}

static ht_tensor *times(ht_tensor *in[], void *factor)
{
    return ht_mul(ht_exp(in[0]), factor);
}

/* The view follows its base in the first run, and is up to date in the second one. */
static void a_view_may_be_behind_its_base(void **state)
{
    ht_tensor *x = leaf(5, 0, 10), *y = leaf(5, 0, 11), *grads[2];

    (void)state;
    for (int again = 0; again < 2; again++) {
        ht_tensor *base = ht_mul_scalar(y, 2), *view = ht_narrow(base, 1, 0, 4), *product;

        assert_int_equal(ht_fill_(ht_narrow(base, 1, 0, 2), 3), HT_SUCCESS);
        product = again ? ht_recomputed(times, 1, &x, view) : times(&x, view);
        assert_int_equal(ht_backward(ht_sum(product, HT_NONE)), HT_SUCCESS);
        if (again) {
            ht_test_expect_same(ht_tensor_grad(x), grads[0], 0);
            ht_test_expect_same(ht_tensor_grad(y), grads[1], 0);
            continue;
        }
        grads[0] = ht_copy(ht_tensor_grad(x));
        grads[1] = ht_copy(ht_tensor_grad(y));
        ht_tensor_set_grad(x, NULL);
        ht_tensor_set_grad(y, NULL);
    }
}

static void an_input_that_changes_is_found(void **state)
{
    ht_tensor *x = leaf(5, 0, 8), *inner = ht_mul_scalar(x, 2), *loss;

    (void)state;
    loss = ht_sum(ht_recomputed(noisy, 1, &inner, NULL), HT_NONE);
    ht_fill_(ht_detach(inner), 0);
    HT_TEST_EXPECT_ERROR(ht_backward(loss), HT_ERR_STATE,
                         "input 0 of ht_recomputed, (5, 4), has been changed in place since");
}

HT_TEST_SUITE(test_recompute, cmocka_unit_test(gradients_have_the_same_bits),
              cmocka_unit_test(memory_is_that_of_inputs_and_result),
              cmocka_unit_test(draws_are_the_same),
              cmocka_unit_test(a_function_may_be_inside_another),
              cmocka_unit_test(new_tensors_are_on_the_same_device_and_communicator),
              cmocka_unit_test(without_recording_it_runs_once),
              cmocka_unit_test(another_second_run_is_found),
              cmocka_unit_test(errors_of_the_second_run_end_the_pass),
              cmocka_unit_test(a_pass_after_one_that_failed_fails),
              cmocka_unit_test(wrong_calls_are_refused),
              cmocka_unit_test(a_view_may_be_behind_its_base),
              cmocka_unit_test(an_input_that_changes_is_found));

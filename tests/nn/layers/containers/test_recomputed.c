/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* A module that runs again in the backward pass trains like the module itself. */
#include <math.h>

#include "ht.h"
#include "ht_test.h"
#include "tensor_check.h"

enum { ROWS = 6, FEATURES = 4 };

static ht_module *item_of(bool again, ht_module *module)
{
    return again ? ht_nn_recomputed(module) : ht_nn_sequential(1, &module);
}

/* Layers that draw, that track statistics, and that iterate; paths are the same either way. */
static ht_module *new_net(bool again)
{
    ht_module *inner[5], *net;

    ht_nn_seed(5);
    inner[0] = ht_nn_linear(FEATURES, FEATURES);
    inner[1] = ht_nn_batch_norm1d(FEATURES, NULL);
    inner[2] = ht_nn_tanh();
    inner[3] = ht_nn_dropout(0.4);
    inner[4] = ht_nn_linear(FEATURES, FEATURES);
    ht_nn_spectral_norm(inner[4], "weight");
    net = ht_nn_sequential(3, (ht_module *[]){ht_nn_linear(FEATURES, FEATURES),
                                              item_of(again, ht_nn_sequential(5, inner)),
                                              ht_nn_linear(FEATURES, 1)});
    ht_module_to_dtype(net, HT_FLOAT64);
    return net;
}

static ht_tensor *batch(int step)
{
    double values[ROWS * FEATURES];

    for (int i = 0; i < ROWS * FEATURES; i++)
        values[i] = sin(1.3 * i + step + 10 * ht_test_rank);
    return ht_array(values, HT_SHAPE(ROWS, FEATURES), HT_FLOAT64, HT_LOCAL);
}

static void count_ready(ht_tensor *x, void *user)
{
    (void)x;
    ++*(int *)user;
}

static void watch(const char *name, ht_tensor *parameter, void *user)
{
    (void)name;
    assert_int_not_equal(ht_tensor_register_grad_ready_hook(parameter, count_ready, user), 0);
}

/* Two steps of data-parallel training; counts the hooks of the last one. */
static ht_module *trained(bool again, bool blocking, int *ready)
{
    ht_module *net = new_net(again), *dp;
    ht_optimizer *optimizer = ht_optim_sgd(ht_module_parameters(net), 0.1, NULL);

    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, blocking);
    ht_module_named_parameters(net, watch, ready);
    for (int step = 0; step < 2; step++) {
        ht_scope *scope = ht_scope_open();

        *ready = 0;
        ht_optimizer_zero_grad(optimizer);
        assert_int_equal(ht_backward(ht_mean(ht_square(ht_forward(dp, batch(step))), HT_NONE)),
                         HT_SUCCESS);
        assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
        ht_scope_close(scope);
    }
    ht_release(dp);
    ht_release(optimizer);
    return net;
}

static void expect_same_tensors(ht_value *a, ht_value *b)
{
    assert_int_equal(ht_value_count(a), ht_value_count(b));
    for (int i = 0; i < ht_value_count(a); i++)
        ht_test_expect_same(ht_value_as_tensor(ht_value_at(a, i)),
                            ht_value_as_tensor(ht_value_at(b, i)), 0);
}

static void it_trains_like_the_module_itself(void **state)
{
    (void)state;
    for (int blocking = 0; blocking < 2; blocking++) {
        int ready[2];
        ht_module *nets[2] = {trained(false, blocking, &ready[0]),
                              trained(true, blocking, &ready[1])};

        expect_same_tensors(ht_module_parameters(nets[0]), ht_module_parameters(nets[1]));
        expect_same_tensors(ht_module_buffers(nets[0]), ht_module_buffers(nets[1]));
        assert_int_equal(ready[0], ready[1]);
        assert_int_equal(ready[0], ht_value_count(ht_module_parameters(nets[0])));
        for (int i = 0; i < 2; i++)
            ht_release(nets[i]);
    }
}

static int64_t storages_of_forward(bool again, ht_tensor **y)
{
    ht_module *net = new_net(again), *item = ht_module_find(net, "1");
    ht_tensor *x = batch(0);
    int64_t before;

    ht_forward(item, x); /* makes what the layers keep */
    before = ht_live_objects("storage");

    ht_scope *scope = ht_scope_open();

    *y = ht_scope_return(scope, ht_forward(item, x));
    before = ht_live_objects("storage") - before;
    ht_release(net);
    return before;
}

static void activations_are_not_kept(void **state)
{
    ht_tensor *y[2];
    const int64_t kept = storages_of_forward(false, &y[0]);

    (void)state;
    assert_true(kept > 4);
    /* The result, a parametrized weight, and the vectors it was made with. */
    assert_true(storages_of_forward(true, &y[1]) <= 4);
    ht_test_expect_same(y[0], y[1], 0);
}

/* As of a discriminator, which sees real images and others before one backward pass. */
static void two_forward_passes_keep_their_spectral_norms(void **state)
{
    ht_tensor *grads[2];

    (void)state;
    for (int again = 0; again < 2; again++) {
        ht_module *net = new_net(again);
        ht_tensor *x = batch(0), *y;

        ht_tensor_set_requires_grad(x, true);
        y = ht_square(ht_forward(net, x));
        y = ht_add(y, ht_square(ht_forward(net, batch(1))));
        assert_int_equal(ht_backward(ht_mean(y, HT_NONE)), HT_SUCCESS);
        grads[again] = ht_tensor_grad(x);
        ht_release(net);
    }
    ht_test_expect_same(grads[1], grads[0], 0);
}

static void look(ht_module *module, int input_count, ht_tensor *grad_inputs[], int output_count,
                 ht_tensor *const grad_outputs[], void *user)
{
    double *sums = user;

    (void)module, (void)input_count, (void)output_count;
    sums[0]++;
    sums[1] += ht_item(ht_sum(grad_inputs[0], HT_NONE));
    sums[2] += ht_item(ht_sum(grad_outputs[0], HT_NONE));
}

static void look_before(ht_module *module, int count, ht_tensor *grad_outputs[], void *user)
{
    (void)module, (void)count;
    ((double *)user)[3] += ht_item(ht_sum(ht_square(grad_outputs[0]), HT_NONE));
}

/* They are given what they get without the second run, and run once a pass. */
static void hooks_of_modules_inside_see_the_gradients(void **state)
{
    double sums[2][4] = {{0}};

    (void)state;
    for (int again = 0; again < 2; again++) {
        ht_module *net = new_net(again);
        ht_module *layer = ht_module_find(net, "1.0.0");
        ht_tensor *y;

        ht_module_register_full_backward_hook(layer, look, sums[again]);
        ht_module_register_full_backward_pre_hook(layer, look_before, sums[again]);
        y = ht_mean(ht_square(ht_forward(net, batch(0))), HT_NONE);
        assert_int_equal(ht_backward_ext(y, NULL, true), HT_SUCCESS);
        assert_int_equal(ht_backward(y), HT_SUCCESS);
        ht_release(net);
    }
    assert_true(sums[0][0] == 2 && sums[0][3] > 0);
    assert_memory_equal(sums[0], sums[1], sizeof sums[0]);
}

enum { LAYERS = 5 };

static int forwards;

static ht_tensor *counted(ht_module *self, ht_tensor *x)
{
    (void)self;
    forwards++;
    return ht_tanh(x);
}

static const ht_module_type counted_type = {.name = "Counted", .forward = counted};

/* segments: 0 for a sequential module. */
static ht_module *new_stack(int segments)
{
    ht_module *layers[LAYERS];

    ht_nn_seed(6);
    for (int i = 0; i < LAYERS; i++)
        layers[i] = i % 2 == 0 ? ht_nn_linear(FEATURES, FEATURES) : ht_module_new(0, &counted_type);
    return segments == 0 ? ht_nn_sequential(LAYERS, layers)
                         : ht_nn_recomputed_sequential(segments, LAYERS, layers);
}

static ht_value *stack_gradients(ht_module *stack)
{
    ht_value *parameters = ht_module_parameters(stack), *grads = ht_value_list();
    ht_tensor *x = ht_astype(batch(0), HT_FLOAT32);

    forwards = 0;
    assert_int_equal(ht_backward(ht_sum(ht_square(ht_forward(stack, x)), HT_NONE)), HT_SUCCESS);
    for (int i = 0; i < ht_value_count(parameters); i++)
        ht_value_append(grads, ht_value_tensor(ht_copy(ht_tensor_grad(
                                   ht_value_as_tensor(ht_value_at(parameters, i))))));
    return grads;
}

/* Runs of the layers 1 and 3 of five, by the number of segments: those of the last segment run once. */
static void a_sequential_module_runs_again_in_segments(void **state)
{
    static const int expected[] = {2, 2, 3, 3, 3, 4};
    ht_module *plain = new_stack(0);
    ht_value *grads = stack_gradients(plain);

    (void)state;
    for (int segments = 1; segments <= LAYERS; segments++) {
        ht_module *stack = new_stack(segments), *copy = ht_module_clone(stack);

        assert_non_null(ht_module_find_parameter(stack, "4.weight"));
        expect_same_tensors(stack_gradients(stack), grads);
        assert_int_equal(forwards, expected[segments]);
        ht_release(stack);
        expect_same_tensors(stack_gradients(copy), grads);
        ht_release(copy);
    }
    ht_release(plain);
}

static void a_module_is_expected(void **state)
{
    ht_module *layers[2] = {NULL, NULL};

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_nn_recomputed(NULL), HT_ERR_ARGUMENT, "NULL");
    HT_TEST_EXPECT_ERROR(ht_nn_recomputed_sequential(1, 2, layers), HT_ERR_ARGUMENT, "NULL");
    HT_TEST_EXPECT_ERROR(ht_nn_recomputed_sequential(1, 2, NULL), HT_ERR_ARGUMENT,
                         "ht_nn_recomputed_sequential: modules is NULL");
    layers[0] = ht_nn_tanh();
    HT_TEST_EXPECT_ERROR(ht_nn_recomputed_sequential(0, 1, layers), HT_ERR_ARGUMENT,
                         "ht_nn_recomputed_sequential: segments is 0, expected 1 to count, 1");
    layers[0] = ht_nn_tanh();
    HT_TEST_EXPECT_ERROR(ht_nn_recomputed_sequential(2, 1, layers), HT_ERR_ARGUMENT,
                         "ht_nn_recomputed_sequential: segments is 2, expected 1 to count, 1");
}

HT_TEST_SUITE(test_recomputed, cmocka_unit_test(it_trains_like_the_module_itself),
              cmocka_unit_test(activations_are_not_kept),
              cmocka_unit_test(two_forward_passes_keep_their_spectral_norms),
              cmocka_unit_test(hooks_of_modules_inside_see_the_gradients),
              cmocka_unit_test(a_sequential_module_runs_again_in_segments),
              cmocka_unit_test(a_module_is_expected));

/* ranks 1 */
/* SPDX-License-Identifier: MIT */
/* Memory for a tensor runs out at every place of a call in turn, with operands that have to be
 * copied first: an error, or what the call gives with memory; never a result without one of the
 * operands. */
#include "core/tensor/tensor.h"
#include "nn_test.h"
#include "tensor_check.h"

enum { OPERANDS = 3, NUMBERS = OPERANDS + 1 };

static ht_tensor *operands[OPERANDS];

/* Every second number of an operand along its last axis. */
static ht_tensor *strided(int index)
{
    ht_tensor *x = operands[index];
    int last = ht_tensor_ndim(x) - 1;
    int64_t shape[HT_MAX_NDIM + 1];

    for (int i = 0; i < last; i++)
        shape[i] = ht_tensor_shape(x)[i];
    shape[last] = ht_tensor_shape(x)[last] / 2;
    shape[last + 1] = 2;
    x = ht_reshape(x, last + 2, shape);
    return ht_squeeze(ht_narrow(x, last + 1, 0, 1), last + 1);
}

static ht_tensor *linear(void)
{
    return ht_linear(strided(0), strided(1), strided(2));
}

static ht_tensor *conv2d(void)
{
    return ht_conv2d(strided(0), strided(1), strided(2), NULL);
}

static ht_tensor *max_pool2d(void)
{
    return ht_max_pool2d(strided(0), 2);
}

static ht_tensor *batch_norm(void)
{
    return ht_batch_norm(strided(0), NULL, NULL, strided(1), strided(2), true, 0.1, 1e-5);
}

static ht_tensor *dropout(void)
{
    return ht_dropout2d(ht_dropout(strided(0), 0.5, 1, 2), 0.5, 3, 4);
}

static ht_tensor *losses(void)
{
    static const int64_t classes[] = {1, 0, 2, 9}, length = 4;
    ht_tensor *target = ht_array(classes, 1, &length, HT_INT64, HT_LOCAL);

    target = target != NULL ? ht_narrow(target, 0, 0, 3) : NULL;
    return ht_add(ht_cross_entropy(strided(0), target, HT_MEAN),
                  ht_mse_loss(strided(0), strided(1), HT_MEAN));
}

static const struct call {
    const char *name;
    ht_tensor *(*make)(void);
    struct {
        int ndim;
        int64_t shape[4];
    } operands[OPERANDS];
} calls[] = {
    {"ht_linear", linear, {{2, {5, 6}}, {2, {4, 6}}, {1, {8}}}},
    {"ht_conv2d", conv2d, {{4, {2, 2, 4, 8}}, {4, {3, 2, 3, 6}}, {1, {6}}}},
    {"ht_max_pool2d", max_pool2d, {{4, {2, 2, 4, 8}}, {1, {2}}, {1, {2}}}},
    {"ht_batch_norm", batch_norm, {{2, {5, 6}}, {1, {6}}, {1, {6}}}},
    {"ht_dropout", dropout, {{3, {2, 3, 8}}, {1, {2}}, {1, {2}}}},
    {"losses", losses, {{2, {3, 6}}, {2, {3, 6}}, {1, {2}}}},
};

static double sum_of(ht_tensor *x)
{
    const double *data = x != NULL ? ht_test_data(x) : NULL;
    double sum = 0;

    for (int64_t i = 0; data != NULL && i < ht_tensor_size(x); i++)
        sum += (double)(i + 1) * data[i];
    return sum;
}

/* One number of the result and one of each gradient. */
static ht_status run(const struct call *call, double numbers[NUMBERS])
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *y = call->make();
    ht_status status = HT_SUCCESS;

    y = y != NULL ? ht_sum(ht_mul(y, y), HT_NONE) : NULL;
    if (y == NULL || ht_backward(y) != HT_SUCCESS)
        status = ht_error_get(NULL);
    numbers[0] = sum_of(y);
    for (int i = 0; i < OPERANDS; i++) {
        numbers[1 + i] = sum_of(ht_tensor_grad(operands[i]));
        ht_tensor_set_grad(operands[i], NULL);
    }
    ht_scope_close(scope);
    return status;
}

static void starve(const struct call *call)
{
    double expected[NUMBERS], numbers[NUMBERS];
    long n = 0, left;

    assert_int_equal(run(call, expected), HT_SUCCESS);
    assert_true(expected[0] != 0);
    do {
        ht__alloc_fail(0, ++n, true);
        ht_status status = run(call, numbers);
        left = ht__alloc_fail(-1, 0, true);
        if (left <= 0 && status != HT_ERR_MEMORY)
            fail_msg("%s: tensor %ld without memory: %s", call->name, n, ht_status_name(status));
        if (left > 0) {
            assert_int_equal(status, HT_SUCCESS);
            assert_memory_equal(numbers, expected, sizeof expected);
        }
        ht_error_clear();
    } while (left <= 0);
    assert_true(n > 3);
}

static void test_strided_operands(void **state)
{
    ht_use_device(ht_device_get("cpu"));

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        for (int k = 0; k < OPERANDS; k++)
            operands[k] = nn_leaf(k + 1, calls[i].operands[k].ndim, calls[i].operands[k].shape,
                                  HT_NONE);
        starve(&calls[i]);
    }
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
}

static ht_module *net; /* with a gradient */
static ht_optimizer *optimizer;

static bool state_of_optimizer(void)
{
    return ht_optimizer_state_dict(optimizer) != NULL;
}

static bool state_of_random(void)
{
    return ht_nn_random_state_dict(net, HT_COMM_WORLD) != NULL;
}

static bool random_there_and_back(void)
{
    ht_value *map = ht_nn_random_state_dict(net, HT_COMM_WORLD);

    return map != NULL && ht_nn_random_load_state_dict(net, map, HT_COMM_WORLD) == HT_SUCCESS;
}

static bool largest_of_gradients(void)
{
    return !isnan(ht_clip_grad_norm_(ht_module_parameters(net), 1e9, INFINITY, false)) &&
           ht_error_get(NULL) == HT_SUCCESS;
}

/* The gradients follow, or nothing moves. */
static bool module_moves(void)
{
    ht_tensor *weight = ht_value_as_tensor(ht_value_at(ht_module_parameters(net), 0));
    ht_status status = ht_module_to_dtype(net, HT_FLOAT64);

    assert_non_null(ht_tensor_grad(weight));
    assert_int_equal(ht_tensor_dtype(ht_tensor_grad(weight)), ht_tensor_dtype(weight));
    return status == HT_SUCCESS;
}

static const struct {
    const char *name;
    bool (*done)(void);
} steps[] = {
    {"ht_optimizer_state_dict", state_of_optimizer},
    {"ht_nn_random_state_dict", state_of_random},
    {"ht_nn_random_load_state_dict", random_there_and_back},
    {"ht_clip_grad_norm_", largest_of_gradients},
    {"ht_module_to_dtype", module_moves},
};

static void set_up(void)
{
    net = ht_nn_sequential(HT_LIST(ht_module *, ht_nn_linear(3, 2), ht_nn_dropout(0.5)));
    optimizer = ht_optim_adam(ht_module_parameters(net), 0.1, NULL);
    ht_backward(ht_sum(ht_forward(net, ht_ones(HT_SHAPE(4, 3), HT_FLOAT32, HT_NONE)), HT_NONE));
    ht_optimizer_step(optimizer);
}

static void test_states_and_moves(void **state)
{
    (void)state;
    set_up();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        long n = 0, left;

        do {
            ht_scope *scope = ht_scope_open();

            ht__alloc_fail(0, ++n, true);
            bool done = steps[i].done();
            left = ht__alloc_fail(-1, 0, true);
            if (done != (left > 0))
                fail_msg("%s: tensor %ld without memory: %s", steps[i].name, n,
                         done ? "done" : "not done");
            if (!done)
                assert_int_equal(ht_error_get(NULL), HT_ERR_MEMORY);
            ht_error_clear();
            assert_int_equal(ht_module_to_dtype(net, HT_FLOAT32), HT_SUCCESS);
            ht_scope_close(scope);
        } while (left <= 0);
        assert_true(n > 1);
    }
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(optimizer);
    ht_release(net);
}

HT_TEST_SUITE(test_starved_strided, cmocka_unit_test(test_strided_operands),
              cmocka_unit_test(test_states_and_moves));

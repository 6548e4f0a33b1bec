/* ranks 1 */
/* SPDX-License-Identifier: MIT */
/* Memory for a tensor runs out at every place of a call in turn, with operands that have to be
 * copied first. The result is an error, or the same as with memory: never one that misses an
 * operand. */
#include "core/tensor/tensor.h"
#include "functionals.h"
#include "nn_test.h"
#include "tensor_check.h"

enum { NUMBERS = NN_OPERANDS + 1 };

static ht_tensor *doubled[NN_OPERANDS]; /* leaves; operands are every second element */

static double sum_of(ht_tensor *x)
{
    const double *data = x != NULL ? ht_test_data(x) : NULL;
    double sum = 0;

    for (int64_t i = 0; data != NULL && i < ht_tensor_size(x); i++)
        sum += (double)(i + 1) * data[i];
    return sum;
}

static ht_tensor *call(const nn_functional *f)
{
    ht_tensor *in[NN_OPERANDS] = {NULL};

    for (int i = 0; i < f->count; i++)
        in[i] = nn_every_second(doubled[i]);
    if (f->in_place)
        in[0] = ht_mul_scalar(in[0], 1);
    return f->call(in, f);
}

/* One number of the result and one of each gradient. */
static ht_status run(const nn_functional *f, double numbers[NUMBERS])
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *y = call(f);
    ht_status status = HT_SUCCESS;

    y = y != NULL ? ht_sum(ht_mul(y, y), HT_NONE) : NULL;
    if (y == NULL || ht_backward(y) != HT_SUCCESS)
        status = ht_error_get(NULL);
    numbers[0] = sum_of(y);
    for (int i = 0; i < f->count; i++) {
        if (!(f->operands[i].flags & NN_GRAD))
            continue;
        numbers[1 + i] = sum_of(ht_tensor_grad(doubled[i]));
        ht_tensor_set_grad(doubled[i], NULL);
    }
    ht_scope_close(scope);
    return status;
}

static void make(const nn_functional *f)
{
    for (int i = 0; i < f->count; i++) {
        doubled[i] = ht_detach(nn_doubled(nn_operand_of(f, i, HT_FLOAT64, HT_NONE)));
        if (f->operands[i].flags & NN_GRAD)
            ht_tensor_set_requires_grad(doubled[i], true);
    }
}

static void starve(const nn_functional *f)
{
    double expected[NUMBERS] = {0}, numbers[NUMBERS] = {0};
    long n = 0, left;

    assert_int_equal(run(f, expected), HT_SUCCESS);
    assert_true(expected[0] != 0);
    do {
        ht__alloc_fail(0, ++n, true);
        ht_status status = run(f, numbers);
        left = ht__alloc_fail(-1, 0, true);
        if (left <= 0 && status != HT_ERR_MEMORY)
            fail_msg("%s: tensor %ld without memory: %s", f->name, n, ht_status_name(status));
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
    for (const nn_functional *f = nn_functionals; f->name != NULL; f++) {
        ht_scope *scope = ht_scope_open();

        make(f);
        starve(f);
        ht_scope_close(scope);
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

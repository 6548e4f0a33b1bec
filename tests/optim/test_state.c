/* ranks 1 3 */
/* SPDX-License-Identifier: MIT */
/* An optimizer that resumes from another's state: the same parameters to the bit. */
#include "ht_test.h"
#include "tensor_check.h"

#include <math.h>

#include "ht.h"
#include "optimizer_kinds.h"

enum { SIZE = 5 };

static ht_optimizer *new_optimizer(int kind, ht_tensor *p)
{
    return optimizer_of((enum optimizer_kind)kind, ht_value_tensors(1, &p));
}

static ht_tensor *new_parameter(void)
{
    double start[SIZE] = {1, -2, 0.5, 3, -0.25};
    int64_t shape[] = {SIZE};

    return ht_array(start, 1, shape, HT_FLOAT64, HT_LOCAL);
}

/* Steps with gradients that depend on the parameter and the step. */
static void steps(ht_optimizer *o, int first, int count)
{
    ht_tensor *p = ht_optimizer_parameter(o, 0);

    for (int i = first; i < first + count; i++) {
        ht_tensor_set_grad(p, ht_tanh(ht_mul_scalar(p, 1 + i)));
        assert_int_equal(ht_optimizer_step(o), HT_SUCCESS);
    }
}

/* The state is taken after `before` steps; with 0 it has no tensors yet. */
static void check_resumed(int kind, int before)
{
    ht_tensor *p = new_parameter(), *q = new_parameter();
    ht_optimizer *o = new_optimizer(kind, p), *next = new_optimizer(kind, q);

    steps(o, 0, before);
    ht_optimizer_set_lr(o, 0.05);
    steps(next, 7, 2); /* of which nothing may remain */
    ht_copy_(q, p);
    assert_int_equal(ht_optimizer_load_state_dict(next, ht_optimizer_state_dict(o)), HT_SUCCESS);
    assert_int_equal(ht_optimizer_steps(next), before);
    steps(o, before, 4);
    steps(next, before, 4);
    assert_memory_equal(ht_test_data(q), ht_test_data(p), SIZE * sizeof(double));
    ht_release(o);
    ht_release(next);
}

static void test_resumed(void **state)
{
    (void)state;
    for (int kind = 0; kind < ALL_KINDS; kind++) {
        check_resumed(kind, 3);
        check_resumed(kind, 0);
    }
}

/* With an update that waits under a wrapper: the state has it. */
static void test_deferred_update_is_in_the_state(void **state)
{
    ht_module *net = ht_nn_linear(3, 2), *dp;
    ht_optimizer *o = ht_optim_adam(ht_module_parameters(net), 0.1, NULL);
    double rows[] = {1, 2, 3, 4, 5, 6};
    int64_t shape[] = {2, 3};
    ht_value *map;

    (void)state;
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, o, false);
    ht_backward(ht_sum(
        ht_forward(dp, ht_astype(ht_array(rows, 2, shape, HT_FLOAT64, HT_LOCAL), HT_FLOAT32)),
        HT_NONE));
    ht_optimizer_step(o);
    map = ht_value_at(ht_value_get(ht_optimizer_state_dict(o), "state"), 0);
    assert_true(ht_value_as_number(ht_value_get(map, "step")) == 1);
    assert_non_null(ht_value_as_tensor(ht_value_get(map, "exp_avg")));
    ht_release(dp);
    ht_release(net);
    ht_release(o);
}

static ht_optimizer *of_shape(int64_t rows, int64_t columns)
{
    int64_t shape[] = {rows, columns};
    double zeros[6] = {0};
    ht_tensor *p = ht_array(zeros, 2, shape, HT_FLOAT64, HT_LOCAL);
    ht_optimizer *o = ht_optim_adam(ht_value_tensors(1, &p), 0.1, NULL);

    steps(o, 0, 1);
    return o;
}

static void assert_refused(ht_optimizer *o, ht_value *state, const char *message)
{
    assert_int_equal(ht_optimizer_load_state_dict(o, state), HT_ERR_FORMAT);
    assert_message(message);
}

/* The first difference is named, and nothing is changed. */
static void test_states_that_do_not_fit(void **state)
{
    ht_tensor *p = new_parameter(), *q = new_parameter(), *both[] = {p, q};
    ht_optimizer *adamw = new_optimizer(ADAMW, p), *adam = of_shape(2, 3), *turned = of_shape(3, 2);
    ht_optimizer *grouped = ht_optim_adam(ht_value_tensors(1, &p), 0.1, NULL);
    ht_optimizer *pair = ht_optim_adam(ht_value_tensors(2, both), 0.1, NULL);
    ht_value *good = ht_optimizer_state_dict(adam), *group;

    (void)state;
    ht_optim_adam_add_param_group(grouped, ht_value_tensors(1, &q), 0.1, NULL);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_refused(adamw, good, "state is of Adam, but optimizer is AdamW");
    assert_refused(adam, ht_value_map(), "the state is not that of an optimizer");
    assert_refused(grouped, good, "the state has 1 groups, but the optimizer has 2");
    assert_refused(pair, good, "group 0 has 1 parameters, expected 2 as in the optimizer");
    assert_refused(turned, good,
                   "\"exp_avg\" of parameter 0 is (2, 3), but the parameter is (3, 2)");
    group = ht_value_at(ht_value_get(good, "param_groups"), 0);
    ht_value_set(group, "beta2", ht_value_number(1));
    ht_value_set(group, "lr", ht_value_number(7));
    assert_refused(adam, good, "the state of group 0 has no number \"beta2\" in [0, 1)");
    assert_true(ht_optimizer_lr(adam) == 0.1);
    for (int i = 0; i < 6; i++) { /* a count, a count of one parameter, a first rate */
        static const double wrong[] = {NAN, -1, 0.5};

        good = ht_optimizer_state_dict(adam);
        group = ht_value_at(ht_value_get(good, "param_groups"), 0);
        ht_value_set(i < 3 ? good : ht_value_at(ht_value_get(good, "state"), 0), "step",
                     ht_value_number(wrong[i % 3]));
        assert_refused(adam, good, "\"step\"");
    }
    good = ht_optimizer_state_dict(adam);
    ht_value_set(ht_value_at(ht_value_get(good, "param_groups"), 0), "initial_lr",
                 ht_value_number(NAN));
    assert_refused(adam, good, "\"initial_lr\"");
    good = ht_optimizer_state_dict(adam);
    ht_value_set(ht_value_at(ht_value_get(good, "param_groups"), 0), "maximize",
                 ht_value_number(0.5));
    assert_refused(adam, good, "\"maximize\" of group 0 is 0.5, expected 0 or 1");
    for (int i = 0; i < (ht_test_size > 1 ? 2 : 1); i++) { /* neither half nor ranks are dropped */
        ht_value *entry;
        ht_tensor *x;

        good = ht_optimizer_state_dict(adam);
        entry = ht_value_at(ht_value_get(good, "state"), 0);
        x = ht_value_as_tensor(ht_value_get(entry, "exp_avg_sq"));
        x = i == 0 ? ht_astype(x, HT_COMPLEX64) : ht_zeros(2, ht_tensor_shape(x), HT_FLOAT64, 0);
        ht_value_set(entry, "exp_avg_sq", ht_value_tensor(x));
        assert_refused(
            adam, good,
            i == 0 ? "\"exp_avg_sq\" of parameter 0 is complex64, but the parameter is float"
                   : "\"exp_avg_sq\" of parameter 0 is on 3 ranks, but the parameter on 1");
    }
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(adamw);
    ht_release(adam);
    ht_release(turned);
    ht_release(grouped);
    ht_release(pair);
}

/* A module that was converted after the first step: its state has no room for it. */
static void test_a_parameter_of_another_dtype_is_refused(void **state)
{
    ht_use_device(ht_device_get("cpu"));

    ht_tensor *p = new_parameter();
    ht_optimizer *o = new_optimizer(1, p);
    const char *message;

    (void)state;
    ht_tensor_set_requires_grad(p, true);
    steps(o, 0, 1);
    ht_tensor_set_grad(p, NULL);
    assert_int_equal(ht_tensor_set_(p, ht_zeros_like(ht_astype(ht_detach(p), HT_FLOAT32))),
                     HT_SUCCESS);
    ht_tensor_set_grad(p, ht_ones_like(p));
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_int_equal(ht_optimizer_step(o), HT_ERR_STATE);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_error_get(&message);
    assert_string_equal(message,
                        "ht_optimizer_step: parameter 0 is float32 (5,) on cpu:0, but its state "
                        "is float64 (5,) on cpu:0; first change the module, then make its "
                        "optimizer");
    ht_error_clear();
    ht_release(o);
}

HT_TEST_SUITE(test_state, cmocka_unit_test(test_resumed),
              cmocka_unit_test(test_deferred_update_is_in_the_state),
              cmocka_unit_test(test_states_that_do_not_fit),
              cmocka_unit_test(test_a_parameter_of_another_dtype_is_refused));

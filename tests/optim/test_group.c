/* ranks 1 3 */
/* SPDX-License-Identifier: MIT */
/* Groups of parameters: against PyTorch, against an optimizer for each, and kept in a state. */
#include "ht_test.h"
#include "tensor_check.h"

#include <math.h>

#include "golden/param_groups.h"
#include "ht.h"
#include "optimizer_kinds.h"

enum { STEPS = 10, SIZE = 7, CASES = 3 };

static ht_tensor *new_parameter(bool reversed)
{
    double start[SIZE];
    int64_t shape[] = {SIZE};

    for (int i = 0; i < SIZE; i++)
        start[reversed ? SIZE - 1 - i : i] = (i * 3 % 7 - 3) / 4.0;
    return ht_array(start, 1, shape, HT_FLOAT64, HT_LOCAL);
}

static void set_gradients(ht_tensor *p, ht_tensor *q, int step)
{
    double values[SIZE];
    int64_t shape[] = {SIZE};

    for (int i = 0; i < SIZE; i++)
        values[i] = ((i * 7 + step * 5) % 11 - 5) / 8.0;
    ht_tensor_set_grad(p, ht_array(values, 1, shape, HT_FLOAT64, HT_LOCAL));
    ht_tensor_set_grad(q, ht_div_scalar(ht_tensor_grad(p), 2));
}

/* The cases of make_param_groups.py; `together`: both groups in the first optimizer. */
static void make_case(int index, ht_tensor *p, ht_tensor *q, bool together, ht_optimizer *o[2])
{
    ht_value *first = ht_value_tensors(1, &p), *second = ht_value_tensors(1, &q);
    ht_sgd_options sgd = ht_sgd_options_default(), sgd_plain = sgd;
    ht_adam_options adam = ht_adam_options_default();
    ht_rmsprop_options centered = ht_rmsprop_options_default(), momentum = centered;

    sgd.momentum = 0.9;
    sgd.weight_decay = sgd_plain.weight_decay = 0.01;
    adam.beta1 = 0.8;
    adam.beta2 = 0.95;
    adam.weight_decay = 0.1;
    centered.eps = momentum.eps = 1e-4;
    centered.centered = true;
    momentum.momentum = 0.8;
    o[1] = NULL;
    switch (index) {
    case 0:
        o[0] = ht_optim_sgd(first, 0.1, &sgd);
        if (together)
            ht_optim_sgd_add_param_group(o[0], second, 0.05, &sgd_plain);
        else
            o[1] = ht_optim_sgd(second, 0.05, &sgd_plain);
        return;
    case 1:
        o[0] = ht_optim_adam(first, 0.02, NULL);
        if (together)
            ht_optim_adam_add_param_group(o[0], second, 0.01, &adam);
        else
            o[1] = ht_optim_adam(second, 0.01, &adam);
        return;
    default:
        o[0] = ht_optim_rmsprop(first, 0.01, &centered);
        if (together)
            ht_optim_rmsprop_add_param_group(o[0], second, 0.02, &momentum);
        else
            o[1] = ht_optim_rmsprop(second, 0.02, &momentum);
    }
}

static ht_scheduler *new_schedule(int index, ht_optimizer *o)
{
    if (index == 0)
        return ht_optim_exponential_lr(o, 0.9);
    return index == 1 ? ht_optim_cosine_annealing_lr(o, 4, 0.001)
                      : ht_optim_linear_lr(o, 0.25, 1, 5);
}

static void assert_close(const double *values, const double *expected, int count)
{
    for (int i = 0; i < count; i++) {
        if (!(fabs(values[i] - expected[i]) <= 1e-14 * (1 + fabs(expected[i]))))
            fail_msg("value %d is %.17g, expected %.17g", i, values[i], expected[i]);
    }
}

static void test_golden(void **state)
{
    static const double *const golden[CASES] = {golden_sgd_exponential, golden_adam_cosine,
                                                golden_rmsprop_warm_up};

    (void)state;
    for (int index = 0; index < CASES; index++) {
        ht_tensor *p = new_parameter(false), *q = new_parameter(true);
        ht_optimizer *o[2];
        ht_scheduler *s;
        double rates[2];

        make_case(index, p, q, true, o);
        s = new_schedule(index, o[0]);
        for (int step = 0; step < STEPS; step++) {
            set_gradients(p, q, step);
            assert_int_equal(ht_optimizer_step(o[0]), HT_SUCCESS);
            assert_int_equal(ht_scheduler_step(s), HT_SUCCESS);
        }
        rates[0] = ht_optimizer_group_lr(o[0], 0);
        rates[1] = ht_optimizer_group_lr(o[0], 1);
        assert_close(ht_test_data(p), golden[index], SIZE);
        assert_close(ht_test_data(q), golden[index] + SIZE, SIZE);
        assert_close(rates, golden[index] + 2 * SIZE, 2);
        ht_release(s);
        ht_release(o[0]);
    }
}

/* A group equals a separate optimizer, to the bit. */
static void test_groups_equal_optimizers(void **state)
{
    (void)state;
    for (int index = 0; index < CASES; index++) {
        ht_tensor *x[4] = {new_parameter(false), new_parameter(true), new_parameter(false),
                           new_parameter(true)};
        ht_optimizer *grouped[2], *two[2];

        make_case(index, x[0], x[1], true, grouped);
        make_case(index, x[2], x[3], false, two);
        for (int step = 0; step < STEPS; step++) {
            set_gradients(x[0], x[1], step);
            set_gradients(x[2], x[3], step);
            ht_optimizer_step(grouped[0]);
            ht_optimizer_step(two[0]);
            ht_optimizer_step(two[1]);
        }
        assert_memory_equal(ht_test_data(x[0]), ht_test_data(x[2]), SIZE * sizeof(double));
        assert_memory_equal(ht_test_data(x[1]), ht_test_data(x[3]), SIZE * sizeof(double));
        ht_release(grouped[0]);
        ht_release(two[0]);
        ht_release(two[1]);
    }
}

/* The same kind with its defaults: everything is to come from a state. */
static ht_optimizer *new_plain(int index, ht_tensor *p, ht_tensor *q)
{
    ht_value *first = ht_value_tensors(1, &p), *second = ht_value_tensors(1, &q);
    ht_optimizer *o;

    if (index == 0) {
        o = ht_optim_sgd(first, 1, NULL);
        ht_optim_sgd_add_param_group(o, second, 1, NULL);
    } else if (index == 1) {
        o = ht_optim_adam(first, 1, NULL);
        ht_optim_adam_add_param_group(o, second, 1, NULL);
    } else {
        o = ht_optim_rmsprop(first, 1, NULL);
        ht_optim_rmsprop_add_param_group(o, second, 1, NULL);
    }
    return o;
}

/* Rates, options and tensors of every group are in the state. */
static void test_resumed(void **state)
{
    (void)state;
    for (int index = 0; index < CASES; index++) {
        ht_tensor *p = new_parameter(false), *q = new_parameter(true), *p2, *q2;
        ht_optimizer *o[2], *next;

        make_case(index, p, q, true, o);
        for (int step = 0; step < 3; step++) {
            set_gradients(p, q, step);
            ht_optimizer_step(o[0]);
        }
        ht_optimizer_set_group_lr(o[0], 1, 0.003);
        p2 = ht_copy(p);
        q2 = ht_copy(q);
        next = new_plain(index, p2, q2);
        assert_int_equal(ht_optimizer_load_state_dict(next, ht_optimizer_state_dict(o[0])),
                         HT_SUCCESS);
        assert_true(ht_optimizer_group_lr(next, 1) == 0.003);
        for (int step = 3; step < STEPS; step++) {
            set_gradients(p, q, step);
            set_gradients(p2, q2, step);
            ht_optimizer_step(o[0]);
            ht_optimizer_step(next);
        }
        assert_memory_equal(ht_test_data(p), ht_test_data(p2), SIZE * sizeof(double));
        assert_memory_equal(ht_test_data(q), ht_test_data(q2), SIZE * sizeof(double));
        ht_release(o[0]);
        ht_release(next);
    }
}

/* A group that is added later has the first one's options, and the schedule acts on it from its own
 * rate. On a plateau each rate falls by the factor, at most to the floor. */
static void test_group_added_under_a_schedule(void **state)
{
    ht_tensor *p = new_parameter(false), *q = new_parameter(true);
    ht_adadelta_options options = ht_adadelta_options_default();
    ht_reduce_lr_on_plateau_options falling = ht_reduce_lr_on_plateau_options_default();
    ht_value *list = ht_value_tensors(1, &q), *groups;
    ht_scheduler *cosine, *plateau;
    ht_optimizer *o;

    (void)state;
    options.rho = 0.5;
    falling.patience = 0;
    falling.min_lr = 0.05;
    o = ht_optim_adadelta(ht_value_tensors(1, &p), 1, &options);
    cosine = ht_optim_cosine_annealing_lr(o, 2, 0);
    plateau = ht_optim_reduce_lr_on_plateau(o, &falling);
    assert_int_equal(ht_optim_adadelta_add_param_group(o, list, 0.25, NULL), HT_SUCCESS);
    groups = ht_value_get(ht_optimizer_state_dict(o), "param_groups");
    assert_true(ht_value_as_number(ht_value_get(ht_value_at(groups, 1), "rho")) == 0.5);
    assert_int_equal(ht_optimizer_group_of(o, 1), 1);

    ht_scheduler_step(cosine);
    assert_true(fabs(ht_optimizer_group_lr(o, 0) - 0.5) < 1e-15);
    assert_true(fabs(ht_optimizer_group_lr(o, 1) - 0.125) < 1e-15);
    ht_scheduler_step_metric(plateau, 1);
    ht_scheduler_step_metric(plateau, 2);
    assert_true(fabs(ht_optimizer_group_lr(o, 0) - 0.05) < 1e-15);
    assert_true(ht_optimizer_group_lr(o, 1) == 0.05);
    ht_release(cosine);
    ht_release(plateau);
    ht_release(o);
}

/* Adagrad's sums begin, group by group, with the group's own value. */
static void test_each_group_begins_its_states(void **state)
{
    ht_tensor *p = new_parameter(false), *q = new_parameter(true);
    ht_adagrad_options four = ht_adagrad_options_default();
    ht_optimizer *o = ht_optim_adagrad(ht_value_tensors(1, &p), 0.1, NULL);
    const double *g, *of_p, *of_q;

    (void)state;
    four.initial_accumulator_value = 4;
    assert_int_equal(ht_optim_adagrad_add_param_group(o, ht_value_tensors(1, &q), 0.1, &four),
                     HT_SUCCESS);
    set_gradients(p, q, 0);
    assert_int_equal(ht_optimizer_step(o), HT_SUCCESS);
    g = ht_test_data(ht_tensor_grad(p));
    of_p = ht_test_data(ht_optimizer_state(o, 0, "sum"));
    of_q = ht_test_data(ht_optimizer_state(o, 1, "sum"));
    for (int i = 0; i < SIZE; i++) {
        assert_true(of_p[i] == g[i] * g[i]);
        assert_true(of_q[i] == 4 + g[i] / 2 * (g[i] / 2));
    }
    ht_release(o);
}

/* Each kind of optimizer takes a group, which steps as a separate optimizer. */
static void test_every_kind_takes_groups(void **state)
{
    (void)state;
    for (int kind = 0; kind < ALL_KINDS; kind++) {
        ht_tensor *x[4] = {new_parameter(false), new_parameter(true), new_parameter(false),
                           new_parameter(true)};
        ht_optimizer *both = optimizer_of((enum optimizer_kind)kind, ht_value_tensors(1, &x[0]));
        ht_optimizer *first = optimizer_of((enum optimizer_kind)kind, ht_value_tensors(1, &x[2]));
        ht_optimizer *second = optimizer_with((enum optimizer_kind)kind, ht_value_tensors(1, &x[3]),
                                              NULL, 0.03);

        assert_ptr_equal(
            optimizer_with((enum optimizer_kind)kind, ht_value_tensors(1, &x[1]), both, 0.03),
            both);
        for (int step = 0; step < STEPS; step++) {
            set_gradients(x[0], x[1], step);
            set_gradients(x[2], x[3], step);
            ht_optimizer_step(both);
            ht_optimizer_step(first);
            ht_optimizer_step(second);
        }
        assert_memory_equal(ht_test_data(x[0]), ht_test_data(x[2]), SIZE * sizeof(double));
        assert_memory_equal(ht_test_data(x[1]), ht_test_data(x[3]), SIZE * sizeof(double));
        ht_release(both);
        ht_release(first);
        ht_release(second);
    }
}

/* And Adamax's first step is by lr, for any gradient; a group has a separate lr. */
static void test_each_group_steps_by_its_rate(void **state)
{
    ht_tensor *p = new_parameter(false), *q = new_parameter(false), *start = ht_copy(p);
    ht_adamax_options plain = ht_adamax_options_default();
    ht_optimizer *o;
    const double *before = ht_test_data(start), *g, *of_p, *of_q;

    (void)state;
    plain.eps = 0;
    o = ht_optim_adamax(ht_value_tensors(1, &p), 0.25, &plain);
    assert_int_equal(ht_optim_adamax_add_param_group(o, ht_value_tensors(1, &q), 0.5, NULL),
                     HT_SUCCESS);
    set_gradients(p, q, 2);
    assert_int_equal(ht_optimizer_step(o), HT_SUCCESS);
    g = ht_test_data(ht_tensor_grad(p));
    of_p = ht_test_data(p);
    of_q = ht_test_data(q);
    for (int i = 0; i < SIZE; i++) {
        if (g[i] == 0)
            continue;
        assert_true(fabs(of_p[i] - (before[i] - copysign(0.25, g[i]))) < 1e-14);
        assert_true(fabs(of_q[i] - (before[i] - copysign(0.5, g[i]))) < 1e-14);
    }
    ht_release(o);
}

static void test_print(void **state)
{
    ht_tensor *p = new_parameter(false), *q = new_parameter(true);
    ht_optimizer *o[2];
    char text[512] = "";
    FILE *stream = fmemopen(text, sizeof text, "w");

    (void)state;
    make_case(2, p, q, true, o);
    assert_non_null(stream);
    ht_optimizer_print(o[0], stream);
    fclose(stream);
    assert_string_equal(text, "RMSprop group 0 of 1 parameters: alpha=0.99 eps=0.0001 "
                              "weight_decay=0 momentum=0 centered=1 maximize=0 lr=0.01\n"
                              "RMSprop group 1 of 1 parameters: alpha=0.99 eps=0.0001 "
                              "weight_decay=0 momentum=0.8 centered=0 maximize=0 lr=0.02\n");
    ht_release(o[0]);
}

/* A refused call adds nothing. */
static void test_misuse(void **state)
{
    ht_tensor *p = new_parameter(false), *q = new_parameter(true), *both[] = {q, p};
    ht_value *list = ht_value_tensors(1, &q), *overlapping = ht_value_tensors(2, both);
    ht_optimizer *o = ht_optim_adam(ht_value_tensors(1, &p), 0.1, NULL);

    (void)state;
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_int_equal(ht_optim_adamw_add_param_group(o, list, 1, NULL), HT_ERR_ARGUMENT);
    assert_message("ht_optim_adamw_add_param_group: optimizer is Adam, expected AdamW");
    assert_int_equal(ht_optim_adam_add_param_group(o, overlapping, 1, NULL), HT_ERR_ARGUMENT);
    assert_message("parameter 1 is already in group 0");
    assert_int_equal(ht_optim_adam_add_param_group(o, list, -1, NULL), HT_ERR_ARGUMENT);
    assert_message("lr is -1, expected a finite value of at least 0");
    assert_int_equal(ht_optim_adam_add_param_group(o, ht_value_list(), 1, NULL), HT_ERR_ARGUMENT);
    assert_message("parameters is empty, expected at least one tensor");
    assert_int_equal(ht_optimizer_set_group_lr(o, 1, 1), HT_ERR_ARGUMENT);
    assert_message("group is 1, expected 0 to 0");
    assert_int_equal(ht_optimizer_parameter_count(o), 1);
    assert_int_equal(ht_optimizer_group_count(o), 1);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(o);
}

HT_TEST_SUITE(test_group, cmocka_unit_test(test_golden),
              cmocka_unit_test(test_groups_equal_optimizers), cmocka_unit_test(test_resumed),
              cmocka_unit_test(test_group_added_under_a_schedule),
              cmocka_unit_test(test_each_group_begins_its_states),
              cmocka_unit_test(test_every_kind_takes_groups),
              cmocka_unit_test(test_each_group_steps_by_its_rate), cmocka_unit_test(test_print),
              cmocka_unit_test(test_misuse));

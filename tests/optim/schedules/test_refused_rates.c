/* ranks 1 */
/* SPDX-License-Identifier: MIT */
/* Rates that a function makes negative or not finite: they are refused, and nothing has changed.
 * Rounding alone makes no rate negative. */
#include "ht_test.h"
#include "tensor_check.h"

#include <math.h>

#include "ht.h"

enum { GROUPS = 2 };
static const double rates[GROUPS] = {0, 0.5}; /* the first stays right, for any factor */

static ht_optimizer *new_optimizer(void)
{
    const double zero = 0;
    ht_sgd_options options = ht_sgd_options_default();
    ht_optimizer *o = NULL;

    options.momentum = 0.75;
    for (int g = 0; g < GROUPS; g++) {
        ht_tensor *p = ht_array(&zero, 0, NULL, HT_FLOAT64, HT_LOCAL);

        if (o == NULL)
            o = ht_optim_sgd(ht_value_tensors(1, &p), rates[g], &options);
        else
            ht_optim_sgd_add_param_group(o, ht_value_tensors(1, &p), rates[g], &options);
    }
    return o;
}

/* 1 before the epoch *user, and then what no rate may become. */
static double turns_negative(int64_t epoch, void *user)
{
    return epoch < *(int64_t *)user ? 1 : -1;
}

static double turns_infinite(int64_t epoch, void *user)
{
    return epoch < *(int64_t *)user ? 1 : INFINITY;
}

static void expect_rates(const ht_optimizer *o, double factor)
{
    for (int g = 0; g < GROUPS; g++)
        assert_true(ht_optimizer_group_lr(o, g) == factor * rates[g]);
}

/* At epoch 0; the next schedule begins with the rates of that time. */
static void test_constructors(void **state)
{
    ht_optimizer *o = new_optimizer();
    ht_scheduler *s;
    int64_t now = 0;

    (void)state;
    HT_TEST_EXPECT_ERROR(assert_null(ht_optim_lambda_lr(o, turns_negative, &now)), HT_ERR_ARGUMENT,
                         "ht_optim_lambda_lr: lr is -0.5, expected a finite value");
    expect_rates(o, 1);
    ht_optimizer_set_lr(o, 0.25);
    now = 9;
    s = ht_optim_lambda_lr(o, turns_negative, &now);
    assert_true(ht_optimizer_lr(o) == 0.25);
    ht_release(s);
    ht_release(o);
}

static void test_steps(void **state)
{
    static const struct {
        ht_scheduler *(*make)(ht_optimizer *o, ht_lr_factor_fn *factor, void *user);
        ht_lr_factor_fn *factor;
        const char *text;
    } rows[] = {
        {ht_optim_lambda_lr, turns_negative, "ht_scheduler_step: lr is -0.5"},
        {ht_optim_multiplicative_lr, turns_negative, "ht_scheduler_step: lr is -0.5"},
        {ht_optim_multiplicative_lr, turns_infinite, "ht_scheduler_step: lr is "},
    };
    int64_t second = 2;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ht_optimizer *o = new_optimizer();
        ht_scheduler *s = rows[i].make(o, rows[i].factor, &second);

        assert_int_equal(ht_scheduler_step(s), HT_SUCCESS);
        for (int again = 0; again < 2; again++) {
            HT_TEST_EXPECT_ERROR(ht_scheduler_step(s), HT_ERR_ARGUMENT, rows[i].text);
            assert_int_equal(ht_scheduler_epoch(s), 1);
            expect_rates(o, 1);
        }
        HT_TEST_EXPECT_ERROR(ht_scheduler_step_metric(s, 3), HT_ERR_ARGUMENT,
                             "ht_scheduler_step_metric: lr is ");
        ht_release(s);
        ht_release(o);
    }
}

static double number_of(ht_optimizer *o, const char *key)
{
    const ht_value *groups = ht_value_get(ht_optimizer_state_dict(o), "param_groups");

    return ht_value_as_number(ht_value_get(ht_value_at(groups, 0), key));
}

/* Schedules before it in a chain have set rates, a momentum and other numbers. */
static void test_chains(void **state)
{
    ht_optimizer *o = new_optimizer();
    int64_t second = 2;
    ht_scheduler *parts[] = {
        ht_optim_cyclic_lr(o, 0.5, 1, NULL), ht_optim_cosine_annealing_warm_restarts(o, 3, 1, 0),
        ht_optim_exponential_lr(o, 0.5), ht_optim_multiplicative_lr(o, turns_negative, &second)};
    ht_scheduler *s = ht_optim_chained_scheduler(4, parts);
    double rate, momentum;

    (void)state;
    assert_int_equal(ht_scheduler_step(s), HT_SUCCESS);
    rate = ht_optimizer_lr(o);
    momentum = number_of(o, "momentum");
    assert_true(momentum != 0.75);
    for (int again = 0; again < 2; again++) {
        HT_TEST_EXPECT_ERROR(ht_scheduler_step(s), HT_ERR_ARGUMENT, "ht_scheduler_step: lr is -");
        assert_true(ht_optimizer_lr(o) == rate);
        assert_true(number_of(o, "momentum") == momentum);
        assert_int_equal(ht_scheduler_epoch(s), 1);
        for (int i = 0; i < 4; i++)
            assert_int_equal(ht_scheduler_epoch(parts[i]), 1);
        assert_true(ht_value_as_number(ht_value_get(ht_scheduler_state_dict(parts[1]), "t_cur")) ==
                    1);
    }
    ht_release(s);
    for (int i = 0; i < 4; i++)
        ht_release(parts[i]);
    ht_release(o);
}

/* Schedules that come to 0 in `length` steps, or back to it. */
static ht_scheduler *to_zero(int kind, ht_optimizer *o, int64_t length)
{
    static const double starts[] = {1, 0.1, 1.0 / 3, 0.9};
    ht_cyclic_lr_options cyclic = ht_cyclic_lr_options_default();
    ht_one_cycle_lr_options cycle = ht_one_cycle_lr_options_default();
    ht_scheduler *parts[2], *both;

    cyclic.step_size_up = length;
    cycle.linear = length % 2 == 0;
    switch (kind) {
    case 0:
    case 1:
    case 2:
    case 3:
        return ht_optim_linear_lr(o, starts[kind], 0, length);
    case 4:
        return ht_optim_polynomial_lr(o, length, 0.7);
    case 5:
        return ht_optim_cosine_annealing_lr(o, length, 0);
    case 6: /* the first group's rate is 0, and comes back to it */
        return ht_optim_cosine_annealing_lr(o, length, 0.3);
    case 7:
        return ht_optim_cosine_annealing_warm_restarts(o, length, 2, 0.3);
    case 8:
        return ht_optim_cyclic_lr(o, 0, 0.3, &cyclic);
    case 9:
        return ht_optim_one_cycle_lr(o, 0.3, 4 * length, &cycle);
    case 10:
        return ht_optim_swa_lr(o, 0, length, length % 2 == 0);
    case 11:
        parts[0] = ht_optim_linear_lr(o, 0.1, 0, length);
        parts[1] = ht_optim_exponential_lr(o, 0.9);
        both = ht_optim_chained_scheduler(2, parts);
        break;
    case 12:
        parts[0] = ht_optim_linear_lr(o, 0.1, 0, length);
        parts[1] = ht_optim_cosine_annealing_lr(o, length, 0.3);
        both = ht_optim_sequential_lr(2, parts, (int64_t[]){length + 1});
        break;
    default:
        return NULL;
    }
    ht_release(parts[0]);
    ht_release(parts[1]);
    return both;
}

static void test_rounding(void **state)
{
    ht_optimizer *o = new_optimizer();
    ht_scheduler *s;

    (void)state;
    for (int64_t length = 1; length <= 60; length++) {
        for (int kind = 0; (s = to_zero(kind, o, length)) != NULL; kind++) {
            for (int64_t step = 0; step < 4 * length; step++) {
                if (ht_scheduler_step(s) != HT_SUCCESS)
                    fail_msg("schedule %d of %d steps, step %d", kind, (int)length, (int)step);
            }
            ht_release(s);
            if (kind < 6) /* they end with it, or have passed it twice */
                assert_true(ht_optimizer_group_lr(o, 1) <= (kind < 5 ? 1e-15 : 0.5 + 1e-12));
            ht_release(o);
            o = new_optimizer();
        }
    }
    ht_release(o);
}

/* Far below eta_min where the curve is flat: the way up begins below 0. */
static void cosine_refuses_a_rate_that_the_program_makes_negative(void **state)
{
    static const double eta_mins[] = {0.3, 0.7}; /* from above, and from below */

    (void)state;
    for (size_t i = 0; i < sizeof eta_mins / sizeof *eta_mins; i++) {
        ht_optimizer *o = new_optimizer();
        ht_scheduler *s;
        double rate;

        ht_optimizer_set_lr(o, 0.5);
        s = ht_optim_cosine_annealing_lr(o, 7, eta_mins[i]);
        for (int step = 0; step < 7; step++)
            assert_int_equal(ht_scheduler_step(s), HT_SUCCESS);
        ht_optimizer_set_lr(o, 0.0625);
        assert_int_equal(ht_scheduler_step(s), HT_SUCCESS);
        rate = ht_optimizer_lr(o);
        HT_TEST_EXPECT_ERROR(ht_scheduler_step(s), HT_ERR_ARGUMENT, "ht_scheduler_step: lr is -");
        assert_true(ht_optimizer_lr(o) == rate);
        assert_int_equal(ht_scheduler_epoch(s), 8);
        ht_release(s);
        ht_release(o);
    }
}

HT_TEST_SUITE(test_refused_rates, cmocka_unit_test(test_constructors), cmocka_unit_test(test_steps),
              cmocka_unit_test(test_chains), cmocka_unit_test(test_rounding),
              cmocka_unit_test(cosine_refuses_a_rate_that_the_program_makes_negative));

/* ranks 1 */
/* SPDX-License-Identifier: MIT */
/* Schedules of schedules inside sequences: they begin as they do alone. */
#include "ht_test.h"
#include "tensor_check.h"

#include <math.h>

#include "ht.h"

enum { EPOCHS = 12, LATE = 3, MOST_PARTS = 4 };

static ht_optimizer *new_optimizer(void)
{
    const double zero = 0;
    ht_tensor *p = ht_array(&zero, 0, NULL, HT_FLOAT64, HT_LOCAL);

    return ht_optim_sgd(ht_value_tensors(1, &p), 0.7, NULL);
}

typedef ht_scheduler *schedule_of(ht_optimizer *o);

static ht_scheduler *constant(ht_optimizer *o)
{
    return ht_optim_constant_lr(o, 0.1, 3);
}

static ht_scheduler *linear(ht_optimizer *o)
{
    return ht_optim_linear_lr(o, 0.1, 1, 3);
}

static ht_scheduler *exponential(ht_optimizer *o)
{
    return ht_optim_exponential_lr(o, 0.9);
}

static ht_scheduler *cyclic(ht_optimizer *o)
{
    ht_cyclic_lr_options options = ht_cyclic_lr_options_default();

    options.step_size_up = 3;
    return ht_optim_cyclic_lr(o, 0.25, 1, &options);
}

/* A sequence of the schedules that `makers` make, or a chain of them if milestones is NULL. */
static ht_scheduler *all_of(ht_optimizer *o, int count, schedule_of *const makers[],
                            const int64_t milestones[])
{
    ht_scheduler *parts[MOST_PARTS], *all;

    for (int i = 0; i < count; i++)
        parts[i] = makers[i](o);
    all = milestones != NULL ? ht_optim_sequential_lr(count, parts, milestones)
                             : ht_optim_chained_scheduler(count, parts);
    for (int i = 0; i < count; i++)
        ht_release(parts[i]);
    return all;
}

static ht_scheduler *chain_of_one(ht_optimizer *o)
{
    return all_of(o, 1, (schedule_of *[]){constant}, NULL);
}

static ht_scheduler *chain_of_two(ht_optimizer *o)
{
    return all_of(o, 2, (schedule_of *[]){constant, exponential}, NULL);
}

static ht_scheduler *chain_of_warm_ups(ht_optimizer *o)
{
    return all_of(o, 3, (schedule_of *[]){linear, exponential, constant}, NULL);
}

static ht_scheduler *chain_with_momentum(ht_optimizer *o)
{
    return all_of(o, 2, (schedule_of *[]){cyclic, constant}, NULL);
}

static ht_scheduler *sequence(ht_optimizer *o)
{
    return all_of(o, 2, (schedule_of *[]){linear, exponential}, (int64_t[]){5});
}

static ht_scheduler *chain_in_chain(ht_optimizer *o)
{
    return all_of(o, 2, (schedule_of *[]){chain_of_one, linear}, NULL);
}

static ht_scheduler *sequence_of_chains(ht_optimizer *o)
{
    return all_of(o, 2, (schedule_of *[]){chain_of_two, chain_of_warm_ups}, (int64_t[]){4});
}

static double number_of(ht_optimizer *o, const char *key)
{
    const ht_value *groups = ht_value_get(ht_optimizer_state_dict(o), "param_groups");

    return ht_value_as_number(ht_value_get(ht_value_at(groups, 0), key));
}

/* A sequence that begins `make`'s schedule at an epoch, after a constant rate: as it is alone. */
static void expect_as_alone(int row, schedule_of *make, int64_t begin)
{
    ht_optimizer *o = new_optimizer(), *alone = new_optimizer();
    ht_scheduler *parts[] = {ht_optim_exponential_lr(o, 1), make(o)}, *lone = make(alone);
    ht_scheduler *s = begin > 0 ? ht_optim_sequential_lr(2, parts, &begin)
                                : ht_optim_sequential_lr(1, &parts[1], NULL);

    for (int64_t epoch = 0; epoch < begin; epoch++) {
        assert_true(ht_optimizer_lr(o) == 0.7);
        assert_int_equal(ht_scheduler_step(s), HT_SUCCESS);
    }
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        const double got = ht_optimizer_lr(o), wanted = ht_optimizer_lr(alone);

        if (got != wanted || number_of(o, "momentum") != number_of(alone, "momentum"))
            fail_msg("row %d at %d, epoch %d: %g, alone %g", row, (int)begin, epoch, got, wanted);
        assert_int_equal(ht_scheduler_step(s), HT_SUCCESS);
        assert_int_equal(ht_scheduler_step(lone), HT_SUCCESS);
    }
    ht_release(s);
    ht_release(lone);
    for (int i = 0; i < 2; i++)
        ht_release(parts[i]);
    ht_release(o);
    ht_release(alone);
}

static void nested_schedules_begin_as_alone(void **state)
{
    static schedule_of *const rows[] = {chain_of_one,        chain_of_two, chain_of_warm_ups,
                                        chain_with_momentum, sequence,     chain_in_chain,
                                        sequence_of_chains,  linear,       cyclic};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect_as_alone((int)i, rows[i], 0);
        expect_as_alone((int)i, rows[i], LATE);
    }
}

static double sign_of(int64_t epoch, void *user)
{
    (void)epoch;
    return *(double *)user;
}

/* The second part of a chain refuses to begin again: the first one and the rates stay. */
static void failed_sequence_changes_nothing(void **state)
{
    ht_optimizer *o = new_optimizer();
    double sign = 1;
    ht_scheduler *parts[] = {ht_optim_constant_lr(o, 0.5, 9),
                             ht_optim_lambda_lr(o, sign_of, &sign)};
    ht_scheduler *chain = ht_optim_chained_scheduler(2, parts);

    (void)state;
    assert_int_equal(ht_scheduler_step(chain), HT_SUCCESS);
    ht_optimizer_set_lr(o, 0.125);
    sign = -1;
    HT_TEST_EXPECT_ERROR(assert_null(ht_optim_sequential_lr(1, &chain, NULL)), HT_ERR_ARGUMENT,
                         "ht_optim_sequential_lr: lr is -0.7, expected a finite value");
    assert_true(ht_optimizer_lr(o) == 0.125);
    assert_int_equal(ht_scheduler_epoch(chain), 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ht_scheduler_epoch(parts[i]), 1);
        ht_release(parts[i]);
    }
    ht_release(chain);
    ht_release(o);
}

HT_TEST_SUITE(test_nested_schedules, cmocka_unit_test(nested_schedules_begin_as_alone),
              cmocka_unit_test(failed_sequence_changes_nothing));

/* ranks 1 */
/* SPDX-License-Identifier: MIT */
/* Schedules against PyTorch's learning rates, and what they refuse. */
#include "ht_test.h"

#include <math.h>

#include "golden/schedules.h"
#include "ht.h"

enum { EPOCHS = 25 };

static ht_optimizer *new_optimizer(void)
{
    double zero = 0;
    ht_tensor *p = ht_array(&zero, 0, NULL, HT_FLOAT64, HT_LOCAL);

    return ht_optim_sgd(ht_value_tensors(1, &p), 0.7, NULL);
}

static ht_scheduler *plateau(ht_optimizer *o, int64_t patience)
{
    ht_reduce_lr_on_plateau_options options = ht_reduce_lr_on_plateau_options_default();

    options.patience = patience;
    return ht_optim_reduce_lr_on_plateau(o, &options);
}

static ht_scheduler *other_plateau(ht_optimizer *o)
{
    ht_reduce_lr_on_plateau_options options = ht_reduce_lr_on_plateau_options_default();

    options.maximize = options.absolute = true;
    options.factor = 0.4;
    options.patience = 1;
    options.threshold = 0.05;
    options.cooldown = 2;
    options.min_lr = 0.02;
    options.eps = 1e-3;
    return ht_optim_reduce_lr_on_plateau(o, &options);
}

static double inverse(int64_t epoch, void *user)
{
    return *(double *)user / (double)(1 + epoch);
}

static double falling(int64_t epoch, void *user)
{
    return *(double *)user - (double)epoch / 64;
}

static ht_scheduler *cyclic(ht_optimizer *o, int64_t up, int64_t down, ht_cyclic_mode mode)
{
    ht_cyclic_lr_options options = ht_cyclic_lr_options_default();

    options.step_size_up = up;
    options.step_size_down = down;
    options.mode = mode;
    options.gamma = 0.9;
    options.cycle_momentum = mode != HT_CYCLIC_EXP_RANGE;
    return ht_optim_cyclic_lr(o, 0.1, 0.5, &options);
}

static ht_scheduler *three_phases(ht_optimizer *o)
{
    ht_one_cycle_lr_options options = ht_one_cycle_lr_options_default();

    options.pct_start = 0.4;
    options.linear = options.three_phase = true;
    options.base_momentum = 0.7;
    options.max_momentum = 0.8;
    options.div_factor = 10;
    options.final_div_factor = 100;
    return ht_optim_one_cycle_lr(o, 0.5, 26, &options);
}

/* Takes over the references to `parts`. */
static ht_scheduler *of_parts(int count, ht_scheduler *parts[], const int64_t milestones[])
{
    ht_scheduler *all = milestones != NULL ? ht_optim_sequential_lr(count, parts, milestones)
                                           : ht_optim_chained_scheduler(count, parts);

    for (int i = 0; i < count; i++)
        ht_release(parts[i]);
    return all;
}

enum { FIRST_FURTHER = 10 };

/* Those of ht/schedules.h. */
static ht_scheduler *make_further(int index, ht_optimizer *o)
{
    static const int64_t milestones[] = {5, 18}, nine = 9;
    static double one = 1;
    ht_scheduler *parts[3];

    switch (index) {
    case FIRST_FURTHER:
        return ht_optim_constant_lr(o, 0.3, 6);
    case FIRST_FURTHER + 1:
        return ht_optim_polynomial_lr(o, 20, 2);
    case FIRST_FURTHER + 2:
        return ht_optim_lambda_lr(o, inverse, &one);
    case FIRST_FURTHER + 3:
        return ht_optim_multiplicative_lr(o, falling, &one);
    case FIRST_FURTHER + 4:
        return ht_optim_cosine_annealing_warm_restarts(o, 4, 2, 0.01);
    case FIRST_FURTHER + 5:
        return cyclic(o, 4, 0, HT_CYCLIC_TRIANGULAR);
    case FIRST_FURTHER + 6:
        return cyclic(o, 3, 5, HT_CYCLIC_TRIANGULAR2);
    case FIRST_FURTHER + 7:
        return cyclic(o, 4, 0, HT_CYCLIC_EXP_RANGE);
    case FIRST_FURTHER + 8:
        return ht_optim_one_cycle_lr(o, 0.5, 26, NULL);
    case FIRST_FURTHER + 9:
        return three_phases(o);
    case FIRST_FURTHER + 10:
        parts[0] = ht_optim_linear_lr(o, 0.1, 1, 4);
        parts[1] = ht_optim_cosine_annealing_warm_restarts(o, 5, 1, 0);
        parts[2] = ht_optim_constant_lr(o, 0.5, 3);
        return of_parts(3, parts, milestones);
    case FIRST_FURTHER + 11:
        parts[0] = ht_optim_linear_lr(o, 0.1, 1, 4);
        parts[1] = ht_optim_exponential_lr(o, 0.9);
        return of_parts(2, parts, NULL);
    case FIRST_FURTHER + 12:
        return ht_optim_swa_lr(o, 0.05, 8, false);
    case FIRST_FURTHER + 13:
        return ht_optim_swa_lr(o, 0.9, 5, true);
    case FIRST_FURTHER + 14:
        return ht_optim_swa_lr(o, 0.05, 0, false);
    default:
        parts[0] = ht_optim_linear_lr(o, 0.1, 1, 4);
        parts[1] = ht_optim_constant_lr(o, 0.3, 6);
        parts[0] = of_parts(2, parts, NULL);
        parts[1] = ht_optim_constant_lr(o, 0.5, 3);
        return of_parts(2, parts, &nine);
    }
}

/* The schedules of one case of make_schedules.py; returns how many. */
static int make_case(int index, ht_optimizer *o, ht_scheduler *schedules[2])
{
    static const int64_t milestones[] = {7, 3, 20, 7};

    switch (index) {
    case 0:
        schedules[0] = ht_optim_step_lr(o, 4, 0.3);
        return 1;
    case 1:
        schedules[0] = ht_optim_multi_step_lr(o, 4, milestones, 0.3);
        return 1;
    case 2:
        schedules[0] = ht_optim_exponential_lr(o, 0.93);
        return 1;
    case 3:
        schedules[0] = ht_optim_cosine_annealing_lr(o, 7, 0.01);
        return 1;
    case 4:
        schedules[0] = ht_optim_cosine_annealing_lr(o, 1, 0.01);
        return 1;
    case 5:
        schedules[0] = ht_optim_linear_lr(o, 1.0 / 3, 1, 5);
        return 1;
    case 6:
        schedules[0] = ht_optim_linear_lr(o, 0.9, 0.1, 12);
        return 1;
    case 7:
        schedules[0] = ht_optim_linear_lr(o, 0.1, 1, 4);
        schedules[1] = ht_optim_cosine_annealing_lr(o, 20, 0);
        return 2;
    case 8:
        schedules[0] = plateau(o, 2);
        return 1;
    case 9:
        schedules[0] = other_plateau(o);
        return 1;
    default:
        schedules[0] = make_further(index, o);
        return 1;
    }
}

/* rounded: the mathematics library has a say in the bits. */
static const struct {
    const double *rates, *momenta;
    bool rounded;
} expected[] = {
    {.rates = golden_step},
    {.rates = golden_multi_step},
    {.rates = golden_exponential},
    {.rates = golden_cosine, .rounded = true},
    {.rates = golden_cosine_one, .rounded = true},
    {.rates = golden_warm_up},
    {.rates = golden_decay},
    {.rates = golden_warm_up_cosine, .rounded = true},
    {.rates = golden_plateau},
    {.rates = golden_plateau_options},
    {.rates = golden_constant},
    {.rates = golden_polynomial, .rounded = true},
    {.rates = golden_lambda, .rounded = true},
    {.rates = golden_multiplicative},
    {.rates = golden_restarts, .rounded = true},
    {golden_cyclic, golden_cyclic_momentum, false},
    {golden_cyclic2, golden_cyclic2_momentum, false},
    {.rates = golden_cyclic_exp, .rounded = true},
    {golden_one_cycle, golden_one_cycle_momentum, .rounded = true},
    {golden_one_cycle_phases, golden_one_cycle_phases_momentum, .rounded = true},
    {.rates = golden_sequential, .rounded = true},
    {.rates = golden_chained},
    {.rates = golden_swa, .rounded = true},
    {.rates = golden_swa_linear},
    {.rates = golden_swa_at_once},
    {.rates = golden_chain_in_sequence},
};

enum { CASES = sizeof expected / sizeof *expected };

static double metric(int epoch)
{
    return epoch * 7 % 5 / 8.0 + epoch * 3 % 4 / 16.0;
}

static void assert_number(int index, int epoch, double number, double wanted)
{
    if (expected[index].rounded ? !(fabs(number - wanted) <= 1e-14) : number != wanted)
        fail_msg("case %d, epoch %d: %a, expected %a", index, epoch, number, wanted);
}

/* To the bit, unless rounded. */
static void assert_rate(int index, int epoch, ht_optimizer *o)
{
    const ht_value *groups = ht_value_get(ht_optimizer_state_dict(o), "param_groups");

    assert_number(index, epoch, ht_optimizer_lr(o), expected[index].rates[epoch]);
    if (expected[index].momenta != NULL)
        assert_number(index, epoch,
                      ht_value_as_number(ht_value_get(ht_value_at(groups, 0), "momentum")),
                      expected[index].momenta[epoch]);
}

/* `interrupted`: halfway, the states go over to a new optimizer and new schedules. */
static void run_case(int index, bool interrupted)
{
    ht_optimizer *o = new_optimizer();
    ht_scheduler *schedules[2];
    int count = make_case(index, o, schedules);

    assert_rate(index, 0, o);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        if (interrupted && epoch == EPOCHS / 2) {
            ht_optimizer *next = new_optimizer();
            ht_scheduler *resumed[2];

            make_case(index, next, resumed);
            ht_optimizer_load_state_dict(next, ht_optimizer_state_dict(o));
            for (int i = 0; i < count; i++) {
                ht_scheduler_load_state_dict(resumed[i], ht_scheduler_state_dict(schedules[i]));
                ht_release(schedules[i]);
                schedules[i] = resumed[i];
            }
            ht_release(o);
            o = next;
        }
        for (int i = 0; i < count; i++)
            assert_int_equal(ht_scheduler_step_metric(schedules[i], metric(epoch)), HT_SUCCESS);
        assert_int_equal(ht_scheduler_epoch(schedules[0]), epoch + 1);
        assert_rate(index, epoch + 1, o);
    }
    for (int i = 0; i < count; i++)
        ht_release(schedules[i]);
    ht_release(o);
}

static void test_golden(void **state)
{
    (void)state;
    for (int index = 0; index < CASES; index++)
        run_case(index, false);
}

static void test_resumed(void **state)
{
    (void)state;
    for (int index = 0; index < CASES; index++)
        run_case(index, true);
}

/* A schedule continues from a rate that the program sets. */
static void test_rate_set_between(void **state)
{
    ht_optimizer *o = new_optimizer();
    ht_scheduler *s = ht_optim_exponential_lr(o, 0.5);

    (void)state;
    ht_scheduler_step(s);
    ht_optimizer_set_lr(o, 8);
    ht_scheduler_step(s);
    assert_true(ht_optimizer_lr(o) == 4);
    ht_release(s);
    ht_release(o);
}

/* `plateau` looks at a metric. */
static void misuse_of_further(ht_optimizer *o, ht_scheduler *plateau)
{
    ht_optimizer *other = ht_optim_adagrad(ht_value_list(), 0.1, NULL);
    ht_one_cycle_lr_options options = ht_one_cycle_lr_options_default();
    ht_scheduler *parts[2] = {ht_optim_exponential_lr(o, 0.5), plateau}, *s;
    const int64_t falls[] = {5, 5};

    assert_null(ht_optim_constant_lr(o, 0, 5));
    assert_message("factor is 0, expected 0 < factor <= 1");
    assert_null(ht_optim_polynomial_lr(o, 0, 1));
    assert_message("total_iters is 0, expected at least 1");
    assert_null(ht_optim_lambda_lr(o, NULL, NULL));
    assert_message("factor is NULL");
    assert_null(ht_optim_cosine_annealing_warm_restarts(o, 5, 0, 0));
    assert_message("t_mult is 0, expected at least 1");
    assert_null(cyclic(o, 0, 0, HT_CYCLIC_TRIANGULAR));
    assert_message("step_size_up is 0, expected at least 1");
    assert_null(cyclic(o, 4, 0, (ht_cyclic_mode)7));
    assert_message("mode is 7, expected an ht_cyclic_mode");
    options.pct_start = 1.5;
    assert_null(ht_optim_one_cycle_lr(o, 0.5, 25, &options));
    assert_message("pct_start is 1.5");
    assert_null(ht_optim_sequential_lr(2, parts, falls));
    assert_message("schedule 1 is ReduceLROnPlateau, expected one without a metric");
    assert_null(ht_optim_sequential_lr(3, parts, falls));
    assert_message("a milestone is 5, expected at least 6");
    parts[1] = NULL;
    assert_null(ht_optim_chained_scheduler(2, parts));
    assert_message("schedule 1 is NULL");
    assert_null(ht_optim_chained_scheduler(0, parts));
    assert_message("count is 0, expected at least 1");
    if (other != NULL) {
        assert_null(ht_optim_one_cycle_lr(other, 0.5, 25, NULL));
        assert_message("Adagrad has neither momentum nor beta1, expected cycle_momentum = false");
        ht_release(other);
    }
    assert_true(ht_optimizer_lr(o) == 0.7);
    s = ht_optim_one_cycle_lr(o, 0.5, 2, NULL);
    ht_scheduler_step(s);
    ht_scheduler_step(s);
    assert_int_equal(ht_scheduler_step(s), HT_ERR_STATE);
    assert_message("step 3 of OneCycleLR, expected at most 2 steps");
    assert_int_equal(ht_scheduler_epoch(s), 2);
    ht_release(s);
    ht_release(parts[0]);
}

static void test_misuse(void **state)
{
    ht_optimizer *o = new_optimizer();
    ht_scheduler *s = plateau(o, 3);
    ht_reduce_lr_on_plateau_options unset = {0};
    static const struct {
        const char *key;
        double value;
    } wrong[] = {{"last_epoch", NAN},  {"last_epoch", -1},       {"last_epoch", 0.5},
                 {"last_epoch", 1e18}, {"num_bad_epochs", -1},   {"num_bad_epochs", NAN},
                 {"best", NAN},        {"cooldown_counter", -2}, {"cooldown_counter", INFINITY}};
    ht_value *map;
    int64_t never = 0;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_int_equal(ht_scheduler_step(s), HT_ERR_ARGUMENT);
    assert_message("ReduceLROnPlateau needs a metric; call ht_scheduler_step_metric");
    assert_int_equal(ht_scheduler_load_state_dict(s, ht_value_map()), HT_ERR_FORMAT);
    assert_message("the state has no integer \"last_epoch\" of at least 0");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        map = ht_scheduler_state_dict(s);
        ht_value_set(map, wrong[i].key, ht_value_number(wrong[i].value));
        assert_int_equal(ht_scheduler_load_state_dict(s, map), HT_ERR_FORMAT);
        assert_message(wrong[i].key);
    }
    assert_int_equal(ht_scheduler_load_state_dict(s, ht_scheduler_state_dict(s)), HT_SUCCESS);
    assert_null(plateau(o, -1));
    assert_message("patience is -1, expected at least 0");
    assert_null(ht_optim_reduce_lr_on_plateau(o, &unset));
    assert_message("start from ht_reduce_lr_on_plateau_options_default()");
    assert_null(ht_optim_step_lr(o, 0, 0.1));
    assert_message("step_size is 0, expected at least 1");
    assert_null(ht_optim_multi_step_lr(o, 1, &never, 0.1));
    assert_message("a milestone is 0, expected at least 1");
    assert_null(ht_optim_cosine_annealing_lr(o, 0, 0));
    assert_message("t_max is 0, expected at least 1");
    assert_null(ht_optim_linear_lr(o, 0, 1, 5));
    assert_message("expected 0 < start_factor <= 1");
    assert_true(ht_optimizer_lr(o) == 0.7);
    misuse_of_further(o, s);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(s);
    ht_release(o);
}

/* (range x height) x gamma^step, in torch's order, with this mathematics library's pow. */
static void cyclic_rates_round_as_torch_does(void **state)
{
    ht_optimizer *o = new_optimizer();
    ht_scheduler *scheduler = cyclic(o, 4, 0, HT_CYCLIC_EXP_RANGE);

    (void)state;
    for (int step = 0; step < EPOCHS; step++) {
        const double x = step % 8 / 8.0, line = x <= 0.5 ? x / 0.5 : (x - 1) / (0.5 - 1);
        const double above = (0.5 - 0.1) * line;

        assert_true(ht_optimizer_lr(o) == 0.1 + above * pow(0.9, step));
        ht_scheduler_step(scheduler);
    }
    ht_release(scheduler);
    ht_release(o);
}

HT_TEST_SUITE(test_scheduler, cmocka_unit_test(test_golden), cmocka_unit_test(test_resumed),
              cmocka_unit_test(test_rate_set_between),
              cmocka_unit_test(cyclic_rates_round_as_torch_does), cmocka_unit_test(test_misuse));

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
    default:
        schedules[0] = other_plateau(o);
        return 1;
    }
}

static const double *const expected[] = {
    golden_step,       golden_multi_step,     golden_exponential, golden_cosine,
    golden_cosine_one, golden_warm_up,        golden_decay,       golden_warm_up_cosine,
    golden_plateau,    golden_plateau_options};

enum { CASES = sizeof expected / sizeof *expected, FIRST_COSINE = 3, CHAINED_COSINE = 7 };

static double metric(int epoch)
{
    return epoch * 7 % 5 / 8.0 + epoch * 3 % 4 / 16.0;
}

/* To the bit, but where the mathematics library has a say. */
static void assert_rate(int index, int epoch, double lr)
{
    bool exact = index != FIRST_COSINE && index != FIRST_COSINE + 1 && index != CHAINED_COSINE;
    double wanted = expected[index][epoch];

    if (exact ? lr != wanted : !(fabs(lr - wanted) <= 1e-14))
        fail_msg("case %d, epoch %d: %a, expected %a", index, epoch, lr, wanted);
}

/* `interrupted`: halfway, the states go over to a new optimizer and new schedules. */
static void run_case(int index, bool interrupted)
{
    ht_optimizer *o = new_optimizer();
    ht_scheduler *schedules[2];
    int count = make_case(index, o, schedules);

    assert_rate(index, 0, ht_optimizer_lr(o));
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
        assert_rate(index, epoch + 1, ht_optimizer_lr(o));
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

/* A rate that the program sets is where the schedule goes on from. */
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
    assert_message("ReduceLROnPlateau looks at a metric; call ht_scheduler_step_metric");
    assert_int_equal(ht_scheduler_load_state_dict(s, ht_value_map()), HT_ERR_FORMAT);
    assert_message("the state has no whole number \"last_epoch\" of 0 or more");
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
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(s);
    ht_release(o);
}

HT_TEST_SUITE(test_scheduler, cmocka_unit_test(test_golden), cmocka_unit_test(test_resumed),
              cmocka_unit_test(test_rate_set_between), cmocka_unit_test(test_misuse));

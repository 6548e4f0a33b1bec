/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* What happens at the end of an epoch: schedules, whose loss counts, what the log says. */
#include "daso_test.h"

/* A batch in which the gradient of each element of `first` is 1. */
static void train_batch(struct setting *s)
{
    int64_t three = 3;

    ht_daso_zero_grad(s->daso);
    ht_backward(ht_forward(
        s->model, ht_full_on(1, &three, 1, HT_FLOAT64, HT_NONE, ht__device_cpu(), HT_COMM_SELF)));
    assert_int_equal(ht_daso_step(s->daso), HT_SUCCESS);
}

/* Two batches an epoch, all of warm-up: parameters change by updates alone. */
static struct setting set_schedule(ht_module *net, ht_optimizer *sgd, ht_scheduler *schedule)
{
    ht_daso_options o = options_of(10, 0, HT_FLOAT32);
    struct setting s;

    o.scheduler = schedule;
    s = set_daso(1, net, sgd, 10, 2, &o);
    ht_release(schedule); /* retained */
    return s;
}

/* It is stepped once an epoch, and the optimizer in each batch: in the source, a schedule was
 * stepped instead of the optimizer. */
static void test_schedule(void **state)
{
    ht_module *net = new_points(HT_FLOAT64, 1);
    ht_optimizer *sgd = ht_optim_sgd(trainable(net), 1, NULL);
    struct setting s = set_schedule(net, sgd, ht_optim_step_lr(sgd, 1, 0.5));
    double x = 1, lr = 1;

    (void)state;
    for (int epoch = 0; epoch < 4; epoch++) {
        for (int batch = 0; batch < 2; batch++) {
            train_batch(&s);
            x -= lr;
            assert_true(fabs(value_of(points_of(&s)->first) - x) < 1e-12);
            assert_true(ht_optimizer_lr(sgd) == lr);
        }
        ht_daso_epoch_loss_logic(s.daso, 1, true);
        lr /= 2;
        assert_true(ht_optimizer_lr(sgd) == lr);
    }
    end(&s);
}

/* Rank 0's loss falls, the mean of all stays: a plateau for all ranks. */
static void test_the_mean_loss_decides(void **state)
{
    ht_reduce_lr_on_plateau_options o = ht_reduce_lr_on_plateau_options_default();
    ht_module *net = new_points(HT_FLOAT64, 1);
    ht_optimizer *sgd = ht_optim_sgd(trainable(net), 1, NULL);
    struct setting s;
    int others = ht_test_size - 1;

    (void)state;
    o.patience = 0;
    o.factor = 0.5;
    s = set_schedule(net, sgd, ht_optim_reduce_lr_on_plateau(sgd, &o));
    for (int epoch = 0; epoch < 2; epoch++) {
        double loss = ht_test_rank == 0 ? 8.0 - (others > 0 ? epoch : 0)
                                        : 8.0 + epoch / (double)others;

        train_batch(&s);
        train_batch(&s);
        assert_int_equal(ht_daso_epoch_loss_logic(s.daso, loss, false), HT_SUCCESS);
    }
    assert_true(ht_optimizer_lr(sgd) == 0.5);
    end(&s);
}

static void end_epochs(struct setting *s, int count)
{
    for (int epoch = 0; epoch < count; epoch++) {
        assert_int_equal(ht_daso_step(s->daso), HT_SUCCESS);
        assert_int_equal(ht_daso_epoch_loss_logic(s->daso, 1, true), HT_SUCCESS);
    }
}

/* Epochs without improvement count over a state: the third of them, the first after it, is a
 * plateau. */
static void test_plateau_after_a_state(void **state)
{
    ht_daso_options o = options_of(0, 0, HT_FLOAT32);
    struct setting s = set_points(1, HT_FLOAT64, 1, 1, &o);
    ht_value *map;

    (void)state;
    end_epochs(&s, 3);
    assert_int_equal(ht_daso_get_report(s.daso).global_skip, 4);
    map = ht_daso_state_dict(s.daso);
    assert_int_equal(ht_daso_reset(s.daso), HT_SUCCESS);
    assert_int_equal(ht_daso_load_state_dict(s.daso, map), HT_SUCCESS);
    end_epochs(&s, 1);
    assert_int_equal(ht_daso_get_report(s.daso).global_skip, 2);
    end(&s);
}

/* Losses that fall by less than this part of the best are a plateau, here after the fourth. */
static void test_stability_level(void **state)
{
    static const double losses[] = {1, 0.98, 0.97, 0.96};

    (void)state;
    for (int strict = 0; strict < 2; strict++) {
        ht_daso_options o = options_of(0, 0, HT_FLOAT32);
        struct setting s;

        o.stability_level = strict ? 0.05 : 0.005;
        s = set_points(1, HT_FLOAT64, 1, 1, &o);
        for (int epoch = 0; epoch < 4; epoch++) {
            assert_int_equal(ht_daso_get_report(s.daso).global_skip, 4);
            assert_int_equal(ht_daso_step(s.daso), HT_SUCCESS);
            ht_daso_epoch_loss_logic(s.daso, losses[epoch], true);
        }
        assert_int_equal(ht_daso_get_report(s.daso).global_skip, strict ? 2 : 4);
        end(&s);
    }
}

static void take_line(ht_log_level level, const char *line, void *text)
{
    if (level == HT_LOG_WARN && strstr(line, "DASO") != NULL)
        strcat(strcat(text, strstr(line, "DASO")), "\n");
}

/* Each change of phase or skips is a line, and no other epoch is; by rank 0 alone. */
static void test_verbose(void **state)
{
    ht_daso_options o = options_of(1, 7, HT_FLOAT32);
    char text[1000] = "";

    (void)state;
    ht_log_set_sink(take_line, text);
    for (int verbose = 0; verbose < 2; verbose++) {
        struct setting s;

        o.verbose = verbose;
        s = set_points(1, HT_FLOAT64, 1, 1, &o);
        assert_string_equal(verbose ? "" : text, "");
        for (int epoch = 0; epoch < 5; epoch++) {
            ht_daso_step(s.daso);
            ht_daso_epoch_loss_logic(s.daso, 1, true);
        }
        end(&s);
    }
    ht_log_set_sink(NULL, NULL);
    assert_string_equal(
        text, ht_test_rank > 0
                  ? ""
                  : "DASO: epoch 0 of 10: warm-up, global skip 0, local skip 0, wait 0\n"
                    "DASO: epoch 1 of 10: cycling, global skip 4, local skip 1, wait 1\n"
                    "DASO: epoch 3 of 10: cool-down, global skip 0, local skip 0, wait 0\n");
}

HT_TEST_SUITE(test_daso_epochs, cmocka_unit_test(test_schedule),
              cmocka_unit_test(test_the_mean_loss_decides),
              cmocka_unit_test(test_plateau_after_a_state), cmocka_unit_test(test_stability_level),
              cmocka_unit_test(test_verbose));

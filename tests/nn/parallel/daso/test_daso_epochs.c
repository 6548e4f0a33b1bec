/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* The end of an epoch: schedules, whose loss counts, what the log says. */
#include "daso_test.h"

/* A batch in which the gradient of each element of `first` is 1. */
static void train_batch(struct setting *s)
{
    int64_t three = 3;

    ht_daso_zero_grad(s->daso);
    ht_backward(ht_forward(s->model, ht_full_ext(1, &three, HT_NUM(1), HT_FLOAT64, HT_NONE,
                                                 ht_get_device(), HT_COMM_SELF)));
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
    assert_string_equal(text,
                        ht_test_rank > 0
                            ? ""
                            : "DASO: epoch 0 of 10: warm-up, blocking\n"
                              "DASO: epoch 1 of 10: cycling, global skip 4, local skip 1, wait 1\n"
                              "DASO: epoch 3 of 10: cool-down, blocking\n");
}

static void take_all(ht_log_level level, const char *line, void *text)
{
    (void)level;
    if (strstr(line, "DASO: ") != NULL)
        strcat(strcat(text, strstr(line, "DASO: ")), "\n");
}

/* A likely mistake of the program is logged, once; and so is the phase that a loaded state leads
 * to. */
static void daso_logs_phases_and_warnings(void **state)
{
    ht_daso_options o = options_of(4, 6, HT_FLOAT32);
    ht_log_level level = ht_log_get_level();
    char text[2000] = "", expected[2000];
    struct setting s;

    (void)state;
    ht_log_set_level(HT_LOG_INFO);
    ht_log_set_sink(take_all, text);
    s = set_points(ht_test_size == 4 ? 2 : 1, HT_FLOAT64, 1, 100, &o);
    for (int batch = 0; batch < 10; batch++) {
        if (batch % 7 > 0)
            ht_optimizer_step(s.optimizer);
        ht_daso_step(s.daso);
        if (batch == 4)
            ht_daso_load_state_dict(s.daso, ht_daso_state_dict(s.daso));
    }
    end(&s);
    ht_log_set_sink(NULL, NULL);
    ht_log_set_level(level);
    snprintf(
        expected, sizeof expected,
        "%s"
        "DASO: 4 epochs of warm-up and 6 of cool-down fill the run: no epoch is left to "
        "cycle, and each batch blocks\n"
        "DASO: epoch 0 of 10: warm-up, blocking\n"
        "DASO: the program calls ht_optimizer_step too, so each batch makes two updates; "
        "ht_daso_step makes them\n"
        "DASO: epoch 0 of 10: warm-up, blocking\n",
        ht_test_size == 1
            ? "DASO: on one node it has no advantage over data parallelism (ht_nn_data_parallel)\n"
        : ht_test_size == 2 ? "DASO: 2 ranks on 2 nodes: a group of 2 ranks, one of each node, "
                              "exchanges\n"
        : ht_test_size == 3 ? "DASO: 3 ranks on 3 nodes: a group of 3 ranks, one of each node, "
                              "exchanges\n"
                            : "DASO: 4 ranks on 2 nodes: groups of 2 ranks, one of each node, "
                              "exchange in turns\n");
    assert_string_equal(text, ht_test_rank > 0 ? "" : expected);
}

/* Loading a state into the optimizer between two steps does not count as a step. */
static void test_a_loaded_optimizer_is_no_step(void **state)
{
    ht_daso_options o = options_of(1, 0, HT_FLOAT32);
    char text[1000] = "";
    struct setting s = set_points(1, HT_FLOAT64, 1, 100, &o);
    ht_value *saved;

    (void)state;
    ht_log_set_sink(take_line, text);
    for (int batch = 0; batch < 4; batch++)
        ht_daso_step(s.daso);
    saved = ht_optimizer_state_dict(s.optimizer);
    for (int batch = 0; batch < 3; batch++) {
        ht_daso_step(s.daso);
        ht_optimizer_load_state_dict(s.optimizer, saved);
    }
    ht_daso_step(s.daso);
    end(&s);
    ht_log_set_sink(NULL, NULL);
    assert_string_equal(text, "");
}

HT_TEST_SUITE(test_daso_epochs, cmocka_unit_test(test_schedule),
              cmocka_unit_test(test_the_mean_loss_decides),
              cmocka_unit_test(test_plateau_after_a_state), cmocka_unit_test(test_stability_level),
              cmocka_unit_test(test_verbose), cmocka_unit_test(daso_logs_phases_and_warnings),
              cmocka_unit_test(test_a_loaded_optimizer_is_no_step));

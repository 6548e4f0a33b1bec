/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Steps on values: the losses' rules, the preprocessor, both ways to give forward, and the log. The
 * parameters equal those of a loop written out. Also: parameters that the loss does not reach, and
 * misuse. */
#include <stdio.h>

#include "nn/parallel/data/data_parallel_errors.h"

static ht_tensor *row(int count, const double values[])
{
    int64_t shape[] = {count};

    return ht_array(values, 1, shape, HT_FLOAT64, HT_LOCAL);
}

/* {"loss_a": mean, "loss_b": [mean, mean], "accuracy": mean, "epoch": number}; mmengine's rules. */
static void test_parse_losses(void **state)
{
    ht_value *losses = ht_value_map(), *list = ht_value_list(), *log;
    ht_tensor *total;

    (void)state;
    ht_value_append(list, ht_value_tensor(row(2, (double[]){1, 2})));
    ht_value_append(list, ht_value_tensor(row(4, (double[]){1, 1, 1, 5})));
    ht_value_set(losses, "loss_a", ht_value_tensor(row(3, (double[]){1, 2, 6})));
    ht_value_set(losses, "accuracy", ht_value_tensor(row(2, (double[]){0, 1})));
    ht_value_set(losses, "aux.loss_b", list);
    ht_value_set(losses, "epoch", ht_value_number(7));
    assert_int_equal(ht_parse_losses(losses, &total, &log), HT_SUCCESS);
    assert_true(ht_item(total) == 3 + 1.5 + 2);
    assert_string_equal(ht_value_key(log, 0), "loss");
    assert_int_equal(ht_value_count(log), 5);
    assert_true(ht_log_number(log, "loss") == 6.5);
    assert_true(ht_log_number(log, "loss_a") == 3);
    assert_true(ht_log_number(log, "aux.loss_b") == 3.5);
    assert_true(ht_log_number(log, "accuracy") == 0.5);
    assert_true(ht_log_number(log, "epoch") == 7);
    assert_true(isnan(ht_log_number(log, "nothing")));
}

static void maps_without_a_loss_are_refused(void **state)
{
    ht_value *losses = ht_value_map(), *log;
    ht_tensor *total;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    ht_value_set(losses, "accuracy", ht_value_tensor(row(1, (double[]){1})));
    assert_int_equal(ht_parse_losses(losses, &total, &log), HT_ERR_ARGUMENT);
    assert_message("no entry has a name that contains \"loss\"");
    ht_value_set(losses, "loss", ht_value_number(3));
    assert_int_equal(ht_parse_losses(losses, &total, &log), HT_ERR_ARGUMENT);
    assert_message("\"loss\" is a number, expected a tensor or a list of tensors");
    assert_null(total);
    assert_null(log);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
}

/* Counts its calls, and halves the data in training. */
struct calls {
    int training, evaluating;
};

static ht_value *halve(ht_value *data, bool training, void *user)
{
    struct calls *calls = user;
    ht_value *made = ht_value_map();
    ht_tensor *x = ht_value_as_tensor(ht_value_get(data, "data"));

    calls->training += training;
    calls->evaluating += !training;
    ht_value_set(made, "data", ht_value_tensor(ht_mul_scalar(x, 0.5)));
    ht_value_set(made, "target", ht_value_get(data, "target"));
    return made;
}

static ht_value *forward(ht_module *model, ht_value *data, ht_forward_mode mode, void *user)
{
    ht_tensor *y = ht_forward(model, ht_value_as_tensor(ht_value_get(data, "data")));
    ht_value *losses = ht_value_map();

    (void)user;
    if (mode == HT_FORWARD_PREDICT)
        return ht_value_tensor(y);
    ht_value_set(losses, "loss_nll",
                 ht_value_tensor(ht_nll_loss(y, ht_value_as_tensor(ht_value_get(data, "target")),
                                             HT_NO_REDUCTION)));
    return losses;
}

/* NULL for a rank without rows. */
static ht_value *batch(int64_t first, int64_t count)
{
    ht_value *data = ht_value_map();

    if (count == 0)
        return NULL;
    ht_value_set(data, "data", ht_value_tensor(batch_rows(first, count)));
    ht_value_set(data, "target", ht_value_tensor(batch_classes(first, count)));
    return data;
}

static void by_steps(bool blocking, bool uneven, struct calls *calls, double values[VALUES])
{
    ht_step_options options = ht_step_options_default();
    ht_module *net = new_net(3), *dp;
    ht_optimizer *optimizer = new_optimizer(net, ADAM);
    ht_optim_wrapper *wrapper = ht_optim_wrapper_new(optimizer, NULL);

    options.preprocess = halve;
    options.forward = forward;
    options.user = calls;
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, blocking);
    for (int step = 0; step < 6; step++) {
        ht_scope *scope = ht_scope_open();
        int64_t first, count, rows = uneven ? 1 + step : 12;
        ht_value *log;

        ht_comm_chunk(HT_COMM_WORLD, rows, ht_test_rank, &first, &count);
        log = ht_train_step(dp, batch(100 * step + first, count), wrapper, &options);
        assert_non_null(log);
        assert_int_equal(ht_value_count(log), count > 0 ? 2 : 0);
        if (step % 2 == 1 && ht_test_rank == 0) /* a rank alone, with an update outstanding */
            assert_non_null(ht_val_step(dp, batch(0, 2), &options));
        ht_scope_close(scope);
    }
    read_parameters(net, values);
    ht_release(dp);
    ht_release(wrapper);
    ht_release(optimizer);
    ht_release(net);
}

static void by_hand(bool uneven, double values[VALUES])
{
    ht_module *net = new_net(3);
    ht_optimizer *optimizer = new_optimizer(net, ADAM);

    for (int step = 0; step < 6; step++) {
        ht_scope *scope = ht_scope_open();
        int64_t rows = uneven ? 1 + step : 12;
        ht_tensor *y = ht_forward(net, ht_mul_scalar(batch_rows(100 * step, rows), 0.5));

        ht_optimizer_zero_grad(optimizer);
        ht_backward(ht_nll_loss(y, batch_classes(100 * step, rows), HT_MEAN));
        ht_optimizer_step(optimizer);
        ht_scope_close(scope);
    }
    read_parameters(net, values);
    ht_release(optimizer);
    ht_release(net);
}

static void test_equals_a_loop_written_out(void **state)
{
    double expected[VALUES], values[VALUES];

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct calls calls = {0};

        by_hand(i & 1, expected);
        by_steps(i & 2, i & 1, &calls, values);
        assert_true(distance(values, expected) <= 1e-12);
        assert_int_equal(calls.evaluating, ht_test_rank == 0 ? 3 : 0);
        assert_true((i & 1) || calls.training == 6);
    }
}

/* A module of values that looks at the mode itself. */
struct value_net {
    ht_module *fc;
};

static ht_value *value_forward(ht_module *self, ht_value *inputs)
{
    struct value_net *net = ht_module_data(self);
    ht_tensor *y = ht_forward(net->fc, ht_value_as_tensor(ht_value_get(inputs, "x")));
    bool predict = ht_value_as_number(ht_value_get(inputs, "mode")) == HT_FORWARD_PREDICT;

    assert_true(ht_is_grad_enabled() == !predict);
    return ht_value_tensor(predict ? y : ht_mean(y, HT_NONE));
}

static const ht_module_type value_type = {.name = "value net", .forward_value = value_forward};

static ht_module *new_value_net(void)
{
    ht_module *self = ht_module_new(sizeof(struct value_net), &value_type);
    struct value_net *net = ht_module_data(self);

    ht_module_add(self, "fc", &net->fc, ht_nn_linear(IN, OUT));
    ht_module_to_dtype(self, HT_FLOAT64);
    return self;
}

static void test_mode_reaches_the_modules_own_forward(void **state)
{
    ht_module *net = new_value_net();
    ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(net), 0.1, NULL);
    ht_optim_wrapper_options limits = ht_optim_wrapper_options_default();
    ht_value *data = ht_value_map(), *log;
    ht_optim_wrapper *wrapper;

    (void)state;
    limits.clip_norm = 1e9;
    wrapper = ht_optim_wrapper_new(sgd, &limits);
    ht_value_set(data, "x", ht_value_tensor(batch_rows(0, 3)));
    log = ht_train_step(net, data, wrapper, NULL);
    assert_int_equal(ht_value_count(log), 2);
    assert_false(isnan(ht_log_number(log, "loss")));
    assert_true(ht_log_number(log, "grad_norm") > 0);
    assert_int_equal(ht_value_count(data), 1); /* the caller's map is as it was */
    assert_int_equal(ht_tensor_shape(ht_value_as_tensor(ht_test_step(net, data, NULL)))[1], OUT);
    ht_release(wrapper);
    ht_release(sgd);
    ht_release(net);
}

struct lines {
    int count;
    char last[512];
};

static void keep_line(ht_log_level level, const char *line, void *user)
{
    struct lines *lines = user;

    assert_int_equal(level, HT_LOG_ERROR);
    lines->count++;
    snprintf(lines->last, sizeof lines->last, "%s", line);
}

/* fc1 does not run: its bias and weight are named, the frozen one of them is not. */
static void test_detects_anomalous_parameters(void **state)
{
    ht_module *net = new_net(3);
    ht_optimizer *sgd = new_optimizer(net, SGD);
    ht_optim_wrapper *wrapper = ht_optim_wrapper_new(sgd, NULL);
    ht_step_options options = ht_step_options_default();
    struct lines lines = {0};

    (void)state;
    options.forward = forward;
    options.detect_anomalous_params = true;
    ht_log_set_sink(keep_line, &lines);
    assert_non_null(ht_train_step(net, batch(0, 3), wrapper, &options));
    assert_int_equal(lines.count, 0);
    ((struct net *)ht_module_data(net))->skip_fc1 = true;
    ht_tensor_set_requires_grad(ht_module_find_parameter(net, "fc1.bias"), false);
    assert_non_null(ht_train_step(net, batch(0, 3), wrapper, &options));
    ht_log_set_sink(NULL, NULL);
    assert_int_equal(lines.count, 1);
    assert_non_null(strstr(lines.last, "parameter fc1.weight of shape (6, 6)"));
    ht_release(wrapper);
    ht_release(sgd);
    ht_release(net);
}

static void test_misuse(void **state)
{
    ht_module *net = new_net(3);
    ht_optimizer *sgd = new_optimizer(net, SGD);
    ht_optim_wrapper *wrapper = ht_optim_wrapper_new(sgd, NULL);
    ht_step_options unset = {0};

    (void)state;
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_null(ht_train_step(net, batch(0, 2), wrapper, &unset));
    assert_message("start from ht_step_options_default()");
    assert_null(ht_train_step(net, ht_value_tensor(batch_rows(0, 2)), wrapper, NULL));
    assert_message("the data are not a map");
    assert_null(ht_train_step(NULL, batch(0, 2), wrapper, NULL));
    assert_message("ht_train_step: model is NULL");
    assert_null(ht_train_step(net, batch(0, 2), NULL, NULL));
    assert_message("ht_train_step: wrapper is NULL");
    assert_null(ht_val_step(NULL, batch(0, 2), NULL));
    assert_message("ht_val_step: model is NULL");
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(wrapper);
    ht_release(sgd);
    ht_release(net);
}

/* A function of a step that returns NULL and says nothing, on the last rank alone. */
enum silence { SAYS_NO_DATA, RUNS_NO_MODEL, SAYS_NO_LOSS, SILENCES };

static bool is_last(void)
{
    return ht_test_rank == ht_test_size - 1;
}

static ht_value *preprocess_nothing(ht_value *data, bool training, void *user)
{
    (void)training;
    return is_last() && *(enum silence *)user == SAYS_NO_DATA ? NULL : data;
}

static ht_value *forward_nothing(ht_module *model, ht_value *data, ht_forward_mode mode, void *user)
{
    const enum silence silence = *(enum silence *)user;
    ht_value *output;

    if (is_last() && silence == RUNS_NO_MODEL)
        return NULL;
    output = forward(model, data, mode, NULL);
    return is_last() && silence == SAYS_NO_LOSS ? NULL : output;
}

static ht_module *new_model(bool meets)
{
    ht_module *layers[] = {ht_nn_linear(IN, OUT), ht_nn_sync_batch_norm(OUT, NULL, HT_COMM_WORLD)};
    ht_module *net = meets ? ht_nn_sequential(2, layers) : new_net(3);

    if (meets)
        ht_module_to_dtype(net, HT_FLOAT64);
    else
        for (int i = 0; i < 2; i++)
            ht_release(layers[i]);
    return net;
}

static void check_silence(enum silence silence, bool blocking, bool meets)
{
    static const char *const parts[] = {"preprocess returned NULL without an error",
                                        "forward returned NULL without an error",
                                        "forward returned NULL without an error"};
    ht_module *net = new_model(meets), *dp;
    ht_optimizer *sgd = new_optimizer(net, SGD);
    ht_optim_wrapper *wrapper = ht_optim_wrapper_new(sgd, NULL);
    ht_step_options options = ht_step_options_default();

    options.preprocess = preprocess_nothing;
    options.forward = forward_nothing;
    options.user = &silence;
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, sgd, blocking);
    set_handlers(HT_ERRORS_RETURN);
    if (is_last()) {
        assert_null(ht_train_step(dp, batch(0, 4), wrapper, &options));
        assert_int_equal(ht_error_get(NULL), HT_ERR_STATE);
        expect_message("ht_train_step: ");
    } else {
        ht_train_step(dp, batch(4, 4), wrapper, &options);
        ht_error_clear();
    }
    for (int again = 0; again < 2; again++) { /* all ranks know, and no rank waits */
        assert_int_equal(ht_data_parallel_drain(dp), HT_ERR_STATE);
        expect_message(parts[silence]);
    }
    if (is_last() && !meets) {
        assert_null(ht_val_step(net, batch(0, 4), &options));
        expect_message(parts[silence]);
    }
    ht_release(dp);
    set_handlers(HT_ERRORS_ABORT);
    ht_release(wrapper);
    ht_release(sgd);
    ht_release(net);
}

static void test_a_null_without_an_error_is_told_to_all(void **state)
{
    (void)state;
    for (int way = 0; way < 4 * SILENCES; way++)
        check_silence((enum silence)(way / 4), way & 1, way & 2);
}

/* How the last rank comes to a step without a loss. An error took its data, or its options are
   NULL. An error behind the model takes the loss. It has no model, although its wrapper has one, or
   no wrapper. */
enum loss { NO_DATA, NO_OPTIONS, NO_LOSS, NO_MODEL, NO_WRAPPER, LOSSES };

static ht_value *forward_failing(ht_module *model, ht_value *data, ht_forward_mode mode, void *user)
{
    ht_value *output = forward(model, data, mode, NULL);

    if (!is_last() || *(enum loss *)user != NO_LOSS)
        return output;
    ht_error_raise(HT_COMM_SELF, HT_ERR_IO, "the loss of one rank");
    return NULL;
}

static ht_status step_without_loss(ht_module *model, ht_optim_wrapper *wrapper, enum loss how)
{
    ht_step_options options = ht_step_options_default();
    ht_value *data = batch(0, 4);

    options.forward = forward_failing;
    options.user = &how;
    if (is_last() && how == NO_OPTIONS)
        options.size = 0;
    if (is_last() && how == NO_DATA) {
        ht_error_raise(HT_COMM_SELF, HT_ERR_IO, "the data of one rank");
        data = NULL;
    }
    ht_optim_wrapper_begin(wrapper, model);
    if (is_last() && how == NO_MODEL)
        model = NULL;
    if (is_last() && how == NO_WRAPPER)
        wrapper = NULL;
    return ht_train_step(model, data, wrapper, &options) != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

static void check_no_loss(enum loss how, bool wrapped)
{
    ht_module *net = new_model(true), *dp = NULL;
    ht_optimizer *sgd = new_optimizer(net, SGD);
    ht_optim_wrapper *wrapper = ht_optim_wrapper_new(sgd, NULL);
    ht_scope *scope = ht_scope_open(); /* no step comes back to this graph */

    if (wrapped)
        dp = ht_nn_data_parallel(net, HT_COMM_WORLD, sgd, true);
    set_handlers(HT_ERRORS_RETURN);
    assert_int_not_equal(step_without_loss(wrapped ? dp : net, wrapper, how), HT_SUCCESS);
    ht_release(wrapper);
    ht_release(dp);
    set_handlers(HT_ERRORS_ABORT);
    assert_int_equal(ht_error_agree(HT_COMM_WORLD, HT_SUCCESS, "-"), HT_SUCCESS);
    ht_release(sgd);
    ht_release(net);
    ht_scope_close(scope);
}

/* Ranks wait in the model, forward or backward, with and without a data-parallel wrapper. */
static void test_a_step_without_a_loss_is_told_to_all(void **state)
{
    (void)state;
    for (int how = 0; how < LOSSES; how++) {
        check_no_loss((enum loss)how, false);
        check_no_loss((enum loss)how, true);
    }
}

HT_TEST_SUITE(test_train_step, cmocka_unit_test(test_parse_losses),
              cmocka_unit_test(maps_without_a_loss_are_refused),
              cmocka_unit_test(test_equals_a_loop_written_out),
              cmocka_unit_test(test_mode_reaches_the_modules_own_forward),
              cmocka_unit_test(test_detects_anomalous_parameters), cmocka_unit_test(test_misuse),
              cmocka_unit_test(test_a_null_without_an_error_is_told_to_all),
              cmocka_unit_test(test_a_step_without_a_loss_is_told_to_all));

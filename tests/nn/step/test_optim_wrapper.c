/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* The optimizer wrapper's loss scales, exchanges, updates and logs against tables worked out by
 * hand; the same update with and without a data-parallel wrapper; misuse. */
#include "ht_test.h"
#include "tensor_check.h"

#include <math.h>

#include "ht.h"
#include "nn/parallel/data/data_parallel.h"

enum { LOSSES = 10 };

/* y = w x with one weight, which starts at 100: the gradient of loss x w is x. */
static ht_module *new_model(void)
{
    ht_module *model = ht_nn_linear_ext(1, 1, false);
    bool was = ht_set_grad_enabled(false);

    ht_module_to_dtype(model, HT_FLOAT64);
    ht_fill_(ht_module_find_parameter(model, "weight"), 100);
    ht_set_grad_enabled(was);
    return model;
}

static ht_tensor *number(double x)
{
    int64_t shape[] = {1, 1};

    return ht_array(&x, 2, shape, HT_FLOAT64, HT_LOCAL);
}

/* The actions of one run: by number of the loss, 1 to 10. With learning rate 1 and the gradients 1,
 * 2, ..., 10, each update takes the mean of its losses' numbers from the weight. */
struct table {
    int64_t accumulative_counts;
    double scales[LOSSES];
    const char *updates; /* a letter for each loss: u is followed by an update */
    double weights[LOSSES];
};

static const struct table tables[] = {
    {1, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, "uuuuuuuuuu", {99, 97, 94, 90, 85, 79, 72, 64, 55, 45}},
    {3,
     {1. / 3, 1. / 3, 1. / 3, 1. / 3, 1. / 3, 1. / 3, 1. / 3, 1. / 3, 1. / 3, 1},
     "..u..u..uu",
     {100, 100, 98, 98, 98, 93, 93, 93, 85, 75}},
    {4,
     {0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.5, 0.5},
     "...u...u.u",
     {100, 100, 100, 97.5, 97.5, 97.5, 97.5, 91, 91, 81.5}},
};

static ht_tensor *record(ht_tensor *grad, void *seen)
{
    *(double *)seen = *(const double *)ht_test_data(grad);
    return NULL;
}

static ht_module *wrap(ht_module *model, ht_optimizer *optimizer, ht_averaging averaging)
{
    ht_data_parallel_options options = ht_data_parallel_options_default();

    options.averaging = averaging;
    return ht_nn_data_parallel_ext(model, HT_COMM_WORLD, optimizer, &options);
}

/* `averaging` < 0: no data-parallel wrapper. The gradient that arrives at the weight and the
 * reducer's own count prove the update, independent of the optimizer wrapper's report. */
static void check_table(const struct table *table, int averaging)
{
    ht_optim_wrapper_options options = ht_optim_wrapper_options_default();
    ht_module *net = new_model(), *model = net;
    ht_tensor *weight = ht_module_find_parameter(net, "weight");
    ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(net), 1, NULL);
    ht_optim_wrapper *wrapper;
    bool weighted = averaging == HT_AVERAGE_WEIGHTED;
    double arrived;
    int updates = 0;

    if (averaging >= 0)
        model = wrap(net, sgd, (ht_averaging)averaging);
    ht_tensor_register_hook(weight, record, &arrived);
    options.accumulative_counts = table->accumulative_counts;
    options.max_counts = LOSSES;
    wrapper = ht_optim_wrapper_new(sgd, &options);
    for (int i = 0; i < LOSSES; i++) {
        double scale = weighted ? 1 : table->scales[i];
        bool update = table->updates[i] == 'u';
        ht_optim_update last;

        ht_optim_wrapper_begin(wrapper, model);
        assert_int_equal(ht_optim_wrapper_should_update(wrapper), update);
        ht_optim_wrapper_update_params(wrapper, ht_sum(ht_forward(model, number(i + 1)), HT_NONE));
        last = ht_optim_wrapper_last(wrapper);
        updates += update;
        assert_true(fabs(arrived - scale * (i + 1)) <= 1e-14 * (i + 1));
        assert_true(last.loss_scale == scale);
        assert_true(last.count == i + 1 && last.lr == 1);
        assert_true(last.stepped == update && last.synchronised == update);
        assert_int_equal(ht_optimizer_steps(sgd), updates);
        if (averaging >= 0)
            assert_int_equal(ht__dp_of(model)->reducer->passes, updates);
        assert_true(fabs(ht_item(ht_mul_scalar(weight, 1)) - table->weights[i]) <= 1e-12);
    }
    assert_false(ht_optim_wrapper_should_update(wrapper)); /* max_counts losses have come */
    ht_release(wrapper);
    if (model != net)
        ht_release(model);
    ht_release(sgd);
    ht_release(net);
}

static void test_scales_exchanges_and_updates_as_worked_out_by_hand(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        check_table(&tables[i], -1);
        check_table(&tables[i], HT_AVERAGE_MEAN);
        check_table(&tables[i], HT_AVERAGE_WEIGHTED);
    }
}

/* A second forward pass with the data-parallel wrapper alone is exchanged, in the middle of an
 * accumulation too: no pass later finds that it was left switched off. */
static void test_exchange_is_off_for_one_pass_only(void **state)
{
    ht_optim_wrapper_options options = ht_optim_wrapper_options_default();
    ht_module *net = new_model(), *dp;
    ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(net), 1, NULL);
    ht_optim_wrapper *wrapper;

    (void)state;
    dp = wrap(net, sgd, HT_AVERAGE_MEAN);
    options.accumulative_counts = 2;
    wrapper = ht_optim_wrapper_new(sgd, &options);
    ht_optim_wrapper_begin(wrapper, dp);
    ht_optim_wrapper_update_params(wrapper, ht_sum(ht_forward(dp, number(1)), HT_NONE));
    assert_int_equal(ht__dp_of(dp)->reducer->passes, 0);
    ht_backward(ht_sum(ht_forward(dp, number(1)), HT_NONE));
    assert_int_equal(ht__dp_of(dp)->reducer->passes, 1);
    ht_release(wrapper);
    ht_release(dp);
    ht_release(sgd);
    ht_release(net);
}

/* Ranks with another number of rows each, the last with none: the mean over all rows. */
static void test_rank_without_rows(void **state)
{
    ht_module *net = new_model(), *dp;
    ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(net), 1, NULL);
    ht_optim_wrapper *wrapper = ht_optim_wrapper_new(sgd, NULL);
    bool idle = ht_test_rank == ht_test_size - 1 && ht_test_size > 1;
    int rows = ht_test_size > 1 ? ht_test_size - 1 : 1;
    ht_tensor *loss = NULL;

    (void)state;
    dp = wrap(net, sgd, HT_AVERAGE_WEIGHTED);
    ht_optim_wrapper_begin(wrapper, dp);
    if (!idle)
        loss = ht_sum(ht_forward(dp, number(ht_test_rank + 1)), HT_NONE);
    assert_int_equal(ht_optim_wrapper_update_params(wrapper, loss), HT_SUCCESS);
    assert_true(fabs(ht_item(ht_module_find_parameter(net, "weight")) - (100 - (rows + 1) / 2.)) <=
                1e-12);
    ht_release(wrapper);
    ht_release(dp);
    ht_release(sgd);
    ht_release(net);
}

/* Gradients (3, 4) once averaged, of norm 5: to 2 by norm, or each to 1; the log has the norm
   before. Clipped once an update, after the accumulation: each of two losses alone has half of it.
 */
static void test_clips_the_averaged_gradient(void **state)
{
    static const struct {
        double norm, value, moved[2];
    } cases[] = {{0, 0, {3, 4}}, {2, 0, {1.2, 1.6}}, {50, 0, {3, 4}}, {0, 1, {1, 1}}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ht_optim_wrapper_options options = ht_optim_wrapper_options_default();
        double x[2] = {3 * (2. * ht_test_rank + 1) / ht_test_size,
                       4 * (2. * ht_test_rank + 1) / ht_test_size};
        int64_t shape[] = {1, 2};
        ht_module *net = ht_nn_linear_ext(2, 1, false), *dp;
        ht_tensor *weight, *before;
        ht_optimizer *sgd;
        ht_optim_wrapper *wrapper;

        ht_module_to_dtype(net, HT_FLOAT64);
        weight = ht_module_find_parameter(net, "weight");
        before = ht_detach(ht_copy(weight));
        sgd = ht_optim_sgd(ht_module_parameters(net), 1, NULL);
        options.accumulative_counts = 2;
        options.clip_norm = cases[i].norm;
        options.clip_value = cases[i].value;
        wrapper = ht_optim_wrapper_new(sgd, &options);
        dp = wrap(net, sgd, HT_AVERAGE_MEAN);
        for (int loss = 0; loss < 2; loss++) {
            ht_optim_wrapper_begin(wrapper, dp);
            ht_optim_wrapper_update_params(
                wrapper,
                ht_sum(ht_forward(dp, ht_array(x, 2, shape, HT_FLOAT64, HT_LOCAL)), HT_NONE));
            if (cases[i].norm == 0 || loss == 0)
                assert_true(isnan(ht_optim_wrapper_last(wrapper).grad_norm));
            else
                assert_true(fabs(ht_optim_wrapper_last(wrapper).grad_norm - 5) <= 1e-12);
        }
        ht_optim_wrapper_begin(wrapper, dp); /* no update, and no norm of the last one */
        ht_optim_wrapper_update_params(
            wrapper, ht_sum(ht_forward(dp, ht_array(x, 2, shape, HT_FLOAT64, HT_LOCAL)), HT_NONE));
        assert_true(isnan(ht_optim_wrapper_last(wrapper).grad_norm));
        before = ht_sub(before, ht_module_find_parameter(net, "weight"));
        for (int j = 0; j < 2; j++)
            assert_true(fabs(((const double *)ht_test_data(before))[j] - cases[i].moved[j]) <=
                        1e-5);
        ht_release(wrapper);
        ht_release(dp);
        ht_release(sgd);
        ht_release(net);
    }
}

/* A group that the optimizer gets after it was wrapped is clipped too. */
static void test_clips_groups_added_later(void **state)
{
    ht_optim_wrapper_options options = ht_optim_wrapper_options_default();
    ht_module *first = new_model(), *second = new_model();
    ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(first), 1, NULL);
    ht_optim_wrapper *wrapper;

    (void)state;
    options.clip_value = 1;
    wrapper = ht_optim_wrapper_new(sgd, &options);
    ht_optim_wrapper_update_params(wrapper, ht_sum(ht_forward(first, number(3)), HT_NONE));
    ht_optim_sgd_add_param_group(sgd, ht_module_parameters(second), 1, NULL);
    ht_optim_wrapper_update_params(wrapper, ht_sum(ht_forward(second, number(3)), HT_NONE));
    assert_true(ht_item(ht_module_find_parameter(first, "weight")) == 99);
    assert_true(ht_item(ht_module_find_parameter(second, "weight")) == 99);
    ht_release(wrapper);
    ht_release(sgd);
    ht_release(second);
    ht_release(first);
}

/* A state saved between two updates: the next update is a mean of the remaining losses. */
static void test_state(void **state)
{
    ht_optim_wrapper_options options = ht_optim_wrapper_options_default();
    ht_module *net = new_model();
    ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(net), 1, NULL);
    ht_optim_wrapper *wrapper, *resumed;

    (void)state;
    options.accumulative_counts = 3;
    wrapper = ht_optim_wrapper_new(sgd, &options);
    for (int i = 0; i < 4; i++)
        ht_optim_wrapper_update_params(wrapper, ht_sum(ht_forward(net, number(1)), HT_NONE));
    ht_optimizer_zero_grad(sgd); /* gradients do not come along */
    resumed = ht_optim_wrapper_new(sgd, &options);
    ht_log_set_level(HT_LOG_ERROR);
    assert_int_equal(
        ht_optim_wrapper_load_state_dict(resumed, ht_optim_wrapper_state_dict(wrapper)),
        HT_SUCCESS);
    ht_log_set_level(HT_LOG_WARN);
    for (int i = 0; i < 2; i++) {
        ht_optim_wrapper_update_params(resumed, ht_sum(ht_forward(net, number(1)), HT_NONE));
        assert_true(ht_optim_wrapper_last(resumed).loss_scale == 0.5);
    }
    assert_true(ht_optim_wrapper_last(resumed).stepped);
    assert_true(ht_item(ht_module_find_parameter(net, "weight")) == 98);
    ht_release(resumed);
    ht_release(wrapper);
    ht_release(sgd);
    ht_release(net);
}

static void test_misuse(void **state)
{
    ht_optim_wrapper_options options = ht_optim_wrapper_options_default(), unset = {0};
    ht_data_parallel_options accumulating = ht_data_parallel_options_default();
    ht_module *net = new_model(), *dp;
    ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(net), 1, NULL);
    ht_optim_wrapper *wrapper;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_null(ht_optim_wrapper_new(sgd, &unset));
    assert_message("start from ht_optim_wrapper_options_default()");
    options.accumulative_counts = 0;
    assert_null(ht_optim_wrapper_new(sgd, &options));
    assert_message("ht_optim_wrapper_new: accumulative_counts is 0, expected at least 1");
    options = ht_optim_wrapper_options_default();
    options.clip_norm = options.clip_value = 1;
    assert_null(ht_optim_wrapper_new(sgd, &options));
    assert_message("clip_norm is 1 and clip_value is 1, expected one of the two");
    assert_null(ht_optim_wrapper_new(NULL, NULL));
    assert_message("ht_optim_wrapper_new: optimizer is NULL");
    assert_false(ht_optim_wrapper_should_update(NULL));
    assert_int_equal(ht_optimizer_step(ht_optim_wrapper_optimizer(NULL)), HT_ERR_ARGUMENT);
    assert_message("ht_optimizer_step: optimizer is NULL");

    options = ht_optim_wrapper_options_default();
    options.max_counts = 1;
    wrapper = ht_optim_wrapper_new(sgd, &options);
    assert_ptr_equal(ht_optim_wrapper_optimizer(wrapper), sgd);
    ht_optim_wrapper_update_params(wrapper, ht_sum(ht_forward(net, number(1)), HT_NONE));
    assert_int_equal(
        ht_optim_wrapper_update_params(wrapper, ht_sum(ht_forward(net, number(1)), HT_NONE)),
        HT_ERR_STATE);
    assert_message("this is loss 2, but max_counts is 1");
    assert_int_equal(ht_optim_wrapper_load_state_dict(wrapper, ht_value_map()), HT_ERR_FORMAT);
    assert_message("the state has no integer \"count\"");
    for (int i = 0; i < 3; i++) {
        ht_value *saved = ht_optim_wrapper_state_dict(wrapper);

        ht_value_set(saved, "count", ht_value_number((double[]){NAN, -1, 0.5}[i]));
        assert_int_equal(ht_optim_wrapper_load_state_dict(wrapper, saved), HT_ERR_FORMAT);
        assert_message("the state has no integer \"count\"");
    }
    ht_release(wrapper);

    wrapper = ht_optim_wrapper_new(sgd, NULL);
    dp = wrap(net, sgd, HT_AVERAGE_MEAN);
    assert_int_equal(ht_optim_wrapper_begin(wrapper, net), HT_SUCCESS);
    assert_int_equal(ht_optim_wrapper_update_params(wrapper, NULL), HT_ERR_STATE);
    assert_message("pass that wrapper to ht_optim_wrapper_begin");
    ht_release(dp);

    accumulating.accumulation_steps = 2;
    dp = ht_nn_data_parallel_ext(net, HT_COMM_WORLD, sgd, &accumulating);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(ht_optim_wrapper_begin(wrapper, dp), HT_ERR_STATE);
    assert_message("the data-parallel wrapper accumulates by itself (accumulation_steps is 2)");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(wrapper);
    ht_release(dp);
    ht_release(sgd);
    ht_release(net);
}

/* Two wrappers, one after another, while the optimizer wrapper stays: after a pass, and after a
 * forward pass without a loss. */
static void test_a_released_model_may_be_wrapped_again(void **state)
{
    ht_module *net = new_model();
    ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(net), 1, NULL);
    ht_optim_wrapper *wrapper = ht_optim_wrapper_new(sgd, NULL);

    (void)state;
    for (int i = 0; i < 3; i++) {
        ht_module *dp = wrap(net, sgd, HT_AVERAGE_MEAN);

        assert_non_null(dp);
        assert_int_equal(ht_optim_wrapper_begin(wrapper, dp), HT_SUCCESS);
        if (i != 1)
            assert_int_equal(
                ht_optim_wrapper_update_params(wrapper, ht_sum(ht_forward(dp, number(1)), HT_NONE)),
                HT_SUCCESS);
        ht_release(dp);
    }
    assert_true(ht_item(ht_module_find_parameter(net, "weight")) == 98);
    assert_int_equal(
        ht_optim_wrapper_update_params(wrapper, ht_sum(ht_forward(net, number(1)), HT_NONE)),
        HT_SUCCESS);
    ht_release(wrapper);
    ht_release(sgd);
    ht_release(net);
}

HT_TEST_SUITE(test_optim_wrapper,
              cmocka_unit_test(test_scales_exchanges_and_updates_as_worked_out_by_hand),
              cmocka_unit_test(test_exchange_is_off_for_one_pass_only),
              cmocka_unit_test(test_a_released_model_may_be_wrapped_again),
              cmocka_unit_test(test_rank_without_rows),
              cmocka_unit_test(test_clips_the_averaged_gradient),
              cmocka_unit_test(test_clips_groups_added_later), cmocka_unit_test(test_state),
              cmocka_unit_test(test_misuse));

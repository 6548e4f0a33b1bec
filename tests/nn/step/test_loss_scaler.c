/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* The scale of mixed precision: a dynamic one by a table worked out by hand, and a static one that
 * changes nothing. One rank's infinity skips the update on all; the state. */
#include "ht_test.h"

#include <math.h>
#include <string.h>

#include "ht.h"

static ht_module *new_model(void)
{
    ht_module *model = ht_nn_linear_ext(1, 1, false);
    bool was = ht_set_grad_enabled(false);

    ht_module_to_dtype(model, HT_FLOAT64);
    ht_fill_(ht_module_find_parameter(model, "weight"), 100);
    ht_set_grad_enabled(was);
    return model;
}

/* The loss x w, whose gradient is x. */
static ht_tensor *loss_of(ht_module *model, double x)
{
    int64_t shape[] = {1, 1};

    return ht_sum(ht_forward(model, ht_array(&x, 2, shape, HT_FLOAT64, HT_LOCAL)), HT_NONE);
}

static ht_optim_wrapper_options dynamic(void)
{
    ht_optim_wrapper_options options = ht_optim_wrapper_options_default();

    options.loss_scaling = HT_LOSS_SCALING_DYNAMIC;
    options.scale = 8;
    options.growth_interval = 2;
    return options;
}

static double weight_of(ht_module *net)
{
    return ht_item(ht_module_find_parameter(net, "weight"));
}

/* Each loss: its gradient, and the scale it is multiplied with. Gradients of 1.7e308 overflow once
 * scaled. The scale doubles after two good updates in a row and is halved by a bad one. */
static void test_dynamic_scale_as_worked_out_by_hand(void **state)
{
    static const struct {
        double gradient, scale, weight;
        bool skipped;
    } table[] = {
        {1, 8, 99, false}, {2, 8, 97, false},      {3, 16, 94, false}, {1.7e308, 16, 94, true},
        {1, 8, 93, false}, {1.7e308, 8, 93, true}, {NAN, 4, 93, true}, {1, 2, 92, false},
        {1, 2, 91, false}, {1, 4, 90, false},
    };
    ht_optim_wrapper_options options = dynamic();
    ht_module *net = new_model(), *dp;
    ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(net), 1, NULL);
    ht_optim_wrapper *wrapper = ht_optim_wrapper_new(sgd, &options);

    (void)state;
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, sgd, false);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        ht_optim_update last;

        ht_optim_wrapper_begin(wrapper, dp);
        assert_int_equal(ht_optim_wrapper_update_params(wrapper, loss_of(dp, table[i].gradient)),
                         HT_SUCCESS);
        last = ht_optim_wrapper_last(wrapper);
        assert_true(last.amp_scale == table[i].scale);
        assert_true(last.skipped == table[i].skipped && last.stepped == !table[i].skipped);
        assert_true(weight_of(net) == table[i].weight);
    }
    assert_int_equal(ht_optimizer_steps(sgd), 7);
    ht_release(wrapper);
    ht_release(dp);
    ht_release(sgd);
    ht_release(net);
}

/* The scale after `count` updates of one gradient, all of which are skipped or none. */
static double scale_after(int count, double gradient, double scale)
{
    ht_optim_wrapper_options options = dynamic();
    ht_module *net = new_model();
    ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(net), 1, NULL);
    ht_optim_wrapper *wrapper;
    double last;

    options.scale = scale;
    options.growth_interval = 1;
    wrapper = ht_optim_wrapper_new(sgd, &options);
    for (int i = 0; i <= count; i++) {
        ht_scope *scope = ht_scope_open();

        assert_int_equal(ht_optim_wrapper_update_params(wrapper, loss_of(net, gradient)),
                         HT_SUCCESS);
        assert_true(ht_optim_wrapper_last(wrapper).stepped == !isnan(gradient));
        ht_scope_close(scope);
    }
    last = ht_optim_wrapper_last(wrapper).amp_scale;
    assert_int_equal(
        ht_optim_wrapper_load_state_dict(wrapper, ht_optim_wrapper_state_dict(wrapper)),
        HT_SUCCESS);
    ht_release(wrapper);
    ht_release(sgd);
    ht_release(net);
    return last;
}

/* 2^126 and 2^127 are the last powers of two of float32, 2^-126 is the first normal one. */
static void test_dynamic_scale_stays_within_float32(void **state)
{
    (void)state;
    assert_true(scale_after(126, 0, 1) == 0x1p126);
    assert_true(scale_after(2000, 0, 1) == 0x1p127);
    assert_true(scale_after(10, 0, 0x1p200) == 0x1p200);
    assert_true(scale_after(126, NAN, 1) == 0x1p-126);
    assert_true(scale_after(2000, NAN, 1) == 0x1p-126);
    assert_true(scale_after(10, NAN, 0x1p-200) == 0x1p-200);
}

/* Powers of two: the same bits as without. The scale stays after a skipped update. */
static void test_static_scale_changes_nothing(void **state)
{
    ht_optim_wrapper_options options = ht_optim_wrapper_options_default();
    double weights[2];

    (void)state;
    for (int scaled = 0; scaled < 2; scaled++) {
        ht_module *net = new_model();
        ht_optimizer *adam = ht_optim_adam(ht_module_parameters(net), 0.1, NULL);
        ht_optim_wrapper *wrapper;

        options.accumulative_counts = 2;
        options.loss_scaling = scaled ? HT_LOSS_SCALING_STATIC : HT_LOSS_SCALING_NONE;
        options.scale = 1024;
        wrapper = ht_optim_wrapper_new(adam, &options);
        for (int i = 0; i < 10; i++) {
            if (scaled && i == 4) { /* two losses that are in nothing else */
                ht_optim_wrapper_update_params(wrapper, loss_of(net, INFINITY));
                ht_optim_wrapper_update_params(wrapper, loss_of(net, 1));
                assert_true(ht_optim_wrapper_last(wrapper).skipped);
            }
            ht_optim_wrapper_update_params(wrapper, loss_of(net, sin(i)));
            assert_true(ht_optim_wrapper_last(wrapper).amp_scale == (scaled ? 1024 : 1));
        }
        weights[scaled] = weight_of(net);
        ht_release(wrapper);
        ht_release(adam);
        ht_release(net);
    }
    assert_true(weights[0] == weights[1]);
}

/* The norm is that of the gradient itself, 5, and not of the scaled one. */
static void test_unscales_before_clipping(void **state)
{
    ht_optim_wrapper_options options = ht_optim_wrapper_options_default();
    ht_module *net = new_model();
    ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(net), 1, NULL);
    ht_optim_wrapper *wrapper;

    (void)state;
    options.loss_scaling = HT_LOSS_SCALING_STATIC;
    options.clip_norm = 2;
    wrapper = ht_optim_wrapper_new(sgd, &options);
    ht_optim_wrapper_update_params(wrapper, loss_of(net, 5));
    assert_true(ht_optim_wrapper_last(wrapper).grad_norm == 5);
    assert_true(fabs(weight_of(net) - 98) <= 1e-5);
    ht_release(wrapper);
    ht_release(sgd);
    ht_release(net);
}

/* Ranks that run out of data would miss changes of the scale; a static one has none. */
static void test_join_takes_a_static_scale(void **state)
{
    (void)state;
    for (int is_static = 0; is_static < 2; is_static++) {
        ht_optim_wrapper_options options = dynamic();
        ht_module *net = new_model(), *dp;
        ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(net), 1, NULL);
        ht_optim_wrapper *wrapper;

        if (is_static)
            options.loss_scaling = HT_LOSS_SCALING_STATIC;
        wrapper = ht_optim_wrapper_new(sgd, &options);
        dp = ht_nn_data_parallel(net, HT_COMM_WORLD, sgd, false);
        ht_data_parallel_join_begin(dp, NULL);
        for (int step = 0; step <= ht_test_rank && is_static; step++) {
            assert_int_equal(ht_optim_wrapper_begin(wrapper, dp), HT_SUCCESS);
            ht_optim_wrapper_update_params(wrapper, loss_of(dp, 2));
        }
        if (!is_static) {
            const char *message;

            ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
            assert_int_equal(ht_optim_wrapper_begin(wrapper, dp), HT_ERR_UNSUPPORTED);
            ht_error_get(&message);
            assert_non_null(strstr(message, "in a join, ranks out of data would miss changes"));
            ht_error_clear();
            ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
        }
        assert_int_equal(ht_data_parallel_join_end(dp), HT_SUCCESS);
        assert_true(weight_of(net) == (is_static ? 100 - 2 * ht_test_size : 100));
        ht_release(wrapper);
        ht_release(dp);
        ht_release(sgd);
        ht_release(net);
    }
}

/* A communication hook that leaves each rank its own gradient. */
static ht_status keep_local(ht_grad_bucket *bucket, int round, void *state)
{
    (void)bucket;
    (void)round;
    (void)state;
    return HT_SUCCESS;
}

/* An infinity on one rank alone skips the update on all, because the ranks would differ otherwise.
 */
static void test_one_ranks_infinity_skips_on_all(void **state)
{
    ht_optim_wrapper_options options = dynamic();
    ht_module *net = new_model(), *dp;
    ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(net), 1, NULL);
    ht_optim_wrapper *wrapper = ht_optim_wrapper_new(sgd, &options);
    bool last = ht_test_rank == ht_test_size - 1;

    (void)state;
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, sgd, false);
    ht_data_parallel_register_comm_hook(dp, keep_local, NULL);
    ht_optim_wrapper_begin(wrapper, dp);
    ht_optim_wrapper_update_params(wrapper, loss_of(dp, last ? INFINITY : 1));
    assert_true(ht_optim_wrapper_last(wrapper).skipped);
    assert_true(weight_of(net) == 100);
    ht_optim_wrapper_begin(wrapper, dp);
    ht_optim_wrapper_update_params(wrapper, loss_of(dp, 1));
    assert_true(ht_optim_wrapper_last(wrapper).amp_scale == 4);
    assert_true(weight_of(net) == 99);
    ht_release(wrapper);
    ht_release(dp);
    ht_release(sgd);
    ht_release(net);
}

/* Resumed between two growths, the scale continues as without an interruption. */
static void test_state(void **state)
{
    ht_optim_wrapper_options options = dynamic();
    ht_module *net = new_model();
    ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(net), 1, NULL);
    ht_optim_wrapper *wrapper, *resumed;

    (void)state;
    options.growth_interval = 3;
    wrapper = ht_optim_wrapper_new(sgd, &options);
    resumed = ht_optim_wrapper_new(sgd, &options);
    ht_optim_wrapper_update_params(wrapper, loss_of(net, INFINITY));
    ht_optim_wrapper_update_params(wrapper, loss_of(net, 1));
    ht_optim_wrapper_update_params(wrapper, loss_of(net, 1));
    assert_int_equal(
        ht_optim_wrapper_load_state_dict(resumed, ht_optim_wrapper_state_dict(wrapper)),
        HT_SUCCESS);
    for (int i = 0; i < 2; i++) {
        ht_optim_wrapper_update_params(resumed, loss_of(net, 1));
        assert_true(ht_optim_wrapper_last(resumed).amp_scale == (i == 0 ? 4 : 8));
    }
    ht_release(resumed);
    ht_release(wrapper);
    ht_release(sgd);
    ht_release(net);
}

static void test_misuse(void **state)
{
    ht_optim_wrapper_options options = dynamic();
    ht_module *net = new_model();
    ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(net), 1, NULL);
    ht_optim_wrapper *plain = ht_optim_wrapper_new(sgd, NULL);
    ht_optim_wrapper *scaling = ht_optim_wrapper_new(sgd, &options);

    (void)state;
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    options.backoff_factor = 1;
    assert_null(ht_optim_wrapper_new(sgd, &options));
    assert_message("ht_optim_wrapper_new: backoff_factor is 1, expected");
    options = dynamic();
    options.scale = 0;
    assert_null(ht_optim_wrapper_new(sgd, &options));
    assert_message("ht_optim_wrapper_new: scale is 0, expected");
    assert_int_equal(ht_optim_wrapper_load_state_dict(scaling, ht_optim_wrapper_state_dict(plain)),
                     HT_ERR_FORMAT);
    assert_message("the state has no \"scaler\"");
    for (int i = 0; i < 4; i++) {
        ht_value *saved = ht_optim_wrapper_state_dict(scaling);

        ht_value_set(ht_value_get(saved, "scaler"), i < 2 ? "scale" : "streak",
                     ht_value_number((double[]){NAN, INFINITY, NAN, -1}[i]));
        assert_int_equal(ht_optim_wrapper_load_state_dict(scaling, saved), HT_ERR_FORMAT);
        assert_message("the state has no \"scaler\"");
    }
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(scaling);
    ht_release(plain);
    ht_release(sgd);
    ht_release(net);
}

HT_TEST_SUITE(test_loss_scaler, cmocka_unit_test(test_dynamic_scale_as_worked_out_by_hand),
              cmocka_unit_test(test_dynamic_scale_stays_within_float32),
              cmocka_unit_test(test_static_scale_changes_nothing),
              cmocka_unit_test(test_unscales_before_clipping),
              cmocka_unit_test(test_join_takes_a_static_scale),
              cmocka_unit_test(test_one_ranks_infinity_skips_on_all), cmocka_unit_test(test_state),
              cmocka_unit_test(test_misuse));

/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Forward passes that fail: with the error of a hook, on one rank alone too, and without an output
 * of the type's own function. */
#include "nn/parallel/data/data_parallel_errors.h"

struct hook {
    bool fails, returns;
    int calls;
};

/* Leaves an error, and returns a value all the same. */
static ht_value *run(ht_value *value, struct hook *hook)
{
    hook->calls++;
    if (hook->fails)
        ht_reshape(batch_rows(0, 3), HT_SHAPE(2));
    return hook->returns ? value : NULL;
}

static ht_value *before(ht_module *module, ht_value *inputs, void *user)
{
    (void)module;
    return run(inputs, user);
}

static ht_value *after(ht_module *module, ht_value *inputs, ht_value *output, void *user)
{
    (void)module, (void)inputs;
    return run(output, user);
}

/* Registers both kinds, one of which fails, and hooks behind them. */
static void register_hooks(ht_module *module, bool pre, bool fails, bool returns,
                           struct hook hooks[4])
{
    for (int i = 0; i < 4; i++)
        hooks[i] = (struct hook){.fails = fails && i == (pre ? 0 : 2), .returns = returns};
    for (int i = 0; i < 2; i++) {
        ht_module_register_forward_pre_hook(module, before, &hooks[i]);
        ht_module_register_forward_hook(module, after, &hooks[2 + i]);
    }
}

static void expect_calls(const struct hook hooks[4], int first, int second, int third, int fourth)
{
    assert_int_equal(hooks[0].calls, first);
    assert_int_equal(hooks[1].calls, second);
    assert_int_equal(hooks[2].calls, third);
    assert_int_equal(hooks[3].calls, fourth);
}

static void an_error_of_a_hook_ends_the_pass(void **state)
{
    (void)state;
    for (int way = 0; way < 8; way++) {
        const bool pre = way & 1, values = way & 2, returns = way & 4;
        ht_module *net = new_net(3);
        ht_tensor *x = batch_rows(0, 3);
        struct hook hooks[4];

        register_hooks(net, pre, true, returns, hooks);
        set_handlers(HT_ERRORS_RETURN);
        if (values)
            assert_null(ht_forward_value(net, ht_value_tensor(x)));
        else
            assert_null(ht_forward(net, x));
        assert_int_equal(ht_error_get(NULL), HT_ERR_SHAPE);
        expect_message("ht_reshape: ");
        set_handlers(HT_ERRORS_ABORT);
        expect_calls(hooks, 1, !pre, !pre, 0);
        ht_release(net);
    }
}

static void an_error_from_before_the_pass_is_kept(void **state)
{
    ht_module *net = new_net(3);
    ht_tensor *x = batch_rows(0, 3);
    struct hook hooks[4];

    (void)state;
    register_hooks(net, true, false, false, hooks);
    set_handlers(HT_ERRORS_RETURN);
    assert_null(ht_reshape(x, HT_SHAPE(2)));
    assert_non_null(ht_forward(net, x));
    expect_message("ht_reshape: ");
    set_handlers(HT_ERRORS_ABORT);
    expect_calls(hooks, 1, 1, 1, 1);
    ht_release(net);
}

/* A layer that waits for every rank follows the hook. */
static void an_error_of_one_rank_is_told_inside_a_wrapper(void **state)
{
    const bool fails = ht_test_rank == ht_test_size - 1;

    (void)state;
    for (int way = 0; way < 4; way++) {
        ht_module *layers[] = {ht_nn_linear(IN, OUT),
                               ht_nn_sync_batch_norm(OUT, NULL, HT_COMM_WORLD),
                               ht_nn_log_softmax(1)};
        ht_module *net = ht_nn_sequential(3, layers), *dp;
        struct hook hooks[4];

        ht_module_to_dtype(net, HT_FLOAT64);
        dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, false);
        register_hooks(way & 2 ? dp : ht_module_find(net, "0"), way & 1, fails, false, hooks);
        set_handlers(HT_ERRORS_RETURN);
        if (backward_rows(dp, 4 * ht_test_rank, 4) == HT_SUCCESS)
            assert_false(fails);
        ht_error_clear();
        for (int again = 0; again < 2; again++) {
            assert_null(ht_forward(dp, batch_rows(0, 4)));
            ht_error_clear();
        }
        ht_release(dp);
        set_handlers(HT_ERRORS_ABORT);
        ht_release(net);
    }
}

static ht_tensor *give_nothing(ht_module *self, ht_tensor *x)
{
    (void)self, (void)x;
    return NULL;
}

static ht_value *give_no_value(ht_module *self, ht_value *inputs)
{
    (void)self, (void)inputs;
    return NULL;
}

static void a_module_without_an_output_is_an_error(void **state)
{
    static const ht_module_type types[] = {{.name = "empty", .forward = give_nothing},
                                           {.name = "empty", .forward_value = give_no_value}};

    (void)state;
    for (int i = 0; i < 2; i++) {
        ht_module *net = ht_module_new(1, &types[i]);

        HT_TEST_EXPECT_ERROR(ht_forward(net, batch_rows(0, 2)), HT_ERR_STATE,
                             "ht_forward: empty returned NULL without an error");
        HT_TEST_EXPECT_ERROR(ht_forward_value(net, ht_value_tensor(batch_rows(0, 2))), HT_ERR_STATE,
                             "ht_forward_value: empty returned NULL without an error");
        ht_release(net);
    }
}

HT_TEST_SUITE(test_forward, cmocka_unit_test(an_error_of_a_hook_ends_the_pass),
              cmocka_unit_test(an_error_from_before_the_pass_is_kept),
              cmocka_unit_test(an_error_of_one_rank_is_told_inside_a_wrapper),
              cmocka_unit_test(a_module_without_an_output_is_an_error));

/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Errors that one rank alone finds in its backward pass: all ranks get them, with the reason. */
#include "data_parallel_errors.h"
#include "nn/parallel/data/data_parallel.h"

/* A loss of two forward passes, whose weights agree only if they have the same number of rows. */
static ht_status two_forward_passes(ht_module *dp, bool uneven)
{
    int64_t rows = uneven ? 2 : 4;
    ht_tensor *a = ht_forward(dp, batch_rows(0, 4)), *b = ht_forward(dp, batch_rows(4, rows));

    return ht_backward(ht_add(ht_nll_loss(a, batch_classes(0, 4), HT_MEAN),
                              ht_nll_loss(b, batch_classes(4, rows), HT_MEAN)));
}

/* The next passes of a wrapper that is of no use, and training with another one. Nothing was
 * updated; NULL: by others it may have been. */
static void expect_the_end(ht_module *net, ht_module *dp, ht_optimizer *optimizer,
                           const double before[VALUES], const char *head, const char *why)
{
    double after[VALUES];

    for (int again = 0; again < 2; again++) {
        ht_error_clear();
        assert_null(ht_forward(dp, batch_rows(0, 4)));
        expect_message(head);
        assert_null(ht_forward(dp, batch_rows(0, 4)));
        expect_message(why);
    }
    ht_release(dp);
    set_handlers(HT_ERRORS_ABORT);
    read_parameters(net, after);
    if (before != NULL)
        assert_memory_equal(before, after, sizeof after);
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    assert_int_equal(one_step(dp, optimizer), HT_SUCCESS);
    ht_release(dp);
}

static void check_uneven_loss(bool blocking, bool alone)
{
    static const char why[] = "ht_backward: the loss depends on two forward passes of 4 and 2 rows";
    ht_module *net = new_net(3);
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, blocking);
    bool fails = !alone || ht_test_rank == ht_test_size - 1;
    double before[VALUES];

    assert_int_equal(one_step(dp, optimizer), HT_SUCCESS);
    ht_optimizer_zero_grad(optimizer);
    read_parameters(net, before);
    set_handlers(HT_ERRORS_RETURN);
    assert_int_equal(two_forward_passes(dp, fails), fails ? HT_ERR_STATE : HT_SUCCESS);
    if (fails)
        expect_message(why);
    assert_int_equal(ht_optimizer_step(optimizer), fails || blocking ? HT_ERR_STATE : HT_SUCCESS);
    expect_the_end(net, dp, optimizer, before, "pass 2: no loss on rank", why);
    ht_release(net);
    ht_release(optimizer);
}

static void a_loss_of_uneven_forward_passes_is_told_to_all(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++)
        check_uneven_loss(way & 1, way & 2);
}

/* With the last pass of the group, the first one that is sent; the others wait for their losses. */
static void a_failed_loss_within_a_group_is_told_to_all(void **state)
{
    ht_module *net = new_net(3), *dp;
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_data_parallel_options options = ht_data_parallel_options_default();
    bool fails = ht_test_rank == ht_test_size - 1;
    double before[VALUES];
    ht_tensor *later;

    (void)state;
    options.accumulation_steps = 2;
    dp = ht_nn_data_parallel_ext(net, HT_COMM_WORLD, optimizer, &options);
    read_parameters(net, before);
    set_handlers(HT_ERRORS_RETURN);
    later = ht_forward(dp, batch_rows(0, 4));
    assert_int_equal(two_forward_passes(dp, fails), fails ? HT_ERR_STATE : HT_SUCCESS);
    ht_error_clear();
    assert_int_equal(ht_backward(ht_nll_loss(later, batch_classes(0, 4), HT_MEAN)), HT_SUCCESS);
    assert_int_equal(ht_optimizer_step(optimizer), fails ? HT_ERR_STATE : HT_SUCCESS);
    expect_the_end(net, dp, optimizer, before, "pass 1: no loss on rank", "two forward passes");
    ht_release(net);
    ht_release(optimizer);
}

static ht_tensor *break_backward(ht_tensor *grad, void *user)
{
    (void)user;
    ht_add(grad, batch_rows(0, 9)); /* (4) and (9, 6) */
    return NULL;
}

/* The gradients that it has not computed are missing in the sum of the group, without a message on
 * this rank. */
static void a_failed_backward_within_a_group_is_told_to_all(void **state)
{
    ht_module *net = new_net(3), *dp;
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_data_parallel_options options = ht_data_parallel_options_default();
    ht_tensor *bias = ht_module_find_parameter(net, "fc2.bias");
    bool fails = ht_test_rank == ht_test_size - 1;
    double before[VALUES];
    uint64_t hook;

    (void)state;
    options.accumulation_steps = 2;
    dp = ht_nn_data_parallel_ext(net, HT_COMM_WORLD, optimizer, &options);
    read_parameters(net, before);
    set_handlers(HT_ERRORS_RETURN);
    hook = fails ? ht_tensor_register_hook(bias, break_backward, NULL) : 0;
    assert_int_equal(backward_rows(dp, 0, 4), fails ? HT_ERR_SHAPE : HT_SUCCESS);
    ht_error_clear();
    if (fails)
        ht_tensor_remove_hook(bias, hook);
    assert_int_equal(backward_rows(dp, 4, 4), HT_SUCCESS);
    assert_int_equal(ht_optimizer_step(optimizer), fails ? HT_ERR_SHAPE : HT_SUCCESS);
    expect_the_end(net, dp, optimizer, before, "pass 1: gradients cannot be used on rank",
                   "do not broadcast");
    ht_release(net);
    ht_release(optimizer);
}

/* The root of 0 x y has an infinite derivative, and 0 times that is NaN. */
static void a_nan_that_one_rank_finds_is_told_to_all(void **state)
{
    ht_module *net = new_net(3), *dp;
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    bool fails = ht_test_rank == ht_test_size - 1;
    double before[VALUES];
    ht_tensor *y;

    (void)state;
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, true);
    read_parameters(net, before);
    set_handlers(HT_ERRORS_RETURN);
    ht_set_detect_anomaly(true);
    y = ht_sqrt(ht_mul_scalar(ht_forward(dp, batch_rows(0, 4)), fails ? 0 : -1));
    assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), fails ? HT_ERR_ARGUMENT : HT_SUCCESS);
    ht_set_detect_anomaly(false);
    if (fails)
        expect_message("has a NaN, expected numbers");
    assert_int_equal(ht_optimizer_step(optimizer), HT_ERR_STATE);
    expect_the_end(net, dp, optimizer, before, "pass 1: backward failed before it came to ",
                   "came to shift");
    ht_release(net);
    ht_release(optimizer);
}

/* Its backward waits for every rank in the middle. */
static void a_failed_pass_with_collective_layers_is_told_to_all(void **state)
{
    ht_module *net = ht_nn_sequential(
        3, (ht_module *[]){ht_nn_linear(IN, OUT), ht_nn_sync_batch_norm(OUT, NULL, HT_COMM_WORLD),
                           ht_nn_log_softmax(1)});
    bool fails = ht_test_rank == ht_test_size - 1;
    ht_module *dp;

    (void)state;
    ht_module_to_dtype(net, HT_FLOAT64);
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, false);
    set_handlers(HT_ERRORS_RETURN);
    assert_int_equal(two_forward_passes(dp, fails), HT_ERR_STATE);
    for (int again = 0; again < 2; again++) {
        ht_error_clear();
        assert_null(ht_forward(dp, batch_rows(0, 4)));
        expect_message("no loss on rank");
    }
    ht_release(dp);
    set_handlers(HT_ERRORS_ABORT);
    ht_release(net);
}

/* A rank whose loss reaches two wrappers refuses it for both. */
static void a_failed_pass_of_two_wrappers_is_told_to_all(void **state)
{
    ht_module *parts[] = {new_net(3), new_net(4)};
    bool fails = ht_test_rank == ht_test_size - 1;
    ht_module *dp[2];
    ht_tensor *losses[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        int64_t rows = fails ? 4 + i : 4;

        dp[i] = ht_nn_data_parallel(parts[i], HT_COMM_WORLD, NULL, false);
        losses[i] = ht_nll_loss(ht_forward(dp[i], batch_rows(0, rows)), batch_classes(0, rows),
                                HT_MEAN);
    }
    set_handlers(HT_ERRORS_RETURN);
    assert_int_equal(ht_backward(ht_add(losses[0], losses[1])), fails ? HT_ERR_STATE : HT_SUCCESS);
    for (int i = 0; i < 2; i++) {
        ht_error_clear();
        assert_int_equal(ht_data_parallel_drain(dp[i]), HT_ERR_STATE);
        expect_message("the loss reaches two data-parallel wrappers that differ");
    }
    for (int i = 0; i < 2; i++)
        ht_release(dp[i]);
    set_handlers(HT_ERRORS_ABORT);
    for (int i = 0; i < 2; i++)
        ht_release(parts[i]);
}

/* Two wrappers whose layers wait, with different numbers of channels and of parameters. Others
 * begin the pass of the first one first, and then come to the layers of the second one first. */
static ht_tensor *forward_two(ht_module *const dp[2])
{
    return ht_sum(ht_square(ht_forward(dp[1], ht_forward(dp[0], batch_rows(0, 4)))), HT_NONE);
}

static void check_missing_loss_of_two(bool one_by_one, int passes)
{
    const bool fails = ht_test_rank == ht_test_size - 1;
    ht_module *nets[2], *dp[2];
    ht_tensor *loss;

    nets[0] = ht_nn_sequential(
        HT_LIST(ht_module *, ht_nn_linear(IN, IN), ht_nn_sync_batch_norm(IN, NULL, HT_COMM_WORLD)));
    nets[1] = ht_nn_sequential(HT_LIST(ht_module *, ht_nn_linear(IN, IN), ht_nn_linear(IN, OUT),
                                       ht_nn_sync_batch_norm(OUT, NULL, HT_COMM_WORLD)));
    for (int i = 0; i < 2; i++) {
        ht_module_to_dtype(nets[i], HT_FLOAT64);
        dp[i] = ht_nn_data_parallel(nets[i], HT_COMM_WORLD, NULL, false);
    }
    for (int pass = 0; pass < passes; pass++)
        assert_int_equal(ht_backward(forward_two(dp)), HT_SUCCESS);
    loss = forward_two(dp);
    set_handlers(HT_ERRORS_RETURN);
    if (fails)
        ht_error_raise(HT_COMM_SELF, HT_ERR_IO, "the loss of one rank");
    if (fails && one_by_one) {
        for (int i = 0; i < 2; i++)
            assert_int_equal(ht_data_parallel_backward(dp[i], NULL), HT_ERR_IO);
    } else {
        assert_int_equal(ht_backward(fails ? NULL : loss), fails ? HT_ERR_IO : HT_ERR_STATE);
    }
    ht_error_clear();
    assert_int_equal(ht_error_agree(HT_COMM_WORLD, HT_SUCCESS, "all are here"), HT_SUCCESS);
    for (int i = 0; i < 2; i++) {
        ht_error_clear();
        assert_int_equal(ht_data_parallel_drain(dp[i]), HT_ERR_IO);
        expect_message("the loss of one rank");
    }
    for (int i = 0; i < 2; i++)
        ht_release(dp[i]);
    set_handlers(HT_ERRORS_ABORT);
    for (int i = 0; i < 2; i++)
        ht_release(nets[i]);
}

static void a_missing_loss_of_two_wrappers_is_told_in_their_order(void **state)
{
    (void)state;
    for (int passes = 0; passes < 3; passes++) {
        check_missing_loss_of_two(false, passes);
        check_missing_loss_of_two(true, passes);
    }
}

/* How a rank loses the loss of the second of two wrappers in a row. */
enum loss { JUDGE_FAILS, LOSS_FAILS, BOTH_FAIL, LOSSES };

/* Makes it of what the first gave. */
static ht_status judge(ht_module *dp, ht_tensor *fake, enum loss how, bool fails)
{
    ht_tensor *x = how == BOTH_FAIL ? fake : ht_detach(fake), *y;

    if (how != LOSS_FAILS && fails) /* a column more */
        x = ht_concatenate(2, (ht_tensor *[]){x, ht_narrow(x, 1, 0, 1)}, 1);
    y = ht_forward(dp, x);
    if (how == LOSS_FAILS && fails)
        return ht_data_parallel_backward(dp, ht_nll_loss(y, batch_classes(0, 9), HT_MEAN));
    return ht_backward(y != NULL ? ht_mean(y, HT_NONE) : NULL);
}

/* Others do not begin a pass of the first, unless its result had its history. */
static void a_failed_pass_of_one_wrapper_is_not_one_of_another(void **state)
{
    bool fails = ht_test_rank == ht_test_size - 1;

    (void)state;
    for (int how = 0; how < LOSSES; how++) {
        ht_module *nets[2] = {ht_nn_linear(IN, IN), ht_nn_linear(IN, OUT)}, *dp[2];
        ht_tensor *fake;

        for (int i = 0; i < 2; i++) {
            ht_module_to_dtype(nets[i], HT_FLOAT64);
            dp[i] = ht_nn_data_parallel(nets[i], HT_COMM_WORLD, NULL, false);
        }
        set_handlers(HT_ERRORS_RETURN);
        fake = ht_forward(dp[0], batch_rows(0, 4));
        assert_int_equal(judge(dp[1], fake, how, fails), fails ? HT_ERR_SHAPE : HT_SUCCESS);
        ht_error_clear();
        if (how != BOTH_FAIL)
            assert_int_equal(ht_backward(ht_mean(fake, HT_NONE)), HT_SUCCESS);
        assert_int_equal(ht_data_parallel_drain(dp[1]), HT_ERR_SHAPE);
        expect_message("no loss on rank");
        assert_int_equal(ht_data_parallel_drain(dp[0]),
                         how == BOTH_FAIL ? HT_ERR_SHAPE : HT_SUCCESS);
        ht_error_clear();
        if (how != BOTH_FAIL) { /* nor where all ranks find that the second is invalid */
            fake = ht_forward(dp[0], batch_rows(0, 4));
            assert_null(ht_forward(dp[1], ht_detach(fake)));
            assert_int_equal(ht_backward(NULL), HT_ERR_SHAPE);
            ht_error_clear();
            assert_int_equal(ht_backward(ht_mean(fake, HT_NONE)), HT_SUCCESS);
            assert_int_equal(ht_data_parallel_drain(dp[0]), HT_SUCCESS);
        }
        for (int i = 0; i < 2; i++)
            ht_release(dp[i]);
        set_handlers(HT_ERRORS_ABORT);
        for (int i = 0; i < 2; i++)
            ht_release(nets[i]);
    }
}

/* The second of two wrappers in a row has no input, and then one that the first did not make. Its
 * pass with that input leaves the one without waiting, which all begin after it. */
static void a_pass_without_an_input_is_not_the_next_one(void **state)
{
    bool fails = ht_test_rank == ht_test_size - 1;
    ht_module *nets[2] = {ht_nn_linear(IN, IN), ht_nn_linear(IN, OUT)}, *dp[2];
    ht_tensor *fake, *judged;

    (void)state;
    for (int i = 0; i < 2; i++) {
        ht_module_to_dtype(nets[i], HT_FLOAT64);
        dp[i] = ht_nn_data_parallel(nets[i], HT_COMM_WORLD, NULL, false);
    }
    set_handlers(HT_ERRORS_RETURN);
    fake = ht_forward(dp[0], fails ? ht_ones(HT_SHAPE(4, IN + 1), HT_FLOAT64, HT_LOCAL)
                                   : batch_rows(0, 4));
    judged = ht_forward(dp[1], fake);
    assert_true((judged == NULL) == fails);
    ht_error_clear();
    assert_int_equal(ht_backward(ht_mean(ht_forward(dp[1], batch_rows(4, 4)), HT_NONE)),
                     HT_SUCCESS);
    if (fails)
        assert_int_equal(ht__dp_of(dp[1])->armed_count, 1);
    ht_backward(judged != NULL ? ht_mean(judged, HT_NONE) : NULL);
    ht_error_clear();
    for (int i = 0; i < 2; i++)
        assert_int_not_equal(ht_data_parallel_drain(dp[i]), HT_SUCCESS);
    for (int i = 0; i < 2; i++)
        ht_release(dp[i]);
    set_handlers(HT_ERRORS_ABORT);
    for (int i = 0; i < 2; i++)
        ht_release(nets[i]);
}

/* The last: the pass of this rank ends before others begin theirs, and reports a later error. */
enum when { BEFORE_ALL, BEFORE_STEP, AFTER_STEP, BEFORE_OTHERS, WHENS };

struct stray {
    struct run run;
    bool hook, alone;
    enum when when;
};

/* No barrier: passes and barriers are in one order on all ranks. */
static void wait_for_last(void)
{
    int last = ht_test_size - 1;
    double there = 1;
    ht_tensor *token = ht_array(&there, 1, (int64_t[]){1}, HT_FLOAT64, HT_LOCAL);

    for (int r = 0; r < last && ht_test_rank == last; r++)
        assert_int_equal(ht_send(HT_COMM_WORLD, token, r, 0), HT_SUCCESS);
    if (ht_test_rank < last)
        assert_int_equal(ht_recv(HT_COMM_WORLD, token, last, 0), HT_SUCCESS);
}

/* A pass of all ranks, and then, or before others begin theirs, a gradient of a wrapped weight that
 * no forward pass of the wrapper announced. */
static void stray(ht_module *dp, ht_tensor *weight, const struct stray *how, const char *why)
{
    bool fails = !how->alone || ht_test_rank == ht_test_size - 1;
    bool others = how->when == BEFORE_OTHERS;

    if (how->when == BEFORE_STEP || (others && fails))
        assert_int_equal(backward_rows(dp, 4 * ht_test_rank, 4), HT_SUCCESS);
    if (fails) {
        assert_int_equal(ht_backward(ht_sum(ht_mul(weight, weight), HT_NONE)), HT_ERR_STATE);
        expect_message(why);
    }
    if (!others)
        return;
    if (how->alone)
        wait_for_last();
    if (!fails)
        assert_int_equal(backward_rows(dp, 4 * ht_test_rank, 4), HT_SUCCESS);
    assert_int_equal(ht_error_agree(HT_COMM_WORLD, HT_SUCCESS, "-"), HT_SUCCESS);
}

static void check_stray_gradient(const struct stray *how)
{
    const char *why = how->when == BEFORE_ALL
                          ? "fc1.weight got a gradient before any forward pass"
                          : "fc1.weight got a second gradient after forward pass 1";
    ht_module *net = new_net(3);
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_module *dp = wrap(net, HT_COMM_WORLD, optimizer, &how->run);
    bool fails = !how->alone || ht_test_rank == ht_test_size - 1, updates;
    double before[VALUES];
    ht_status status;

    if (how->hook)
        ht_data_parallel_register_comm_hook(dp, ht_comm_hook_allreduce, NULL);
    if (how->when == AFTER_STEP)
        assert_int_equal(one_step(dp, optimizer), HT_SUCCESS);
    read_parameters(net, before);
    set_handlers(HT_ERRORS_RETURN);
    stray(dp, ht_module_find_parameter(net, "fc1.weight"), how, why);
    if (fails || how->when == BEFORE_STEP || how->when == BEFORE_OTHERS) {
        status = ht_optimizer_step(optimizer);
        assert_true(status == HT_ERR_STATE || !fails); /* others have the averages, or the news */
    }
    ht_error_clear();
    status = one_step(dp, optimizer);
    if (fails || how->run.blocking)
        assert_int_equal(status, HT_ERR_STATE);
    updates = how->alone && how->when == BEFORE_STEP;
    expect_the_end(net, dp, optimizer, updates ? NULL : before,
                   ": gradients cannot be used on rank", why);
    ht_release(net);
    ht_release(optimizer);
}

static void a_gradient_outside_of_a_pass_is_told_to_all(void **state)
{
    static const struct stray styles[] = {{.run = {.blocking = true}},
                                          {.run = {.blocking = false}},
                                          {.run = {.own_gradients = true}},
                                          {.run = {.mean = true, .bucket_mb = 1e-4}},
                                          {.run = {.bucket_mb = 1e-4}, .hook = true}};

    (void)state;
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++) {
        for (int way = 0; way < 2 * WHENS; way++) {
            struct stray how = styles[i];

            how.alone = way & 1;
            how.when = way / 2;
            if (!how.run.mean || how.when != BEFORE_OTHERS) /* averages need no weights of others */
                check_stray_gradient(&how);
        }
    }
}

HT_TEST_SUITE(test_data_parallel_told,
              cmocka_unit_test(a_loss_of_uneven_forward_passes_is_told_to_all),
              cmocka_unit_test(a_failed_loss_within_a_group_is_told_to_all),
              cmocka_unit_test(a_failed_backward_within_a_group_is_told_to_all),
              cmocka_unit_test(a_nan_that_one_rank_finds_is_told_to_all),
              cmocka_unit_test(a_failed_pass_with_collective_layers_is_told_to_all),
              cmocka_unit_test(a_failed_pass_of_two_wrappers_is_told_to_all),
              cmocka_unit_test(a_missing_loss_of_two_wrappers_is_told_in_their_order),
              cmocka_unit_test(a_failed_pass_of_one_wrapper_is_not_one_of_another),
              cmocka_unit_test(a_pass_without_an_input_is_not_the_next_one),
              cmocka_unit_test(a_gradient_outside_of_a_pass_is_told_to_all));

/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Accumulation that the wrapper counts, and regions without synchronisation. */
#include "data_parallel_test.h"
#include "nn/parallel/data/data_parallel.h"

enum { K = 3, ROWS = 12 };

static ht_reducer *reducer_of(ht_module *dp)
{
    return ((ht_data_parallel *)ht_module_data(dp))->reducer;
}

static ht_module *wrap_accumulating(ht_module *net, ht_optimizer *optimizer, ht_averaging averaging,
                                    bool blocking)
{
    ht_data_parallel_options options = ht_data_parallel_options_default();

    options.averaging = averaging;
    options.blocking = blocking;
    options.accumulation_steps = K;
    return ht_nn_data_parallel_ext(net, HT_COMM_WORLD, optimizer, &options);
}

/* The loop that a program writes: everything in every pass. */
static void one_pass(ht_module *dp, ht_optimizer *optimizer, int pass)
{
    ht_scope *scope = ht_scope_open();
    int64_t first, count;

    ht_comm_chunk(HT_COMM_WORLD, ROWS, ht_test_rank, &first, &count);
    assert_int_equal(backward_rows(dp, 100 * (pass / K) + pass % K * ROWS + first, count),
                     HT_SUCCESS);
    assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
    assert_int_equal(ht_optimizer_zero_grad(optimizer), HT_SUCCESS);
    ht_scope_close(scope);
}

/* Two complete groups and a tail of two passes, separately and in sequence. */
static void check_epoch(enum optimizer_kind kind, ht_averaging averaging, bool blocking)
{
    ht_module *net = new_net(3), *one = new_net(3), *dp;
    ht_optimizer *optimizer = new_optimizer(net, kind), *alone = new_optimizer(one, kind);
    double values[VALUES], expected[VALUES];

    dp = wrap_accumulating(net, optimizer, averaging, blocking);
    for (int pass = 0; pass < 2 * K + 2; pass++) {
        one_pass(dp, optimizer, pass);
        assert_int_equal(reducer_of(dp)->passes, (pass + 1) / K);
    }
    assert_int_equal(ht_data_parallel_flush(dp), HT_SUCCESS);
    assert_int_equal(ht_data_parallel_flush(dp), HT_SUCCESS); /* nothing is left */
    assert_int_equal(ht_optimizer_steps(optimizer), 3);
    for (int step = 0; step < 3; step++) {
        ht_optimizer_zero_grad(alone);
        backward_rows(one, 100 * step, (step < 2 ? K : 2) * ROWS);
        ht_optimizer_step(alone);
    }
    read_parameters(net, values);
    read_parameters(one, expected);
    assert_true(distance(values, expected) <= 1e-12);
    ht_release(dp);
    ht_release(net);
    ht_release(one);
    ht_release(optimizer);
    ht_release(alone);
}

/* The module's zero_grad waits for the group's end like the optimizer's. */
static void test_zeroing_the_module_waits_for_the_end_of_the_group(void **state)
{
    ht_module *nets[] = {new_net(3), new_net(3)};
    double values[2][VALUES];

    (void)state;
    for (int way = 0; way < 2; way++) {
        ht_optimizer *optimizer = new_optimizer(nets[way], SGD);
        ht_module *dp = wrap_accumulating(nets[way], optimizer, HT_AVERAGE_WEIGHTED, false);

        for (int pass = 0; pass < 2 * K; pass++) {
            one_pass(dp, optimizer, pass);
            if (way == 1)
                assert_int_equal(ht_module_zero_grad(pass % 2 ? dp : nets[way]), HT_SUCCESS);
        }
        read_parameters(nets[way], values[way]);
        ht_release(dp);
        ht_release(nets[way]);
        ht_release(optimizer);
    }
    assert_memory_equal(values[0], values[1], sizeof values[0]);
}

static void lesson_synchronisation_is_decided_in_the_wrapper(void **state)
{
    (void)state;
    for (enum optimizer_kind kind = SGD; kind < KINDS; kind++) {
        check_epoch(kind, HT_AVERAGE_WEIGHTED, false);
        check_epoch(kind, HT_AVERAGE_WEIGHTED, true);
    }
    check_epoch(ADAM, HT_AVERAGE_MEAN, false);
    check_epoch(ADAM, HT_AVERAGE_MEAN, true);
}

/* Each pass has the gradient 1. */
static void pass_of_ones(ht_module *dp)
{
    ht_tensor *x = ht_ones(HT_SHAPE(1, 1), HT_FLOAT32, HT_LOCAL);

    assert_int_equal(ht_backward(ht_sum(ht_forward(dp, x), HT_NONE)), HT_SUCCESS);
}

/* A gradient of the group before, of an optimizer that steps less often, does not count in the
 * mean. */
static void check_kept(bool flush)
{
    ht_module *net = ht_nn_linear_ext(1, 1, false), *dp;
    ht_optimizer *optimizer = ht_optim_sgd(ht_module_parameters(net), 0, NULL);
    ht_tensor *weight = ht_value_as_tensor(ht_value_at(ht_module_parameters(net), 0)), *before;

    dp = wrap_accumulating(net, flush ? optimizer : NULL, HT_AVERAGE_MEAN, true);
    before = ht_copy(ht_detach(weight));
    for (int pass = 0; pass < K + 1; pass++)
        pass_of_ones(dp);
    if (flush) {
        ht_optimizer_set_lr(optimizer, 1);
        assert_int_equal(ht_data_parallel_flush(dp), HT_SUCCESS);
        ht_test_expect(ht_sub(before, ht_detach(weight)), (double[]){2}, 1e-6);
    } else {
        assert_true(ht_data_parallel_complete(dp));
        ht_test_expect(ht_tensor_grad(weight), (double[]){2}, 1e-6);
    }
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
}

static void test_a_gradient_that_was_kept_is_not_stretched(void **state)
{
    (void)state;
    check_kept(false);
    check_kept(true);
}

enum clip { BY_NORM, BY_VALUE };

/* A limit that every gradient of this network is beyond. A limit that every gradient of this
   network exceeds. */
static double clip(ht_module *net, enum clip how)
{
    ht_value *list = ht_module_parameters(net);

    if (how == BY_NORM)
        return ht_clip_grad_norm_(list, 0.01, 2, true);
    assert_int_equal(ht_clip_grad_value_(list, 0.001), HT_SUCCESS);
    return 0;
}

/* The usual loop, with clipping after every pass; and complete steps alone, each clipped once. */
static void check_clipping(enum clip how, ht_averaging averaging, bool blocking)
{
    ht_module *net = new_net(3), *one = new_net(3), *dp;
    ht_optimizer *optimizer = new_optimizer(net, SGD), *alone = new_optimizer(one, SGD);
    double values[VALUES], expected[VALUES], norm;
    int64_t first, count;

    dp = wrap_accumulating(net, optimizer, averaging, blocking);
    ht_comm_chunk(HT_COMM_WORLD, ROWS, ht_test_rank, &first, &count);
    for (int pass = 0; pass < 2 * K + 2; pass++) {
        backward_rows(dp, 100 * (pass / K) + pass % K * ROWS + first, count);
        norm = clip(net, how);
        assert_true(how == BY_VALUE || (norm > 0) == (pass % K == K - 1));
        ht_optimizer_step(optimizer);
        ht_optimizer_zero_grad(optimizer);
    }
    assert_true(ht_data_parallel_complete(dp));
    clip(net, how);
    ht_optimizer_step(optimizer);
    ht_optimizer_zero_grad(optimizer);
    assert_false(ht_data_parallel_complete(dp));
    assert_int_equal(ht_data_parallel_flush(dp), HT_SUCCESS);
    assert_int_equal(ht_optimizer_steps(optimizer), 3);
    for (int step = 0; step < 3; step++) {
        ht_optimizer_zero_grad(alone);
        backward_rows(one, 100 * step, (step < 2 ? K : 2) * ROWS);
        clip(one, how);
        ht_optimizer_step(alone);
    }
    read_parameters(net, values);
    read_parameters(one, expected);
    assert_true(distance(values, expected) <= 1e-12);
    ht_release(dp);
    clip(net, how); /* whose wrapper was released: parameters are ordinary */
    ht_release(net);
    ht_release(one);
    ht_release(optimizer);
    ht_release(alone);
}

static void test_clipping_waits_for_the_end_of_the_group(void **state)
{
    (void)state;
    for (int blocking = 0; blocking < 2; blocking++) {
        check_clipping(BY_NORM, HT_AVERAGE_WEIGHTED, blocking);
        check_clipping(BY_VALUE, HT_AVERAGE_WEIGHTED, blocking);
        check_clipping(BY_NORM, HT_AVERAGE_MEAN, blocking);
    }
}

/* The off-by-one of many loops: with pass 0, 3, 6 ... no step would ever be made. */
static void lesson_a_step_in_the_wrong_pass_is_refused(void **state)
{
    ht_module *net = new_net(3);
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_module *dp = wrap_accumulating(net, optimizer, HT_AVERAGE_WEIGHTED, false);

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    for (int pass = 0; pass < K; pass++) {
        ht_optimizer_zero_grad(optimizer);
        assert_int_equal(backward_rows(dp, 12 * pass, 4), HT_SUCCESS);
        if (pass % K == 0)
            ht_optimizer_step(optimizer);
    }
    assert_int_equal(backward_rows(dp, 40, 4), HT_ERR_STATE);
    assert_message("in the middle of the last group of accumulation_steps = 3 backward passes");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
}

static void test_no_sync_regions_nest(void **state)
{
    ht_module *net = new_net(3);
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    double values[VALUES], expected[VALUES];
    int64_t first, count;

    (void)state;
    ht_comm_chunk(HT_COMM_WORLD, ROWS, ht_test_rank, &first, &count);
    ht_data_parallel_no_sync_begin(dp);
    ht_data_parallel_no_sync_begin(dp);
    backward_rows(dp, first, count);
    ht_data_parallel_no_sync_end(dp);
    backward_rows(dp, ROWS + first, count);
    ht_data_parallel_no_sync_end(dp);
    assert_int_equal(reducer_of(dp)->passes, 0);
    backward_rows(dp, 2 * ROWS + first, count);
    assert_int_equal(reducer_of(dp)->passes, 1);
    ht_optimizer_step(optimizer);
    train_alone(&(struct run){.micro = K, .steps = 1}, expected);
    read_parameters(net, values);
    assert_true(distance(values, expected) <= 1e-12);
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
}

static void misuse_no_sync_around_backward_only(void **state)
{
    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    for (int blocking = 0; blocking < 2; blocking++) {
        ht_module *net = new_net(3);
        ht_optimizer *optimizer = new_optimizer(net, SGD);
        ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, blocking);
        ht_tensor *y = ht_forward(dp, batch_rows(0, 4));

        ht_data_parallel_no_sync_begin(dp);
        assert_int_equal(ht_backward(ht_nll_loss(y, batch_classes(0, 4), HT_MEAN)), HT_ERR_STATE);
        assert_message("backward runs inside no_sync, but its forward pass ran before it");
        ht_data_parallel_no_sync_end(dp);
        assert_int_equal(ht_data_parallel_no_sync_end(dp), HT_ERR_STATE);
        assert_message("no_sync was not begun");
        ht_release(dp);
        ht_release(net);
        ht_release(optimizer);
    }
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

static void misuse_two_ways_to_accumulate(void **state)
{
    ht_module *net = new_net(3);
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_data_parallel_options options = ht_data_parallel_options_default();
    ht_module *dp = wrap_accumulating(net, optimizer, HT_AVERAGE_SUM, false);

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(ht_data_parallel_no_sync_begin(dp), HT_ERR_STATE);
    assert_message("the wrapper accumulates by itself (accumulation_steps is 3)");
    assert_int_equal(ht_data_parallel_set_sync(dp, false), HT_ERR_STATE);
    ht_release(dp);
    options.accumulation_steps = 0;
    assert_null(ht_nn_data_parallel_ext(net, HT_COMM_WORLD, optimizer, &options));
    assert_message("accumulation_steps is 0, expected 1 or more");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_release(net);
    ht_release(optimizer);
}

HT_TEST_SUITE(test_data_parallel_accumulate,
              cmocka_unit_test(test_a_gradient_that_was_kept_is_not_stretched),
              cmocka_unit_test(lesson_synchronisation_is_decided_in_the_wrapper),
              cmocka_unit_test(test_zeroing_the_module_waits_for_the_end_of_the_group),
              cmocka_unit_test(test_clipping_waits_for_the_end_of_the_group),
              cmocka_unit_test(lesson_a_step_in_the_wrong_pass_is_refused),
              cmocka_unit_test(test_no_sync_regions_nest),
              cmocka_unit_test(misuse_no_sync_around_backward_only),
              cmocka_unit_test(misuse_two_ways_to_accumulate));

/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Ranks that wait in a module's second run, or in its backward pass, get the error when one rank
 * fails. */
#include <math.h>
#include <pthread.h>

#include "ht.h"
#include "ht_test.h"
#include "tensor_check.h"

enum { ROWS = 6, FEATURES = 4 };

/* Where the last rank fails: a hook on the result, on the layer that waits, or on the module's
 * input; an input that was written; a module that fails in its second run, before the layer that
 * waits or behind it. SHAPE: the gradient of the hook does not fit, so that no step follows. */
enum fault { RESULT, RESULT_SHAPE, LAYER_SHAPE, BEHIND, WRITTEN, RUN_BEFORE, RUN_AFTER, FAULTS };

/* The status of that rank, and of the others, which wait for it unless it fails behind their last
 * sum. */
static const ht_status codes[FAULTS][2] = {
    {HT_ERR_IO, HT_ERR_STATE}, {HT_ERR_SHAPE, HT_ERR_STATE}, {HT_ERR_SHAPE, HT_ERR_STATE},
    {HT_ERR_IO, HT_SUCCESS},   {HT_ERR_STATE, HT_ERR_STATE}, {HT_ERR_IO, HT_ERR_STATE},
    {HT_ERR_IO, HT_ERR_STATE}};

static enum fault fault;
static bool armed;

static bool fails(enum fault here)
{
    return armed && fault == here && ht_test_rank == ht_test_size - 1;
}

static ht_tensor *break_pass(ht_tensor *grad, void *user)
{
    const enum fault here = *(const enum fault *)user;

    (void)grad;
    if (!fails(here))
        return NULL;
    if (here == RESULT_SHAPE || here == LAYER_SHAPE)
        return ht_zeros(HT_SHAPE(9), HT_FLOAT32, HT_LOCAL);
    ht_error_raise(HT_COMM_SELF, HT_ERR_IO, "the hook of one rank");
    return NULL;
}

static ht_tensor *watched(ht_tensor *x, enum fault place)
{
    static enum fault places[FAULTS];

    places[place] = place;
    if (x != NULL && ht_tensor_requires_grad(x))
        ht_tensor_register_hook(x, break_pass, &places[place]);
    return x;
}

static ht_tensor *run_layer(ht_module *self, ht_tensor *x, enum fault place)
{
    (void)self;
    if (!fails(place))
        return ht_mul_scalar(x, 1);
    ht_error_raise(HT_COMM_SELF, HT_ERR_IO, "the module of one rank");
    return NULL;
}

static ht_tensor *run_before(ht_module *self, ht_tensor *x)
{
    return run_layer(self, x, RUN_BEFORE);
}

static ht_tensor *run_after(ht_module *self, ht_tensor *x)
{
    return run_layer(self, watched(x, LAYER_SHAPE), RUN_AFTER);
}

static const ht_module_type before_type = {.name = "Before", .forward = run_before};
static const ht_module_type after_type = {.name = "After", .forward = run_after};

static ht_module *waiting(void)
{
    return ht_nn_sync_batch_norm(FEATURES, NULL, HT_COMM_WORLD);
}

/* Two layers wait; depth: of modules that run again, in one another. */
static ht_module *new_net(int depth)
{
    ht_module *layers[6] = {ht_nn_linear(FEATURES, FEATURES),
                            ht_module_new(0, &before_type),
                            waiting(),
                            ht_module_new(0, &after_type),
                            NULL,
                            ht_nn_tanh()};

    layers[4] = waiting();
    if (depth == 2)
        layers[4] = ht_nn_recomputed(layers[4]);

    ht_module *net = ht_nn_sequential(6, layers);

    return depth > 0 ? ht_nn_recomputed(net) : net;
}

static ht_tensor *batch(void)
{
    return ht_test_randn(HT_SHAPE(ROWS, FEATURES), HT_FLOAT32, HT_LOCAL, 3);
}

/* The status of a backward pass. */
static ht_status pass(ht_module *net)
{
    ht_tensor *x = batch(), *inner, *y;

    ht_tensor_set_requires_grad(x, true);
    armed = false;
    inner = watched(ht_mul_scalar(x, 2), BEHIND);
    y = watched(watched(ht_forward(net, inner), RESULT), RESULT_SHAPE);
    armed = true;
    if (fails(WRITTEN))
        ht_fill_(ht_detach(inner), 0);
    return ht_backward(ht_sum(ht_square(y), HT_NONE));
}

static void set_handlers(ht_errhandler handler)
{
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, handler);
    ht_comm_set_errhandler(HT_COMM_SELF, handler);
}

static void expect_ranks_in_step(void)
{
    ht_tensor *one = ht_ones(HT_SHAPE(1), HT_FLOAT64, HT_LOCAL);

    assert_int_equal(ht_allreduce(HT_COMM_WORLD, one, one, HT_OP_SUM), HT_SUCCESS);
    assert_true(ht_item(one) == ht_test_size);
}

static void check(int depth)
{
    ht_scope *scope = ht_scope_open();
    ht_module *net = new_net(depth);

    set_handlers(HT_ERRORS_RETURN);
    assert_int_equal(pass(net), codes[fault][ht_test_rank < ht_test_size - 1]);
    set_handlers(HT_ERRORS_ABORT);
    armed = false;
    expect_ranks_in_step();
    assert_non_null(ht_forward(net, batch()));
    ht_release(net);
    ht_scope_close(scope);
}

static void a_rank_that_fails_tells_the_others(void **state)
{
    (void)state;
    for (int depth = 0; depth < 3; depth++) {
        for (fault = 0; fault < FAULTS; fault++) {
            if (depth > 0 || fault < WRITTEN) /* those need a second run */
                check(depth);
        }
    }
}

/* It waits in its second run only, for its input needs no gradient. */
static void a_layer_without_a_sum_in_backward_is_told(void **state)
{
    ht_module *net = ht_nn_recomputed(
        ht_nn_sequential(HT_LIST(ht_module *, waiting(), ht_nn_linear(FEATURES, FEATURES))));
    ht_tensor *y;

    (void)state;
    fault = RESULT_SHAPE;
    armed = true;
    y = watched(ht_forward(net, batch()), RESULT_SHAPE);
    set_handlers(HT_ERRORS_RETURN);
    assert_int_equal(ht_backward(ht_sum(ht_square(y), HT_NONE)),
                     codes[fault][ht_test_rank < ht_test_size - 1]);
    set_handlers(HT_ERRORS_ABORT);
    armed = false;
    expect_ranks_in_step();
    ht_release(net);
}

/* Within a wrapper, the pass of a rank without a loss reports to them as well. */
static void a_rank_without_a_loss_tells_the_others(void **state)
{
    (void)state;
    for (int blocking = 0; blocking < 2; blocking++) {
        ht_scope *scope = ht_scope_open();
        ht_module *net = new_net(1);
        ht_optimizer *optimizer = ht_optim_sgd(ht_module_parameters(net), 0.1, NULL);
        ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, blocking);
        ht_tensor *y;

        armed = false;
        y = ht_sum(ht_forward(dp, batch()), HT_NONE);
        set_handlers(HT_ERRORS_RETURN);
        assert_int_not_equal(ht_backward(ht_test_rank == ht_test_size - 1 ? NULL : y), HT_SUCCESS);
        ht_release(dp);
        set_handlers(HT_ERRORS_ABORT);
        expect_ranks_in_step();
        ht_release(optimizer);
        ht_release(net);
        ht_scope_close(scope);
    }
}

/* How it loses its loss: the seed does not fit; the loss has several elements, or depends on
 * nothing; it is NULL after an error. */
enum refusal { SEED, VECTOR, CONSTANT, MISSING, REFUSALS };

static ht_status refuse(ht_tensor *y, enum refusal how)
{
    if (how == SEED)
        return ht_backward_ext(y, ht_zeros(HT_SHAPE(9), HT_FLOAT32, HT_LOCAL), false);
    if (how == VECTOR)
        return ht_backward(y);
    return ht_backward(how == CONSTANT ? ht_detach(ht_sum(y, HT_NONE)) : NULL);
}

static void check_refusal(int depth, enum refusal how, bool wrapped)
{
    static const ht_status own[REFUSALS] = {HT_ERR_SHAPE, HT_ERR_SHAPE, HT_ERR_STATE,
                                            HT_ERR_ARGUMENT};
    ht_scope *scope = ht_scope_open();
    ht_module *net = new_net(depth), *dp = NULL;
    const bool last = ht_test_rank == ht_test_size - 1;
    ht_tensor *y;

    if (wrapped)
        dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, false);
    armed = false;
    y = ht_square(ht_forward(wrapped ? dp : net, batch()));
    set_handlers(HT_ERRORS_RETURN);
    assert_int_equal(last ? refuse(y, how) : ht_backward(ht_sum(y, HT_NONE)),
                     last ? own[how] : HT_ERR_STATE);
    ht_release(dp);
    set_handlers(HT_ERRORS_ABORT);
    expect_ranks_in_step();
    ht_release(net);
    ht_scope_close(scope);
}

static void a_rank_that_refuses_its_loss_tells_the_others(void **state)
{
    (void)state;
    for (int depth = 0; depth < 3; depth++) {
        for (int how = 0; how < REFUSALS; how++) {
            check_refusal(depth, how, false);
            check_refusal(depth, how, true);
        }
    }
}

/* A graph that another thread recorded. */
static ht_device *device; /* of the tests; each thread has its own default */

static void *record_elsewhere(void *net)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *y;

    ht_use_device(device);
    y = ht_retain(ht_square(ht_forward(net, batch())));
    ht_scope_close(scope);
    return y;
}

static ht_tensor *recorded_elsewhere(ht_module *net)
{
    pthread_t thread;
    void *y = NULL;

    device = ht_get_device();
    assert_int_equal(pthread_create(&thread, NULL, record_elsewhere, net), 0);
    assert_int_equal(pthread_join(thread, &y), 0);
    return ht_scope_adopt(y);
}

/* It is released, differentiated, or refused on one rank; the others get the error. */
static void graphs_of_another_thread_tell_as_well(void **state)
{
    const bool last = ht_test_rank == ht_test_size - 1;

    (void)state;
    armed = false;
    for (int depth = 0; depth < 3; depth++) {
        ht_scope *scope = ht_scope_open();
        ht_module *net = new_net(depth);
        ht_tensor *y = recorded_elsewhere(net);

        recorded_elsewhere(net);
        assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
        y = recorded_elsewhere(net);
        set_handlers(HT_ERRORS_RETURN);
        assert_int_equal(last ? refuse(y, SEED) : ht_backward(ht_sum(y, HT_NONE)),
                         last ? HT_ERR_SHAPE : HT_ERR_STATE);
        set_handlers(HT_ERRORS_ABORT);
        expect_ranks_in_step();
        ht_release(net);
        ht_scope_close(scope);
    }
}

HT_TEST_SUITE(test_recomputed_told, cmocka_unit_test(a_rank_that_fails_tells_the_others),
              cmocka_unit_test(a_layer_without_a_sum_in_backward_is_told),
              cmocka_unit_test(a_rank_without_a_loss_tells_the_others),
              cmocka_unit_test(a_rank_that_refuses_its_loss_tells_the_others),
              cmocka_unit_test(graphs_of_another_thread_tell_as_well));

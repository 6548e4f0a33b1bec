/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Forward passes whose results the program drops, such as an evaluation that records: no rank waits
 * for their backward passes. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "data_parallel_errors.h"
#include "nn/parallel/data/data_parallel.h"

static void drop_a_result(ht_module *dp)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *y = ht_forward(dp, batch_rows(100, 5));

    assert_true(isfinite(ht_item(ht_detach(ht_nll_loss(y, batch_classes(100, 5), HT_MEAN)))));
    ht_scope_close(scope);
}

static void an_evaluation_leaves_nothing(void **state)
{
    ht_module *net = new_net(3);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, false);
    const int64_t origins = ht_live_objects("origin");
    ht_scope *scope;

    (void)state;
    for (int i = 0; i < 20; i++)
        drop_a_result(dp);
    assert_in_range(ht__dp_of(dp)->armed_count, 0, 1); /* the next forward forgets it */
    assert_in_range(ht_live_objects("origin") - origins, 0, 1);
    scope = ht_scope_open();
    assert_int_equal(backward_rows(dp, 4 * ht_test_rank, 4), HT_SUCCESS);
    assert_int_equal(ht__dp_of(dp)->armed_count, 0);
    ht_scope_close(scope);
    ht_release(dp);
    assert_int_equal(ht_live_objects("origin"), origins);
    ht_release(net);
}

/* Steps of two wrappers whose results are dropped or not give the same parameters. */
static void training_does_not_see_it(void **state)
{
    (void)state;
    for (int blocking = 0; blocking < 2; blocking++) {
        double values[2][VALUES];

        for (int drops = 0; drops < 2; drops++) {
            ht_module *net = new_net(3);
            ht_optimizer *optimizer = new_optimizer(net, SGD);
            ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, blocking == 1);

            for (int step = 0; step < 3; step++) {
                if (drops == 1)
                    drop_a_result(dp);
                assert_int_equal(one_step(dp, optimizer), HT_SUCCESS);
            }
            ht_release(dp);
            read_parameters(net, values[drops]);
            ht_release(net);
            ht_release(optimizer);
        }
        assert_memory_equal(values[0], values[1], sizeof values[0]);
    }
}

/* Within no_sync: a pass without rows after it is one of all ranks all the same. */
static void a_dropped_pass_without_sync_decides_nothing(void **state)
{
    (void)state;
    for (int blocking = 0; blocking < 2; blocking++) {
        ht_module *net = new_net(3);
        ht_optimizer *optimizer = new_optimizer(net, SGD);
        ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, blocking == 1);
        double before[VALUES], after[VALUES];

        assert_int_equal(one_step(dp, optimizer), HT_SUCCESS);
        assert_int_equal(ht_data_parallel_drain(dp), HT_SUCCESS);
        ht_optimizer_zero_grad(optimizer);
        read_parameters(net, before);
        ht_data_parallel_no_sync_begin(dp);
        drop_a_result(dp);
        ht_data_parallel_no_sync_end(dp);
        if (ht_test_rank == 0)
            assert_int_equal(backward_rows(dp, 0, 4), HT_SUCCESS);
        else
            assert_int_equal(ht_data_parallel_backward(dp, NULL), HT_SUCCESS);
        assert_true(ht__reducer_is_synced(ht__dp_of(dp)->reducer));
        assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
        assert_int_equal(ht_data_parallel_drain(dp), HT_SUCCESS);
        read_parameters(net, after);
        assert_true(distance(after, before) > 0);
        ht_release(dp);
        ht_release(net);
        ht_release(optimizer);
    }
}

static ht_module *new_net_with_buffers(void)
{
    ht_module *layers[] = {ht_nn_linear(IN, OUT), ht_nn_batch_norm1d(OUT, NULL)};
    ht_module *net = ht_nn_sequential(2, layers);

    ht_module_to_dtype(net, HT_FLOAT64);
    return net;
}

/* A dropped pass within no_sync has renewed no buffers: a pass without rows after it does, as the
 * forward passes of the other ranks. */
static void a_pass_without_rows_renews_the_buffers(void **state)
{
    ht_module *net = new_net_with_buffers();
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, true);
    ht_tensor *mean = ht_module_find_buffer(net, "1.running_mean");

    (void)state;
    assert_int_equal(backward_rows(dp, 4 * ht_test_rank, 4), HT_SUCCESS);
    ht_data_parallel_no_sync_begin(dp);
    drop_a_result(dp);
    ht_data_parallel_no_sync_end(dp);
    ht_fill_(mean, 1 + ht_test_rank);
    if (ht_test_rank == 0)
        assert_int_equal(backward_rows(dp, 0, 4), HT_SUCCESS);
    else
        assert_int_equal(ht_data_parallel_backward(dp, NULL), HT_SUCCESS);
    assert_int_equal(ht_data_parallel_drain(dp), HT_SUCCESS);
    if (ht_test_rank > 0) {
        for (int i = 0; i < OUT; i++)
            assert_true(((const double *)ht_test_data(mean))[i] == 1);
    }
    ht_release(dp);
    ht_release(net);
}

/* NULL where the last rank's targets do not fit; the result may be dropped by then. */
static ht_tensor *loss_of(ht_module *dp, bool fails, bool keeps)
{
    ht_scope *scope = keeps ? NULL : ht_scope_open();
    ht_tensor *y = ht_forward(dp, batch_rows(4 * ht_test_rank, 4));
    ht_tensor *loss = ht_nll_loss(y, batch_classes(0, fails ? 3 : 4), HT_MEAN);

    return keeps ? loss : ht_scope_return(scope, loss);
}

/* An error takes the loss of one wrapper on one rank. Another wrapper's dropped result is not meant:
 * on no rank does its next pass fail. */
static void an_error_does_not_take_a_dropped_pass(void **state)
{
    const bool fails = ht_test_rank == ht_test_size - 1;

    (void)state;
    for (int keeps = 0; keeps < 2; keeps++) {
        ht_module *nets[2] = {new_net(3), new_net(4)}, *dp[2];

        for (int i = 0; i < 2; i++)
            dp[i] = ht_nn_data_parallel(nets[i], HT_COMM_WORLD, NULL, false);
        set_handlers(HT_ERRORS_RETURN);
        drop_a_result(dp[0]);
        assert_int_equal(ht_backward(loss_of(dp[1], fails, keeps == 1)),
                         fails ? HT_ERR_SHAPE : HT_SUCCESS);
        ht_error_clear();
        assert_int_equal(ht_data_parallel_drain(dp[1]), HT_ERR_SHAPE);
        expect_message("no loss on rank");
        assert_int_equal(backward_rows(dp[0], 4 * ht_test_rank, 4), HT_SUCCESS);
        assert_int_equal(ht_data_parallel_drain(dp[0]), HT_SUCCESS);
        for (int i = 0; i < 2; i++)
            ht_release(dp[i]);
        set_handlers(HT_ERRORS_ABORT);
        for (int i = 0; i < 2; i++)
            ht_release(nets[i]);
    }
}

static void *release_one(void *object)
{
    ht_release(object);
    return NULL;
}

/* Another thread has the last reference to the result, as one that logs it: the graph goes there, and
 * the error is not that thread's. */
static void a_graph_that_another_thread_frees_goes_on_waiting(void **state)
{
    const bool fails = ht_test_rank == ht_test_size - 1;
    ht_module *net = new_net(3), *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, true);
    ht_scope *scope = ht_scope_open();
    ht_tensor *y, *loss;
    pthread_t thread;

    (void)state;
    set_handlers(HT_ERRORS_RETURN);
    y = ht_retain(ht_forward(dp, batch_rows(0, 4)));
    loss = ht_retain(ht_nll_loss(y, batch_classes(0, fails ? 3 : 4), HT_MEAN));
    ht_scope_close(scope);
    assert_int_equal(pthread_create(&thread, NULL, release_one, y), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(ht_backward(loss), fails ? HT_ERR_SHAPE : HT_SUCCESS);
    ht_release(loss);
    ht_error_clear();
    assert_int_equal(ht_data_parallel_drain(dp), HT_ERR_SHAPE);
    expect_message("no loss on rank");
    ht_release(dp);
    set_handlers(HT_ERRORS_ABORT);
    ht_release(net);
}

/* A pass within no_sync is dropped on one rank while an error is pending that has nothing to do with
 * it. */
static void a_cleared_error_takes_no_dropped_pass(void **state)
{
    const bool fails = ht_test_rank == ht_test_size - 1;
    ht_module *net = new_net(3), *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, true);

    (void)state;
    set_handlers(HT_ERRORS_RETURN);
    if (fails)
        assert_null(ht_add(batch_rows(0, 3), batch_rows(0, 4)));
    ht_data_parallel_no_sync_begin(dp);
    drop_a_result(dp);
    ht_data_parallel_no_sync_end(dp);
    set_handlers(HT_ERRORS_ABORT);
    if (fails)
        assert_int_equal(ht_data_parallel_backward(dp, NULL), HT_SUCCESS);
    else
        assert_int_equal(backward_rows(dp, 4 * ht_test_rank, 4), HT_SUCCESS);
    assert_true(ht__reducer_is_synced(ht__dp_of(dp)->reducer));
    assert_int_equal(ht_data_parallel_drain(dp), HT_SUCCESS);
    ht_release(dp);
    ht_release(net);
}

/* A program that clears the error and makes no backward pass goes on with the next batch. */
static void of_failed_passes_the_last_one_is_kept(void **state)
{
    ht_module *net = new_net(3), *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, true);
    const int64_t origins = ht_live_objects("origin");
    ht_scope *scope;

    (void)state;
    set_handlers(HT_ERRORS_RETURN);
    for (int i = 0; i < 20; i++) {
        scope = ht_scope_open();
        assert_null(ht_forward(dp, ht_ones(HT_SHAPE(2, 7), HT_FLOAT64, HT_LOCAL)));
        ht_scope_close(scope);
        assert_in_range(ht__dp_of(dp)->armed_count, 1, i == 0 ? 1 : 2);
        ht_error_clear();
    }
    set_handlers(HT_ERRORS_ABORT);
    assert_in_range(ht_live_objects("origin") - origins, 1, 2);
    scope = ht_scope_open();
    assert_int_equal(backward_rows(dp, 4 * ht_test_rank, 4), HT_SUCCESS);
    ht_scope_close(scope);
    ht_release(dp);
    assert_int_equal(ht_live_objects("origin"), origins);
    ht_release(net);
}

static atomic_bool over;
static _Atomic(ht_module *) handed; /* to another thread; NULL: it has released the last one */

static void *release_handed(void *unused)
{
    (void)unused;
    while (!atomic_load(&over)) {
        ht_module *module = atomic_load(&handed);

        if (module == NULL)
            continue;
        ht_release(module);
        atomic_store(&handed, NULL);
    }
    return NULL;
}

/* The thread of a wrapper with dropped passes continues with another wrapper meanwhile. */
static void another_thread_may_release_a_wrapper_with_dropped_passes(void **state)
{
    enum { RELEASES = 30, DROPPED = 50, STEPS = 10 };
    const int64_t origins = ht_live_objects("origin");
    ht_module *net = new_net(3), *dropped = new_net(4);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_SELF, NULL, true);
    pthread_t thread;

    (void)state;
    atomic_store(&over, false);
    assert_int_equal(pthread_create(&thread, NULL, release_handed, NULL), 0);
    for (int i = 0; i < RELEASES; i++) {
        ht_scope *scope = ht_scope_open();
        ht_module *wrapper = ht_nn_data_parallel(dropped, HT_COMM_SELF, NULL, true);

        for (int k = 0; k < DROPPED; k++)
            ht_forward(wrapper, batch_rows(0, 1));
        ht_scope_close(scope);
        atomic_store(&handed, wrapper);
        for (int step = 0; step < STEPS; step++) {
            scope = ht_scope_open();
            assert_int_equal(backward_rows(dp, 0, 1), HT_SUCCESS);
            ht_scope_close(scope);
        }
        while (atomic_load(&handed) != NULL)
            sched_yield();
    }
    atomic_store(&over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    ht_release(dp);
    assert_int_equal(ht_live_objects("origin"), origins);
    ht_release(net);
    ht_release(dropped);
}

/* A module that keeps a tensor behind its result. */
struct keeper {
    ht_module *fc;
    ht_tensor *kept; /* owned */
};

static ht_tensor *keep(ht_module *self, ht_tensor *x)
{
    struct keeper *keeper = ht_module_data(self);

    ht_release(keeper->kept);
    keeper->kept = ht_retain(ht_forward(keeper->fc, x));
    return ht_mul_scalar(keeper->kept, 2);
}

static void destroy_keeper(ht_module *self)
{
    ht_release(((struct keeper *)ht_module_data(self))->kept);
}

static const ht_module_type keeper_type = {
    .name = "keeper", .forward = keep, .destroy = destroy_keeper};

/* Another result was released: the rest of the graph has its backward pass, with its rows. */
static void a_kept_part_of_the_graph_goes_on_waiting(void **state)
{
    ht_module *net = ht_module_new(sizeof(struct keeper), &keeper_type), *dp;
    struct keeper *keeper = ht_module_data(net);
    ht_tensor *kept;
    ht_scope *scope;

    (void)state;
    ht_module_add(net, "fc", &keeper->fc, ht_nn_linear(IN, OUT));
    ht_module_to_dtype(net, HT_FLOAT64);
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, false);
    scope = ht_scope_open();
    ht_forward(dp, batch_rows(0, 3 + ht_test_rank));
    kept = ht_retain(keeper->kept);
    ht_scope_close(scope);
    drop_a_result(dp); /* keeps another one, in place of that */
    ht_release(keeper->kept);
    keeper->kept = NULL;
    assert_int_equal(ht_backward(ht_sum(kept, HT_NONE)), HT_SUCCESS);
    assert_int_equal(ht_data_parallel_drain(dp), HT_SUCCESS);
    /* sum(w g) / sum(w), where rank r has w = 3 + r rows, and d sum / d bias is w */
    ht_tensor *bias = ht_value_as_tensor(ht_value_at(ht_module_parameters(net), 1));
    double squares = 0, rows = 0;

    for (int r = 0; r < ht_test_size; r++) {
        squares += (3.0 + r) * (3.0 + r);
        rows += 3.0 + r;
    }
    assert_true(fabs(ht_item(ht_mean(ht_tensor_grad(bias), HT_NONE)) - squares / rows) <= 1e-12);
    ht_release(kept);
    ht_release(dp);
    ht_release(net);
}

HT_TEST_SUITE(test_data_parallel_dropped, cmocka_unit_test(an_evaluation_leaves_nothing),
              cmocka_unit_test(training_does_not_see_it),
              cmocka_unit_test(a_dropped_pass_without_sync_decides_nothing),
              cmocka_unit_test(a_pass_without_rows_renews_the_buffers),
              cmocka_unit_test(an_error_does_not_take_a_dropped_pass),
              cmocka_unit_test(a_graph_that_another_thread_frees_goes_on_waiting),
              cmocka_unit_test(a_cleared_error_takes_no_dropped_pass),
              cmocka_unit_test(of_failed_passes_the_last_one_is_kept),
              cmocka_unit_test(another_thread_may_release_a_wrapper_with_dropped_passes),
              cmocka_unit_test(a_kept_part_of_the_graph_goes_on_waiting));

/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* join: what ranks have when it ends, how it ends early, and what it refuses. */
#include "data_parallel_test.h"

static void assert_same_on_all_ranks(const double values[VALUES])
{
    double first[VALUES];

    memcpy(first, values, sizeof first);
    MPI_Bcast(first, VALUES, MPI_DOUBLE, 0, ht_comm_mpi(HT_COMM_WORLD));
    assert_memory_equal(first, values, sizeof first);
}

/* Adam for one layer, SGD for the rest: the state of both comes to ranks whose data ended. */
static void join_with_two_optimizers(void **state)
{
    ht_module *net = new_net(3), *dp;
    struct net *n = ht_module_data(net);
    ht_value *rest = ht_module_parameters(n->fc2);
    ht_data_parallel_options options = ht_data_parallel_options_default();
    ht_optimizer *two[2];
    double values[VALUES];

    (void)state;
    ht_value_append(rest, ht_value_tensor(n->shift));
    two[0] = ht_optim_adam(ht_module_parameters(n->fc1), 0.01, NULL);
    two[1] = ht_optim_sgd(rest, 0.1, NULL);
    options.optimizers = two;
    options.optimizer_count = 2;
    dp = ht_nn_data_parallel_ext(net, HT_COMM_WORLD, NULL, &options);
    ht_data_parallel_join_begin(dp, NULL);
    for (int pass = 0; pass < 2 + ht_test_rank; pass++) {
        ht_optimizer_zero_grad(two[0]);
        ht_optimizer_zero_grad(two[1]);
        backward_rows(dp, 100 * pass + 9 * ht_test_rank, 2 + ht_test_rank);
        ht_optimizer_step(two[0]);
        ht_optimizer_step(two[1]);
    }
    assert_int_equal(ht_data_parallel_join_end(dp), HT_SUCCESS);
    for (int i = 0; i < 2; i++)
        assert_int_equal(ht_optimizer_steps(two[i]), 1 + ht_test_size);
    for (int pass = 20; pass < 22; pass++) {
        backward_rows(dp, 100 * pass + 9 * ht_test_rank, 2 + ht_test_rank);
        ht_optimizer_step(two[0]);
        ht_optimizer_step(two[1]);
    }
    read_parameters(net, values);
    assert_same_on_all_ranks(values);
    ht_release(dp);
    ht_release(net);
    ht_release(two[0]);
    ht_release(two[1]);
}

/* Whether ranks made different numbers of steps or not. */
static void join_zeroes_gradients(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        ht_module *net = new_net(3);
        ht_optimizer *optimizer = new_optimizer(net, SGD);
        ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, way & 1);
        const int steps = way & 2 ? 1 + ht_test_rank : 2;

        ht_data_parallel_join_begin(dp, NULL);
        for (int step = 0; step < steps; step++) {
            assert_int_equal(backward_rows(dp, 9 * step, 4), HT_SUCCESS);
            assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
        }
        assert_int_equal(ht_data_parallel_join_end(dp), HT_SUCCESS);
        assert_null(ht_tensor_grad(ht_module_find_parameter(net, "fc1.weight")));
        ht_release(dp);
        ht_release(net);
        ht_release(optimizer);
    }
}

/* Rank r makes r + 1 steps and writes its buffer in each: in step s, rank s is the lowest that has
 * data, and its value of the step before counts. */
static void join_takes_buffers_from_ranks_with_data(void **state)
{
    ht_module *net = new_net(3), *dp;
    ht_tensor *buffer = ht_zeros_like(((struct net *)ht_module_data(net))->shift);
    ht_optimizer *optimizer;

    (void)state;
    ht_module_add_buffer(net, "buffer", NULL, buffer);
    optimizer = new_optimizer(net, SGD);
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    ht_data_parallel_join_begin(dp, NULL);
    for (int step = 0; step <= ht_test_rank; step++) {
        ht_tensor *y = ht_forward(dp, batch_rows(step, 4));

        if (step > 0)
            assert_true(*(const double *)ht_test_data(buffer) == 100 * (step - 1) + step);
        ht_fill_(buffer, 100 * step + ht_test_rank);
        ht_backward(ht_nll_loss(y, batch_classes(step, 4), HT_MEAN));
        ht_optimizer_step(optimizer);
    }
    assert_int_equal(ht_data_parallel_join_end(dp), HT_SUCCESS);
    assert_true(*(const double *)ht_test_data(buffer) == 101 * (ht_test_size - 1));
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
}

/* Rank 0 is out of data after two steps and asks for a stop: the others make no nine. */
static void join_passes_on_a_request_to_stop(void **state)
{
    ht_module *net = new_net(3);
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    int steps = 0, limit = ht_test_rank == 0 ? 2 : 9;

    (void)state;
    ht_data_parallel_join_begin(dp, NULL);
    while (steps < limit && !ht_data_parallel_stop_requested(dp)) {
        ht_optimizer_zero_grad(optimizer);
        backward_rows(dp, 100 * steps++, 4);
        ht_optimizer_step(optimizer);
    }
    if (ht_test_rank == 0)
        ht_data_parallel_request_stop(dp);
    assert_int_equal(ht_data_parallel_join_end(dp), HT_SUCCESS);
    assert_true(steps < 9);
    assert_true(ht_test_size == 1 || ht_data_parallel_stop_requested(dp));
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
}

/* Rank 0 has data for two steps: the others' third forward pass fails, and all have made two. */
static void join_throwing_ends_all_loops_at_one_step(void **state)
{
    ht_join_options options = ht_join_options_default();

    (void)state;
    options.throw_on_early_termination = true;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    for (int blocking = 0; blocking < 2; blocking++) {
        ht_module *net = new_net(3);
        ht_optimizer *optimizer = new_optimizer(net, ADAM);
        ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, blocking);
        int steps = 0, limit = ht_test_rank == 0 ? 2 : 5;
        double values[VALUES];
        ht_tensor *y;

        ht_data_parallel_join_begin(dp, &options);
        while (steps < limit && (y = ht_forward(dp, batch_rows(steps, 4))) != NULL) {
            ht_backward(ht_nll_loss(y, batch_classes(steps, 4), HT_MEAN));
            ht_optimizer_step(optimizer);
            steps++;
        }
        if (ht_test_size > 1) {
            if (ht_test_rank == 0)
                assert_int_equal(ht_data_parallel_join_end(dp), HT_ERR_STATE);
            assert_message("1 of");
            assert_int_equal(steps, 2);
        } else {
            assert_int_equal(ht_data_parallel_join_end(dp), HT_SUCCESS);
        }
        read_parameters(net, values);
        assert_same_on_all_ranks(values);
        ht_release(dp);
        ht_release(net);
        ht_release(optimizer);
    }
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

static ht_value *net_loss(ht_module *model, ht_value *data, ht_forward_mode mode, void *user)
{
    const int64_t *first = user;
    ht_tensor *y = ht_forward(model, ht_value_as_tensor(data));

    (void)mode;
    return y != NULL ? ht_value_tensor(ht_nll_loss(y, batch_classes(*first, 4), HT_MEAN)) : NULL;
}

/* Ways of a program with a loss that it does not have, because the join is over. */
enum missing { DROPS_IT, PASSES_NULL, PASSES_NULL_TO_THE_WRAPPER, TRAIN_STEP, MISSING };

struct loop {
    ht_module *dp;
    ht_optimizer *optimizer;
    ht_optim_wrapper *wrapper;
    enum missing missing;
};

static ht_status loop_step(const struct loop *loop, int64_t first)
{
    ht_step_options options = ht_step_options_default();
    ht_tensor *y;

    options.forward = net_loss;
    options.user = &first;
    if (loop->missing == TRAIN_STEP)
        return ht_train_step(loop->dp, ht_value_tensor(batch_rows(first, 4)), loop->wrapper,
                             &options) != NULL
                   ? HT_SUCCESS
                   : ht_error_get(NULL);
    ht_optimizer_zero_grad(loop->optimizer);
    y = ht_forward(loop->dp, batch_rows(first, 4));
    if (y != NULL) {
        ht_backward(ht_nll_loss(y, batch_classes(first, 4), HT_MEAN));
        return ht_optimizer_step(loop->optimizer);
    }
    if (loop->missing == PASSES_NULL)
        assert_int_equal(ht_backward(NULL), HT_ERR_STATE);
    if (loop->missing == PASSES_NULL_TO_THE_WRAPPER)
        assert_int_equal(ht_data_parallel_backward(loop->dp, NULL), HT_ERR_STATE);
    return ht_error_get(NULL);
}

static void check_loss_after_the_end(bool blocking, enum missing missing)
{
    ht_join_options options = ht_join_options_default();
    ht_module *net = new_net(3);
    struct loop loop = {.optimizer = new_optimizer(net, ADAM), .missing = missing};
    const int limit = ht_test_rank == 0 ? 2 : 5;
    double values[VALUES];

    options.throw_on_early_termination = true;
    loop.dp = ht_nn_data_parallel(net, HT_COMM_WORLD, loop.optimizer, blocking);
    loop.wrapper = ht_optim_wrapper_new(loop.optimizer, NULL);
    for (int epoch = 0; epoch < 2; epoch++) {
        ht_status status = ht_data_parallel_join_begin(loop.dp, &options);
        int steps = 0;

        assert_int_equal(status, HT_SUCCESS);
        while (steps < limit && status == HT_SUCCESS) {
            status = loop_step(&loop, 4 * (ht_test_rank + 7 * steps));
            steps += status == HT_SUCCESS;
        }
        if (status == HT_SUCCESS)
            status = ht_data_parallel_join_end(loop.dp);
        assert_int_equal(status, HT_ERR_STATE);
        assert_int_equal(steps, 2);
        assert_message("1 of");
        ht_error_clear();
    }
    read_parameters(net, values);
    assert_same_on_all_ranks(values);
    ht_release(loop.wrapper);
    ht_release(loop.dp);
    ht_release(net);
    ht_release(loop.optimizer);
}

/* No rank made the forward pass that is refused, so no rank begins its backward pass. */
static void a_missing_loss_after_the_end_begins_no_pass(void **state)
{
    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    for (int way = 0; ht_test_size > 1 && way < 2 * MISSING; way++)
        check_loss_after_the_end(way & 1, way / 2);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

/* The forward pass has met the other ranks already: NULL does not wait for them again. */
static void a_batch_lost_in_a_throwing_join_is_told_to_all(void **state)
{
    ht_join_options options = ht_join_options_default();

    (void)state;
    options.throw_on_early_termination = true;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    for (int blocking = 0; blocking < 2 && ht_test_size > 1; blocking++) {
        ht_module *net = new_net(3);
        ht_optimizer *optimizer = new_optimizer(net, ADAM);
        ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, blocking);
        ht_scope *scope = ht_scope_open();
        ht_tensor *y;

        assert_int_equal(ht_data_parallel_join_begin(dp, &options), HT_SUCCESS);
        y = ht_forward(dp, batch_rows(0, 4));
        if (ht_test_rank == 1) {
            ht_scope_close(scope); /* the graph is gone before the error */
            scope = ht_scope_open();
            assert_null(ht_matmul(batch_rows(0, 4), batch_rows(0, 4)));
            ht_data_parallel_backward(dp, NULL);
        } else {
            ht_backward(ht_nll_loss(y, batch_classes(0, 4), HT_MEAN));
        }
        ht_optimizer_step(optimizer);
        assert_int_not_equal(ht_data_parallel_drain(dp), HT_SUCCESS);
        assert_message(ht_test_rank == 1 ? "" : "rank 1");
        ht_scope_close(scope);
        ht_error_clear();
        ht_release(dp);
        ht_release(net);
        ht_release(optimizer);
    }
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

static void misuse_sync_batch_norm_needs_the_throwing_mode(void **state)
{
    ht_module *layers[] = {ht_nn_linear(IN, OUT), ht_nn_sync_batch_norm(OUT, NULL, HT_COMM_WORLD)};
    ht_module *net = ht_nn_sequential(2, layers);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, true);
    ht_join_options options = ht_join_options_default();

    (void)state;
    options.enable = false;
    assert_int_equal(ht_data_parallel_join_begin(dp, &options), HT_SUCCESS);
    assert_int_equal(ht_data_parallel_join_end(dp), HT_SUCCESS);
    options.enable = true;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    if (ht_test_size > 1) {
        assert_int_equal(ht_data_parallel_join_begin(dp, NULL), HT_ERR_UNSUPPORTED);
        assert_message("SyncBatchNorm at 1 needs every rank in each forward pass");
    }
    options.throw_on_early_termination = true;
    assert_int_equal(ht_data_parallel_join_begin(dp, &options), HT_SUCCESS);
    assert_int_equal(ht_data_parallel_join_end(dp), HT_SUCCESS);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_release(dp);
    ht_release(net);
}

static void misuse_of_join(void **state)
{
    ht_module *net = new_net(3), *other = new_net(4);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, true);
    ht_module *dq = ht_nn_data_parallel(other, HT_COMM_WORLD, NULL, true);
    ht_join_options unset = {0}, options = ht_join_options_default();

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(ht_data_parallel_join_end(dp), HT_ERR_STATE);
    assert_message("no join was begun");
    assert_int_equal(ht_data_parallel_join_begin(dp, &unset), HT_ERR_ARGUMENT);
    assert_message("start from ht_join_options_default()");
    options.enable = ht_test_rank > 0;
    if (ht_test_size > 1) {
        assert_int_equal(ht_data_parallel_join_begin(dp, &options), HT_ERR_ARGUMENT);
        assert_message("the options differ between ranks");
    }
    assert_int_equal(ht_data_parallel_join_begin(dp, NULL), HT_SUCCESS);
    assert_int_equal(ht_data_parallel_join_begin(dp, NULL), HT_ERR_STATE);
    assert_message("the wrapper is already in a join");
    assert_int_equal(ht_data_parallel_join_begin(dq, NULL), HT_ERR_STATE);
    assert_message("another wrapper on this communicator is in a join");
    options.enable = false;
    assert_int_equal(ht_data_parallel_join_begin(dq, &options), HT_SUCCESS);
    assert_int_equal(ht_data_parallel_join_end(dq), HT_SUCCESS);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_release(dp);
    assert_int_equal(ht_data_parallel_join_begin(dq, NULL), HT_SUCCESS);
    assert_int_equal(ht_data_parallel_join_end(dq), HT_SUCCESS);
    ht_release(dq);
    ht_release(net);
    ht_release(other);
}

/* Its passes are in the same queue: the head of a join's pass may leave while they are posted. */
static void another_wrapper_trains_during_a_join(void **state)
{
    (void)state;
    for (int blocking = 0; blocking < 2; blocking++) {
        ht_module *nets[2], *dps[2];
        ht_optimizer *optimizers[2];
        double values[2][VALUES];

        for (int i = 0; i < 2; i++) {
            nets[i] = new_net(3);
            optimizers[i] = new_optimizer(nets[i], SGD);
            dps[i] = wrap(nets[i], HT_COMM_WORLD, optimizers[i],
                          &(struct run){.blocking = blocking && i == 0, .bucket_mb = 1e-4});
        }
        ht_data_parallel_join_begin(dps[0], NULL);
        for (int pass = 0; pass < 8; pass++) {
            for (int i = 0; i < 2; i++) {
                ht_optimizer_zero_grad(optimizers[i]);
                backward_rows(dps[i], 100 * pass + 9 * ht_test_rank, 3);
                ht_optimizer_step(optimizers[i]);
            }
        }
        assert_int_equal(ht_data_parallel_join_end(dps[0]), HT_SUCCESS);
        for (int i = 0; i < 2; i++) {
            read_parameters(nets[i], values[i]);
            ht_release(dps[i]);
            ht_release(nets[i]);
            ht_release(optimizers[i]);
        }
        assert_memory_equal(values[0], values[1], sizeof values[0]);
    }
}

HT_TEST_SUITE(test_data_parallel_join_end, cmocka_unit_test(join_with_two_optimizers),
              cmocka_unit_test(join_takes_buffers_from_ranks_with_data),
              cmocka_unit_test(join_zeroes_gradients),
              cmocka_unit_test(join_passes_on_a_request_to_stop),
              cmocka_unit_test(another_wrapper_trains_during_a_join),
              cmocka_unit_test(join_throwing_ends_all_loops_at_one_step),
              cmocka_unit_test(a_batch_lost_in_a_throwing_join_is_told_to_all),
              cmocka_unit_test(a_missing_loss_after_the_end_begins_no_pass),
              cmocka_unit_test(misuse_sync_batch_norm_needs_the_throwing_mode),
              cmocka_unit_test(misuse_of_join));

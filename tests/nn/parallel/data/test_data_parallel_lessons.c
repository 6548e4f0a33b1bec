/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Pitfalls of other data-parallel wrappers that this one does not have. */
#include "data_parallel_test.h"
#include "nn/parallel/data/data_parallel.h"

static ht_reducer *reducer_of(ht_module *dp)
{
    return ((ht_data_parallel *)ht_module_data(dp))->reducer;
}

static ht_status one_step(ht_module *dp, ht_optimizer *optimizer, int step)
{
    ht_scope *scope = ht_scope_open();
    int64_t first, count;
    ht_status status;

    ht_comm_chunk(HT_COMM_WORLD, 12, ht_test_rank, &first, &count);
    ht_optimizer_zero_grad(optimizer);
    status = backward_rows(dp, 100 * step + first, count);
    if (status == HT_SUCCESS)
        status = ht_optimizer_step(optimizer);
    if (status == HT_SUCCESS)
        status = ht_data_parallel_drain(dp);
    ht_scope_close(scope);
    return status;
}

/* A graph that changes after many good steps is reported in the step in which it does. */
static void lesson_each_step_is_checked(void **state)
{
    (void)state;
    for (int blocking = 0; blocking < 2; blocking++) {
        ht_module *net = new_net(3);
        ht_optimizer *optimizer = new_optimizer(net, SGD);
        ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, blocking);
        const char *message;

        for (int step = 0; step < 9; step++)
            assert_int_equal(one_step(dp, optimizer, step), HT_SUCCESS);
        ((struct net *)ht_module_data(net))->skip_fc1 = ht_test_rank == ht_test_size - 1;
        ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
        assert_int_equal(one_step(dp, optimizer, 9), HT_ERR_STATE);
        ht_error_get(&message);
        assert_non_null(strstr(message, "pass 10: no gradient for fc1.weight, fc1.bias on rank"));
        ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
        ht_error_clear();
        ht_release(dp);
        ht_release(net);
        ht_release(optimizer);
    }
}

/* Buckets are laid out again at the start of the second synchronised pass, in which the gradients
 * of a pass without synchronisation lie already. */
static void lesson_rebuilt_buckets_keep_accumulated_gradients(void **state)
{
    (void)state;
    for (int own = 0; own < 2; own++) {
        ht_module *net = new_net(3), *one = new_net(3), *dp;
        ht_optimizer *optimizer = new_optimizer(net, SGD), *alone = new_optimizer(one, SGD);
        double values[VALUES], expected[VALUES];
        int before[PARAMETERS];
        int64_t first, count;

        dp = wrap(net, HT_COMM_WORLD, optimizer, &(struct run){.own_gradients = own});
        ht_comm_chunk(HT_COMM_WORLD, 12, ht_test_rank, &first, &count);
        assert_int_equal(one_step(dp, optimizer, 0), HT_SUCCESS);
        memcpy(before, reducer_of(dp)->order, sizeof before);
        ht_optimizer_zero_grad(optimizer);
        ht_data_parallel_no_sync_begin(dp);
        backward_rows(dp, 100 + first, count);
        ht_data_parallel_no_sync_end(dp);
        backward_rows(dp, 112 + first, count);
        ht_optimizer_step(optimizer);
        assert_memory_not_equal(before, reducer_of(dp)->order, sizeof before);

        backward_rows(one, 0, 12);
        ht_optimizer_step(alone);
        ht_optimizer_zero_grad(alone);
        backward_rows(one, 100, 24);
        ht_optimizer_step(alone);
        read_parameters(net, values);
        read_parameters(one, expected);
        assert_true(distance(values, expected) <= 1e-12);
        ht_release(dp);
        ht_release(net);
        ht_release(one);
        ht_release(optimizer);
        ht_release(alone);
    }
}

/* Owners of the old values, such as a graph, keep them. */
static void lesson_buffers_come_in_fresh_memory(void **state)
{
    ht_module *net = new_net(3), *dp;
    ht_tensor *buffer = ht_zeros_like(((struct net *)ht_module_data(net))->shift), *held;
    ht_optimizer *optimizer;

    (void)state;
    ht_module_add_buffer(net, "buffer", NULL, buffer);
    optimizer = new_optimizer(net, SGD);
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    assert_int_equal(one_step(dp, optimizer, 0), HT_SUCCESS);
    ht_fill_(buffer, 7 + ht_test_rank);
    held = ht_detach(buffer);
    assert_int_equal(one_step(dp, optimizer, 1), HT_SUCCESS);
    assert_true(*(const double *)ht_test_data(buffer) == 7);
    assert_true(*(const double *)ht_test_data(held) == 7 + ht_test_rank);
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
}

HT_TEST_SUITE(test_data_parallel_lessons, cmocka_unit_test(lesson_each_step_is_checked),
              cmocka_unit_test(lesson_rebuilt_buckets_keep_accumulated_gradients),
              cmocka_unit_test(lesson_buffers_come_in_fresh_memory));

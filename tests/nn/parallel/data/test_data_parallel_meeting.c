/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* One rank loses its loss and leaves. The others get its error before a forward pass in which they
 * would wait for it: for rank 0's buffers, in a layer, or in a join. */
#include "data_parallel_errors.h"

enum { STEPS = 5, FAILING = 2 };

enum meeting { BUFFERS, LAYER, JOIN, MEETINGS };

struct losing {
    enum meeting meeting;
    bool blocking;
    int passes; /* synchronised, of each step; the first one fails */
    int rank;   /* that fails */
};

static ht_module *new_norm(enum meeting meeting)
{
    ht_module *net = ht_nn_sequential(HT_LIST(ht_module *, ht_nn_linear(IN, OUT),
                                              meeting == LAYER
                                                  ? ht_nn_sync_batch_norm(OUT, NULL, HT_COMM_WORLD)
                                              : meeting == JOIN ? ht_nn_relu()
                                                                : ht_nn_batch_norm1d(OUT, NULL),
                                              ht_nn_log_softmax(1)));

    ht_module_to_dtype(net, HT_FLOAT64);
    return net;
}

static ht_status run_pass(ht_module *dp, bool fails)
{
    ht_tensor *y = ht_forward(dp, batch_rows(4 * ht_test_rank, 4)), *loss = NULL;

    if (y != NULL)
        loss = ht_nll_loss(y, batch_classes(4 * ht_test_rank, 4), HT_MEAN);
    if (fails) {
        ht_error_raise(HT_COMM_SELF, HT_ERR_IO, "rank %d lost its loss", ht_test_rank);
        loss = NULL;
    }
    return ht_data_parallel_backward(dp, loss);
}

static ht_status run_step(ht_module *dp, ht_optimizer *optimizer, const struct losing *how,
                          bool fails)
{
    ht_scope *scope = ht_scope_open();
    ht_status status = ht_optimizer_zero_grad(optimizer);

    for (int pass = 0; pass < how->passes && status == HT_SUCCESS; pass++)
        status = run_pass(dp, fails && pass == 0);
    if (status == HT_SUCCESS)
        status = ht_optimizer_step(optimizer);
    ht_scope_close(scope);
    return status;
}

/* Each rank leaves at its first error. */
static void check(const struct losing *how)
{
    ht_module *net = new_norm(how->meeting), *dp;
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_join_options join = ht_join_options_default();
    ht_status status = HT_SUCCESS;

    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, how->blocking);
    join.throw_on_early_termination = true;
    if (how->meeting == JOIN)
        assert_int_equal(ht_data_parallel_join_begin(dp, &join), HT_SUCCESS);
    set_handlers(HT_ERRORS_RETURN);
    for (int step = 0; step < STEPS && status == HT_SUCCESS; step++)
        status = run_step(dp, optimizer, how, step == FAILING && ht_test_rank == how->rank);
    assert_int_not_equal(status, HT_SUCCESS);
    ht_error_clear();
    assert_int_equal(ht_data_parallel_drain(dp), HT_ERR_IO); /* a layer has its own error */
    expect_message("lost its loss");
    ht_release(dp);
    set_handlers(HT_ERRORS_ABORT);
    ht_release(net);
    ht_release(optimizer);
}

static void a_lost_loss_is_told_before_ranks_meet_in_forward(void **state)
{
    (void)state;
    for (int way = 0; way < 4 * MEETINGS; way++) {
        struct losing how = {.meeting = way / 4, .blocking = way & 1, .passes = 1 + (way / 2) % 2};

        check(&how);
        how.rank = ht_test_size - 1;
        check(&how);
    }
}

HT_TEST_SUITE(test_data_parallel_meeting,
              cmocka_unit_test(a_lost_loss_is_told_before_ranks_meet_in_forward));

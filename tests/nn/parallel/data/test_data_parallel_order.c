/* ranks 2 3 */
/* SPDX-License-Identifier: MIT */
/* Proves that non-blocking defers and blocking does not, by order instead of time. Rank 1 enters
 * backward of step k only after a message. Rank 0 sends it when its own step(k), and the zero_grad
 * after it, have returned. A blocking step cannot return before that backward, so there the message
 * must not come. */
#include "data_parallel_test.h"

#include <time.h>

enum { STEPS = 5, TAG = 77 };

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Whether rank 0's message of this step comes within `seconds`. */
static bool message_came(MPI_Comm comm, int step, double seconds)
{
    double end = now() + seconds;
    int came = 0;

    while (!came && now() < end)
        MPI_Iprobe(0, TAG + step, comm, &came, MPI_STATUS_IGNORE);
    return came;
}

/* Returns in how many steps the message came before the limit, on rank 1. */
static int steps_that_returned_early(bool blocking, double limit, ht_comm_hook hook, void *state)
{
    ht_module *net = new_net(3);
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_data_parallel_options options = ht_data_parallel_options_default();
    ht_module *dp;
    MPI_Comm comm;
    int early = 0;

    /* Without weights, buckets are posted inside backward: a hook that waits would be seen. */
    if (hook != NULL)
        options.averaging = HT_AVERAGE_MEAN;
    options.blocking = blocking;
    dp = ht_nn_data_parallel_ext(net, HT_COMM_WORLD, optimizer, &options);
    if (hook != NULL)
        ht_data_parallel_register_comm_hook(dp, hook, state);
    MPI_Comm_dup(ht_comm_mpi(HT_COMM_WORLD), &comm);
    for (int step = 0; step < STEPS; step++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *loss;

        loss = ht_nll_loss(ht_forward(dp, batch_rows(step, 4)), batch_classes(step, 4), HT_MEAN);
        if (step >= 2 && ht_test_rank == 1)
            early += message_came(comm, step, limit);
        ht_backward(loss);
        ht_optimizer_step(optimizer);
        ht_optimizer_zero_grad(optimizer);
        if (step >= 2 && ht_test_rank == 0)
            MPI_Send(NULL, 0, MPI_BYTE, 1, TAG + step, comm);
        ht_scope_close(scope);
    }
    ht_release(dp);
    for (int step = 2; ht_test_rank == 1 && step < STEPS; step++)
        MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG + step, comm, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    ht_release(net);
    ht_release(optimizer);
    return early;
}

static void test_non_blocking_step_returns_first(void **state)
{
    int early = steps_that_returned_early(false, 10, NULL, NULL);

    (void)state;
    if (ht_test_rank == 1)
        assert_int_equal(early, STEPS - 2);
}

static void test_blocking_step_waits(void **state)
{
    int early = steps_that_returned_early(true, 0.5, NULL, NULL);

    (void)state;
    if (ht_test_rank == 1)
        assert_int_equal(early, 0);
}

/* Hooks start work and never wait, for any number of rounds. */
static void test_non_blocking_with_hooks(void **state)
{
    ht_power_sgd_options options = ht_power_sgd_options_default();
    ht_power_sgd *sgd;
    int early = steps_that_returned_early(false, 10, ht_comm_hook_bf16, NULL);

    (void)state;
    if (ht_test_rank == 1)
        assert_int_equal(early, STEPS - 2);
    options.start_iter = 2;
    options.min_compression_rate = 1;
    sgd = ht_power_sgd_new(&options);
    early = steps_that_returned_early(false, 10, ht_comm_hook_power_sgd, sgd);
    if (ht_test_rank == 1)
        assert_int_equal(early, STEPS - 2);
    assert_true(ht_power_sgd_compression_rate(sgd) > 1);
    ht_release(sgd);
}

HT_TEST_SUITE(test_data_parallel_order, cmocka_unit_test(test_non_blocking_step_returns_first),
              cmocka_unit_test(test_blocking_step_waits),
              cmocka_unit_test(test_non_blocking_with_hooks));

/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* One rank asks for a stop; all stop at the same step. */
#include "core/tensor/tensor.h"
#include "ht_test.h"

#include "ht.h"

enum { STEPS = 8, ASKED = 3 };

/* The step after which this rank learns of the stop; STEPS + 1: never. Rank `asking` asks after
 * step ASKED; a rank without rows takes part. */
static int64_t told_after(ht_averaging averaging, bool blocking, int asking)
{
    ht_data_parallel_options options = ht_data_parallel_options_default();
    ht_module *net = ht_nn_linear(3, 2), *dp;
    ht_optimizer *optimizer = ht_optim_sgd(ht_module_parameters(net), 0.1, NULL);
    int64_t rows = ht_test_size > 1 && ht_test_rank == 1 ? 0 : 2, told = STEPS + 1;
    ht_tensor *x = ht_full(HT_SHAPE(rows, 3), 1, HT_FLOAT32, HT_LOCAL);

    options.blocking = blocking;
    options.averaging = averaging;
    dp = ht_nn_data_parallel_ext(net, HT_COMM_WORLD, optimizer, &options);
    for (int64_t step = 1; step <= STEPS; step++) {
        ht_optimizer_zero_grad(optimizer);
        ht_data_parallel_backward(dp, rows > 0 ? ht_mean(ht_forward(dp, x), HT_NONE) : NULL);
        ht_optimizer_step(optimizer);
        if (step == ASKED && ht_test_rank == asking)
            ht_data_parallel_request_stop(dp);
        if (ht_data_parallel_stop_requested(dp) && told > STEPS)
            told = step;
    }
    ht_release(dp);
    ht_release(optimizer);
    ht_release(net);
    return told;
}

static void all_ranks_stop_at_the_same_step(void **state)
{
    (void)state;
    for (int blocking = 0; blocking < 2; blocking++) {
        for (int asking = 0; asking < ht_test_size; asking++) {
            assert_int_equal(told_after(HT_AVERAGE_WEIGHTED, blocking, asking), ASKED + 2);
            assert_int_equal(told_after(HT_AVERAGE_MEAN, blocking, asking), ASKED);
        }
        assert_int_equal(told_after(HT_AVERAGE_WEIGHTED, blocking, -1), STEPS + 1);
        assert_int_equal(told_after(HT_AVERAGE_SUM, blocking, -1), STEPS + 1);
    }
}

static void a_module_without_wrapper_is_refused(void **state)
{
    ht_module *net = ht_nn_linear(3, 2);
    const char *message;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_int_equal(ht_data_parallel_request_stop(net), HT_ERR_ARGUMENT);
    ht_error_get(&message);
    assert_string_equal(message, "ht_data_parallel_request_stop: wrapper is Linear, expected a "
                                 "DataParallel wrapper");
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(net);
}

HT_TEST_SUITE(test_data_parallel_stop, cmocka_unit_test(all_ranks_stop_at_the_same_step),
              cmocka_unit_test(a_module_without_wrapper_is_refused));

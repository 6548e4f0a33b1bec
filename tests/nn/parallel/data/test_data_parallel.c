/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* P ranks against one on the concatenated batch; non-blocking against blocking; misuse. */
#include "core/tensor/tensor.h"
#include "data_parallel_test.h"

static void check_against_one(struct run run)
{
    double alone[VALUES], together[VALUES], apart;

    run.steps = 10;
    train_alone(&run, alone);
    for (int blocking = 0; blocking < 2; blocking++) {
        run.blocking = blocking;
        train(&run, together);
        apart = distance(together, alone);
        if (!(apart <= 1e-12))
            fail_msg("optimizer %d, %s: off by %g", (int)run.kind,
                     blocking ? "blocking" : "non-blocking", apart);
    }
}

static void check_all_optimizers(struct run run)
{
    for (run.kind = SGD; run.kind < KINDS; run.kind++)
        check_against_one(run);
}

static void test_equals_one_rank(void **state)
{
    (void)state;
    check_all_optimizers((struct run){0});
}

/* An update that is made later has the momentum of its step. */
static void test_cycled_momentum(void **state)
{
    (void)state;
    check_against_one((struct run){.kind = SGD, .schedule = true, .cycle = true});
    check_against_one((struct run){.kind = ADAM, .schedule = true, .cycle = true});
}

static void test_uneven_batches(void **state)
{
    (void)state;
    check_all_optimizers((struct run){.uneven = true});
}

static void test_accumulation(void **state)
{
    (void)state;
    check_all_optimizers((struct run){.micro = 3});
    check_all_optimizers((struct run){.micro = 3, .always_sync = true});
    check_all_optimizers((struct run){.micro = 3, .always_sync = true, .own_gradients = true});
}

static void test_mean_and_sum(void **state)
{
    (void)state;
    check_all_optimizers((struct run){.mean = true});
    check_against_one((struct run){.kind = SGD, .sum = true});
}

static void test_accumulation_of_sums(void **state)
{
    double once[VALUES], thrice[VALUES];
    struct run run = {.kind = SGD, .sum = true, .micro = 3, .steps = 4};

    (void)state;
    train(&run, once);
    run.always_sync = true;
    train(&run, thrice);
    assert_true(distance(thrice, once) <= 1e-12);
}

static void keep_buffer(const char *name, ht_tensor *x, void *user)
{
    (void)name;
    **(double **)user = ht_item(ht_sum(x, HT_NONE));
    ++*(double **)user;
}

/* All ranks evaluate one model, although they trained with different rows; and then one of them may
 * evaluate alone. Training does not notice. */
static void train_and_evaluate(bool evaluate, int64_t accumulation, double *weights)
{
    ht_module *layers[] = {ht_nn_linear(IN, OUT), ht_nn_batch_norm1d(OUT, NULL)};
    ht_module *net = ht_nn_sequential(2, layers), *dp;
    ht_data_parallel_options options = ht_data_parallel_options_default();
    ht_optimizer *optimizer;

    ht_module_to_dtype(net, HT_FLOAT64);
    optimizer = new_optimizer(net, SGD);
    options.accumulation_steps = (int)accumulation;
    dp = ht_nn_data_parallel_ext(net, HT_COMM_WORLD, optimizer, &options);
    for (int step = 0; step < 4; step++) {
        double mine[3] = {0}, first[3], *at = mine;

        ht_module_train(dp);
        assert_int_equal(backward_rows(dp, 30 * step + 7 * ht_test_rank, 5), HT_SUCCESS);
        ht_optimizer_step(optimizer);
        ht_optimizer_zero_grad(optimizer);
        if (!evaluate)
            continue;
        assert_int_equal(ht_module_eval(dp), HT_SUCCESS);
        ht_module_named_buffers(net, keep_buffer, &at);
        assert_int_equal(at - mine, 3);
        memcpy(first, mine, sizeof first);
        ht__comm_bcast_bytes(HT_COMM_WORLD, first, sizeof first, 0, "rank 0's buffers");
        assert_memory_equal(mine, first, sizeof mine);
        if (ht_test_rank == 0)
            assert_non_null(ht_forward(dp, batch_rows(0, 2)));
    }
    memcpy(weights, ht_test_data(ht_module_find_parameter(net, "0.weight")),
           sizeof *weights * IN * OUT);
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
}

static void test_all_ranks_evaluate_one_model(void **state)
{
    double without[IN * OUT], with[IN * OUT];

    (void)state;
    for (int accumulation = 1; accumulation < 3; accumulation++) {
        for (int way = 0; way < 2; way++) {
            ht_nn_seed(4);
            train_and_evaluate(way == 1, accumulation, way == 1 ? with : without);
        }
        assert_memory_equal(without, with, sizeof with);
    }
}

/* Passes after which no rank gives its buffers to the others; the first rank has fewer of them. */
static void run_without_backward(ht_module *dp, bool records)
{
    const bool was = ht_set_grad_enabled(records);

    for (int i = 0; i < 1 + ht_test_rank; i++) {
        ht_scope *scope = ht_scope_open();

        assert_non_null(ht_forward(dp, batch_rows(30 * i + 7 * ht_test_rank, 5)));
        ht_scope_close(scope);
    }
    ht_set_grad_enabled(was);
}

static void run_with_gradients(ht_module *dp)
{
    run_without_backward(dp, true);
}

static void run_without_gradients(ht_module *dp)
{
    run_without_backward(dp, false);
}

static void run_without_sync(ht_module *dp)
{
    ht_data_parallel_no_sync_begin(dp);
    assert_int_equal(backward_rows(dp, 7 * ht_test_rank, 5), HT_SUCCESS);
    ht_data_parallel_no_sync_end(dp);
}

static ht_value *next_batch(void *left)
{
    return --*(int *)left > 0 ? ht_value_tensor(batch_rows(7 * ht_test_rank + *(int *)left, 5))
                              : NULL;
}

static void recompute_statistics(ht_module *dp)
{
    int left = 3;

    assert_int_equal(ht_update_bn(dp, next_batch, &left), HT_SUCCESS);
}

static void test_evaluation_shares_the_buffers_of_any_pass(void **state)
{
    void (*const passes[])(ht_module *) = {run_with_gradients, run_without_gradients,
                                           run_without_sync, recompute_statistics};
    ht_module *layers[] = {ht_nn_linear(IN, OUT), ht_nn_batch_norm1d(OUT, NULL)};
    ht_module *net = ht_nn_sequential(2, layers), *dp;

    (void)state;
    ht_module_to_dtype(net, HT_FLOAT64);
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, false);
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        double mine[3] = {0}, first[3], *at = mine;

        ht_module_train(dp);
        passes[i](dp);
        assert_int_equal(ht_module_eval(dp), HT_SUCCESS);
        ht_module_named_buffers(net, keep_buffer, &at);
        memcpy(first, mine, sizeof first);
        ht__comm_bcast_bytes(HT_COMM_WORLD, first, sizeof first, 0, "rank 0's buffers");
        assert_memory_equal(mine, first, sizeof mine);
    }
    ht_release(dp);
    ht_release(net);
}

/* Each rank's forward may write its buffers; the next forward starts from rank 0's. */
static void test_buffers_follow_rank_0(void **state)
{
    ht_module *net = new_net(3), *dp;
    ht_tensor *buffer = ht_zeros_like(((struct net *)ht_module_data(net))->shift);
    ht_optimizer *optimizer;

    (void)state;
    ht_module_add_buffer(net, "buffer", NULL, buffer);
    optimizer = new_optimizer(net, SGD);
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    backward_rows(dp, 0, 4);
    ht_optimizer_step(optimizer);
    ht_fill_(buffer, 1 + ht_test_rank);
    backward_rows(dp, 4, 4);
    assert_true(*(const double *)ht_test_data(buffer) == 1);
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
}

static void test_frozen_parameter(void **state)
{
    (void)state;
    check_all_optimizers((struct run){.frozen = true});
}

static void test_tied_weight(void **state)
{
    (void)state;
    check_all_optimizers((struct run){.tied = true, .bucket_mb = 1e-5});
}

static void test_gradients_of_their_own(void **state)
{
    (void)state;
    check_all_optimizers((struct run){.own_gradients = true, .uneven = true});
}

/* The bits do not depend on the size of buckets. */
static void test_non_blocking_equals_blocking(void **state)
{
    static const double sizes[] = {1e-9, 7e-5, 2.1e-4, 4.4e-4, 1};

    (void)state;
    for (enum optimizer_kind kind = SGD; kind < KINDS; kind++) {
        struct run run = {.kind = kind, .steps = 6, .blocking = true, .uneven = true};
        double expected[VALUES], values[VALUES];

        train(&run, expected);
        run.blocking = false;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            run.bucket_mb = sizes[i];
            train(&run, values);
            assert_memory_equal(values, expected, sizeof values);
        }
    }
}

static void test_different_models_are_named(void **state)
{
    ht_module *model;

    (void)state;
    if (ht_test_size == 1)
        HT_TEST_SKIP("one rank agrees with itself");
    model = ht_nn_linear(4, ht_test_rank == ht_test_size - 1 ? 5 : 3);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_null(ht_nn_data_parallel(model, HT_COMM_WORLD, NULL, true));
    assert_int_equal(ht_error_get(NULL), HT_ERR_ARGUMENT);
    assert_message("ht_nn_data_parallel: the ranks differ: rank 0 has 'weight float32 (3, 4)'");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_release(model);
}

static void test_misuse(void **state)
{
    ht_use_device(ht_device_get("cpu")); /* named in messages */

    ht_module *net = new_net(1), *dp;
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_data_parallel_options unset = {0};
    int64_t shape[] = {8, IN};

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_null(ht_nn_data_parallel_ext(net, HT_COMM_WORLD, optimizer, &unset));
    assert_message("ht_nn_data_parallel_ext: ");
    ht_nn_data_parallel_ext(net, HT_COMM_WORLD, optimizer, &unset);
    assert_message("start from ht_data_parallel_options_default()");
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    assert_non_null(dp);
    assert_int_not_equal(ht_module_to_dtype(net, HT_FLOAT32), HT_SUCCESS);
    assert_message("ht_module_to_dtype: ht_nn_data_parallel holds this module; first change the");
    assert_int_not_equal(ht_module_to_device(net, ht_device_get("cpu:1")), HT_SUCCESS);
    assert_message("ht_module_to_device: ht_nn_data_parallel holds this module; first change the");
    assert_null(ht_forward(dp, ht_to_device(batch_rows(0, 4), ht_device_get("cpu:1"))));
    assert_message("ht_linear in fc1: x is on cpu:1, weight is on cpu:0");
    if (ht_test_size > 1) {
        assert_null(ht_forward(dp, ht_zeros(2, shape, HT_FLOAT64, 0)));
        assert_message("forward got a tensor that is on");
    }
    assert_int_not_equal(ht_data_parallel_set_weight(net, 1), HT_SUCCESS);
    assert_message("wrapper is net, expected a DataParallel wrapper");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
}

HT_TEST_SUITE(test_data_parallel, cmocka_unit_test(test_equals_one_rank),
              cmocka_unit_test(test_cycled_momentum), cmocka_unit_test(test_uneven_batches),
              cmocka_unit_test(test_accumulation), cmocka_unit_test(test_mean_and_sum),
              cmocka_unit_test(test_accumulation_of_sums),
              cmocka_unit_test(test_buffers_follow_rank_0),
              cmocka_unit_test(test_all_ranks_evaluate_one_model),
              cmocka_unit_test(test_evaluation_shares_the_buffers_of_any_pass),
              cmocka_unit_test(test_frozen_parameter), cmocka_unit_test(test_tied_weight),
              cmocka_unit_test(test_gradients_of_their_own),
              cmocka_unit_test(test_non_blocking_equals_blocking),
              cmocka_unit_test(test_different_models_are_named), cmocka_unit_test(test_misuse));

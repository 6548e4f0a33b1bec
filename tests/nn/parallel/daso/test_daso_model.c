/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* The models of DASO: a model that differs on one rank alone is reported to all. */
#include "daso_test.h"

#include <malloc.h>

#include "ht/averager.h"

/* The world, nodes of one. */
static ht_daso *new_daso_of(ht_comm *comm, ht_optimizer *optimizer, bool exchange_momentum)
{
    ht_daso_options o = options_of(0, 0, HT_FLOAT32);
    ht_daso *daso;

    o.exchange_momentum = exchange_momentum;
    daso = ht_optim_daso(optimizer, 10, comm, &o);
    ht_comm_set_errhandler(comm, HT_ERRORS_RETURN);
    return daso;
}

static ht_daso *new_daso(ht_comm *comm, ht_optimizer *optimizer)
{
    return new_daso_of(comm, optimizer, false);
}

/* Without the check, sums over unrelated parameters would continue for a long time. */
static void test_models_of_different_sizes(void **state)
{
    ht_comm *comm = nodes_of(1);
    ht_module *net = ht_nn_linear(3 + (ht_test_rank == 1), 2);
    ht_optimizer *optimizer = ht_optim_sgd(ht_module_parameters(net), 1, NULL);
    ht_daso *daso = new_daso(comm, optimizer);

    (void)state;
    if (ht_test_size > 1) {
        expect(ht_daso_set_model(daso, net), HT_ERR_SHAPE,
               "ht_daso_set_model: the parameters have 8 elements (float32) on rank 0, 10 "
               "(float32) on rank 1, expected the same on all ranks");
        ht_daso_set_last_batch(daso, 0);
        expect(ht_daso_step(daso), HT_ERR_STATE,
               "ht_daso_step: the model is missing; wrap it in ht_nn_data_parallel_multi_gpu");
    }
    ht_release(daso);
    ht_release(optimizer);
    ht_release(net);
    ht_release(comm);
    unsetenv("HT_RANKS_PER_NODE");
}

/* Rank 1 has no bias: the optimizers have different numbers of states, too. */
static void test_models_of_different_counts(void **state)
{
    (void)state;
    for (int exchange_momentum = 0; exchange_momentum < 2 && ht_test_size > 1;
         exchange_momentum++) {
        ht_comm *comm = nodes_of(1);
        ht_module *net = ht_nn_linear_ext(3, 2, ht_test_rank != 1);
        ht_optimizer *optimizer = ht_optim_sgd(ht_module_parameters(net), 1, NULL);
        ht_daso *daso = new_daso_of(comm, optimizer, exchange_momentum == 1);

        expect(ht_daso_set_model(daso, net), HT_ERR_SHAPE,
               exchange_momentum == 1
                   ? "ht_daso_set_model: the optimizer has 2 parameters on rank 0 and 1 on rank 1, "
                     "expected the same on all ranks"
                   : "ht_daso_set_model: the parameters have 8 elements (float32) on rank 0, 6 "
                     "(float32) on rank 1, expected the same on all ranks");
        ht_release(daso);
        ht_release(optimizer);
        ht_release(net);
        ht_release(comm);
        unsetenv("HT_RANKS_PER_NODE");
    }
}

/* The optimizer would not update it, and it would go its own way on each node. */
static void test_a_parameter_that_is_not_updated(void **state)
{
    ht_comm *comm = nodes_of(1);
    ht_module *net = new_points(HT_FLOAT64, 1);
    struct points *points = ht_module_data(net);
    ht_optimizer *optimizer = ht_optim_sgd(ht_value_tensors(1, &points->first), 1, NULL);
    ht_daso *daso = new_daso(comm, optimizer);

    (void)state;
    expect(ht_daso_set_model(daso, net), HT_ERR_ARGUMENT,
           "ht_daso_set_model: parameter second of the module is not the SGD optimizer's, which "
           "would not update it");
    ht_release(daso);
    ht_release(optimizer);
    ht_release(net);
    ht_release(comm);
    unsetenv("HT_RANKS_PER_NODE");
}

/* The outstanding message would be merged into other parameters. */
static void test_another_model_while_one_is_on_its_way(void **state)
{
    ht_daso_options o = options_of(0, 0, HT_FLOAT32);
    struct setting s = set_points(1, HT_FLOAT64, 1, 100, &o);

    (void)state;
    ht_comm_set_errhandler(s.comm, HT_ERRORS_RETURN);
    ht_daso_step(s.daso);
    expect(ht_daso_set_model(s.daso, s.net), HT_ERR_STATE,
           "ht_daso_set_model: an exchange of the previous model is pending");
    ht_daso_step(s.daso);
    assert_int_equal(ht_daso_set_model(s.daso, s.net), HT_SUCCESS);
    end(&s);
}

static void test_scaler(void **state)
{
    ht_daso_options o = options_of(0, 0, HT_FLOAT32);
    struct setting s = set_points(1, HT_FLOAT64, 1, 100, &o);
    ht_optimizer *other = ht_optim_sgd(trainable(s.net), 1, NULL);
    ht_optim_wrapper *good = ht_optim_wrapper_new(s.optimizer, NULL);
    ht_optim_wrapper *bad = ht_optim_wrapper_new(other, NULL);

    (void)state;
    ht_comm_set_errhandler(s.comm, HT_ERRORS_RETURN);
    expect(ht_daso_add_scaler(s.daso, bad), HT_ERR_ARGUMENT,
           "ht_daso_add_scaler: wrapper does not wrap the local optimizer");
    assert_int_equal(ht_daso_add_scaler(s.daso, good), HT_SUCCESS);
    expect(ht_daso_step(s.daso), HT_ERR_STATE,
           "ht_daso_step: call ht_optim_wrapper_update_params of the scaler first");
    assert_int_equal(ht_daso_add_scaler(s.daso, NULL), HT_SUCCESS);
    assert_int_equal(ht_daso_step(s.daso), HT_SUCCESS);
    ht_release(good);
    ht_release(bad);
    ht_release(other);
    end(&s);
}

/* Every gradient is 1 for any rows. So is the mean of several losses, on batches that are averaged
 * inside nodes and on those that are not. */
static void test_accumulated_losses_are_a_mean_of_rows(void **state)
{
    ht_daso_options o = options_of(0, 0, HT_FLOAT32);
    ht_module *net = ht_nn_linear_ext(1, 1, false);
    ht_optim_wrapper_options w = ht_optim_wrapper_options_default();
    ht_tensor *weight;
    int own_updates = 0;

    (void)state;
    ht_module_to_dtype(net, HT_FLOAT64);
    weight = ht_value_as_tensor(ht_value_at(ht_module_parameters(net), 0));
    w.accumulative_counts = 2;
    struct setting s = set_daso(1, net, ht_optim_sgd(ht_module_parameters(net), 0.001, NULL), 10,
                                24, &o);
    ht_optim_wrapper *wrapper = ht_optim_wrapper_new(s.optimizer, &w);

    s.daso->schedule.global_skip = 8;
    s.daso->schedule.local_skip = 4;
    s.daso->schedule.wait = 1;
    assert_int_equal(ht_daso_add_scaler(s.daso, wrapper), HT_SUCCESS);
    for (int batch = 0; batch < 24; batch++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = ht_ones(HT_SHAPE(batch % 2 ? 3 : 8, 1), HT_FLOAT64, HT_LOCAL);
        const double before = ht_item(ht_detach(weight));
        ht_daso_report report;

        assert_int_equal(ht_optim_wrapper_begin(wrapper, s.model), HT_SUCCESS);
        assert_int_equal(
            ht_optim_wrapper_update_params(wrapper, ht_mean(ht_forward(s.model, x), HT_NONE)),
            HT_SUCCESS);
        assert_true(fabs(ht_item(ht_detach(weight)) - before + (batch % 2 ? 0.001 : 0)) < 1e-12);
        assert_int_equal(ht_daso_step(s.daso), HT_SUCCESS);
        report = ht_daso_get_report(s.daso);
        assert_true(batch % 2 == 1 || !report.local_sync);
        own_updates += batch % 2 == 1 && !report.local_sync;
        ht_scope_close(scope);
    }
    assert_true(own_updates > 0);
    ht_release(wrapper);
    end(&s);
}

static void wrap_and_release(ht_comm *comm)
{
    ht_daso_options o = options_of(0, 0, HT_FLOAT32);
    struct setting s = {.net = new_points(HT_FLOAT32, 1)};
    ht_hierarchical_averager *averager;
    ht_scope *scope = ht_scope_open();
    int64_t periods[] = {1, 2};
    int sizes[] = {1, ht_test_size};
    int first = ht_test_size == 1; /* group sizes grow */

    s.optimizer = ht_optim_sgd(trainable(s.net), 1, NULL);
    s.daso = ht_optim_daso(s.optimizer, 10, comm, &o);
    s.model = ht_nn_data_parallel_multi_gpu(s.net, s.daso, comm);
    averager = ht_hierarchical_averager_new(comm, 2 - first, periods + first, sizes + first, 0);
    assert_non_null(averager);
    assert_int_equal(ht_daso_set_last_batch(s.daso, 0), HT_SUCCESS);
    ht_set_grad_enabled(false);
    assert_int_equal(ht_daso_step(s.daso), HT_SUCCESS);
    ht_scope_close(scope);
    ht_release(averager);
    end(&s);
}

/* MPI communicators live until ht_finalize, so each wrapper that made communicators would leave
 * them: 161 KB a rank and wrapper. */
static void test_wrappers_leave_no_communicators(void **state)
{
    enum { TIMES = 40 };
    ht_comm *comm = nodes_of(2);
    struct mallinfo2 now;
    size_t before = 0;
    int64_t comms = 0;

    (void)state;
    for (int i = 0; i < TIMES; i++) {
        wrap_and_release(comm);
        now = mallinfo2();
        if (i == 1) {
            comms = ht_live_objects("comm");
            before = now.uordblks + now.hblkhd;
        }
    }
    assert_int_equal(ht_live_objects("comm"), comms);
    assert_true(now.uordblks + now.hblkhd < before + ((size_t)1 << 20));
    ht_release(comm);
}

HT_TEST_SUITE(test_daso_model, cmocka_unit_test(test_models_of_different_sizes),
              cmocka_unit_test(test_models_of_different_counts),
              cmocka_unit_test(test_a_parameter_that_is_not_updated),
              cmocka_unit_test(test_another_model_while_one_is_on_its_way),
              cmocka_unit_test(test_scaler),
              cmocka_unit_test(test_accumulated_losses_are_a_mean_of_rows),
              cmocka_unit_test(test_wrappers_leave_no_communicators));

/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Several optimizers for one wrapper, each stepped separately; and the refusals of options. */
#include "data_parallel_test.h"
#include "nn/parallel/data/data_parallel.h"

enum { STEPS = 6 };

/* Muon for the matrices, SGD for the rest. */
static void make_muon(ht_module *net, ht_optimizer *two[2])
{
    ht_value *all = ht_module_parameters(net), *list[2] = {ht_value_list(), ht_value_list()};

    for (int i = 0; i < ht_value_count(all); i++)
        ht_value_append(list[ht_tensor_ndim(ht_value_as_tensor(ht_value_at(all, i))) != 2],
                        ht_value_at(all, i));
    two[0] = ht_optim_muon(list[0], 0.02, NULL);
    two[1] = ht_optim_sgd(list[1], 0.1, NULL);
}

/* Adam for fc1, SGD for the rest. */
static void make_two(ht_module *net, ht_optimizer *two[2])
{
    struct net *n = ht_module_data(net);
    ht_value *rest = ht_module_parameters(n->fc2);

    ht_value_append(rest, ht_value_tensor(n->shift));
    two[0] = ht_optim_adam(ht_module_parameters(n->fc1), 0.01, NULL);
    two[1] = ht_optim_sgd(rest, 0.1, NULL);
}

/* The second one steps every other time and at a falling rate; a rate set after step() waits. */
static void step_both(ht_optimizer *two[2], int step)
{
    ht_optimizer_step(two[0]);
    if (step % 2 == 1)
        ht_optimizer_step(two[1]);
    ht_optimizer_set_lr(two[1], 0.1 / (2 + step));
}

static void train_two(void (*make)(ht_module *net, ht_optimizer *two[2]), bool alone, bool blocking,
                      double values[VALUES])
{
    ht_module *net = new_net(3), *model = net;
    ht_data_parallel_options options = ht_data_parallel_options_default();
    ht_optimizer *two[2];
    int64_t first = 0, count = 12;

    make(net, two);
    options.blocking = blocking;
    options.optimizers = two;
    options.optimizer_count = 2;
    if (!alone) {
        ht_comm_chunk(HT_COMM_WORLD, 12, ht_test_rank, &first, &count);
        model = ht_nn_data_parallel_ext(net, HT_COMM_WORLD, NULL, &options);
    }
    for (int step = 0; step < STEPS; step++) {
        ht_scope *scope = ht_scope_open();

        ht_optimizer_zero_grad(two[0]);
        ht_optimizer_zero_grad(two[1]);
        assert_int_equal(backward_rows(model, 100 * step + first, count), HT_SUCCESS);
        step_both(two, step);
        ht_scope_close(scope);
    }
    read_parameters(net, values);
    if (!alone)
        ht_release(model);
    ht_release(net);
    ht_release(two[0]);
    ht_release(two[1]);
}

static void test_two_optimizers_with_their_own_steps(void **state)
{
    double alone[VALUES], blocking[VALUES], deferred[VALUES];

    (void)state;
    train_two(make_two, true, true, alone);
    train_two(make_two, false, true, blocking);
    train_two(make_two, false, false, deferred);
    assert_true(distance(blocking, alone) <= 1e-12);
    assert_memory_equal(blocking, deferred, sizeof blocking);
}

/* Updates by operations that are made later. Its iteration rounds to bfloat16, so that one rank alone
 * can differ by a last digit of that. */
static void test_muon_steps_later(void **state)
{
    double alone[VALUES], blocking[VALUES], deferred[VALUES];

    (void)state;
    train_two(make_muon, true, true, alone);
    train_two(make_muon, false, true, blocking);
    train_two(make_muon, false, false, deferred);
    assert_true(distance(blocking, alone) <= 1e-3);
    assert_memory_equal(blocking, deferred, sizeof blocking);
}

/* The momentum goes to 0 and back; the wrapper comes after `before` steps, when rank 0 alone has the
 * states. */
static void train_cycle(bool centered, bool alone, bool blocking, int before, double values[VALUES])
{
    ht_module *net = new_net(3), *model = net;
    ht_rmsprop_options rmsprop = ht_rmsprop_options_default();
    ht_sgd_options sgd = ht_sgd_options_default();
    ht_cyclic_lr_options cyclic = ht_cyclic_lr_options_default();
    ht_optimizer *o;
    ht_scheduler *s;

    sgd.dampening = 0.25;
    rmsprop.eps = 1e-2;
    rmsprop.centered = true;
    cyclic.step_size_up = 2;
    cyclic.base_momentum = centered ? 0 : 0.75;
    cyclic.max_momentum = 0.75 - cyclic.base_momentum;
    o = centered ? ht_optim_rmsprop(ht_module_parameters(net), 0.01, &rmsprop)
                 : ht_optim_sgd(ht_module_parameters(net), 0.01, &sgd);
    s = ht_optim_cyclic_lr(o, 0.01, 0.05, &cyclic);
    for (int step = 0; step < 3 * STEPS; step++) {
        ht_scope *scope = ht_scope_open();
        int64_t first = 0, count = 12;

        if (step == before && !alone)
            model = ht_nn_data_parallel(net, HT_COMM_WORLD, o, blocking);
        if (step >= before && !alone)
            ht_comm_chunk(HT_COMM_WORLD, 12, ht_test_rank, &first, &count);
        ht_optimizer_zero_grad(o);
        if (alone || step >= before || ht_test_rank == 0) {
            assert_int_equal(backward_rows(model, 100 * step + first, count), HT_SUCCESS);
            assert_int_equal(ht_optimizer_step(o), HT_SUCCESS);
        }
        assert_int_equal(ht_scheduler_step(s), HT_SUCCESS);
        ht_scope_close(scope);
    }
    read_parameters(net, values);
    ht_release(s);
    if (!alone)
        ht_release(model);
    ht_release(net);
    ht_release(o);
}

static void test_momentum_through_zero(void **state)
{
    double alone[VALUES], blocking[VALUES], deferred[VALUES];

    (void)state;
    for (int centered = 0; centered < 2; centered++) {
        train_cycle(centered, true, true, 0, alone);
        for (int before = 0; before <= 7; before++) {
            train_cycle(centered, false, true, before, blocking);
            train_cycle(centered, false, false, before, deferred);
            assert_true(distance(blocking, alone) <= 1e-12);
            assert_memory_equal(blocking, deferred, sizeof blocking);
        }
    }
}

/* Two optimizers do not make a wrapper blocking; each one may be. */
static void test_each_optimizer_has_its_mode(void **state)
{
    ht_module *net = new_net(3), *dp;
    ht_data_parallel_options options = ht_data_parallel_options_default();
    ht_tensor *fc1, *fc2;
    ht_optimizer *two[2];

    (void)state;
    make_two(net, two);
    ht_optim_data_parallel(two[1], true);
    options.optimizers = &two[1];
    options.optimizer_count = 1;
    dp = ht_nn_data_parallel_ext(net, HT_COMM_WORLD, two[0], &options);
    fc1 = ht_module_find_parameter(net, "fc1.weight");
    fc2 = ht_module_find_parameter(net, "fc2.weight");
    backward_rows(dp, 4 * ht_test_rank, 4);
    ht_optimizer_step(two[0]);
    ht_optimizer_step(two[1]);

    ht_data_parallel *data = ht_module_data(dp);
    assert_non_null(ht__reducer_find(data->reducer, fc1)->due);
    assert_null(ht__reducer_find(data->reducer, fc2)->due);
    ht_release(dp);
    ht_release(net);
    ht_release(two[0]);
    ht_release(two[1]);
}

/* A parameter that two optimizers hold: the second update follows the first. */
static void test_a_shared_parameter_gets_both_updates(void **state)
{
    double values[2][VALUES];

    (void)state;
    for (int blocking = 0; blocking < 2; blocking++) {
        ht_module *net = new_net(3), *dp;
        ht_optimizer *one = new_optimizer(net, ADAM), *other = new_optimizer(net, SGD);
        ht_data_parallel_options options = ht_data_parallel_options_default();

        options.blocking = blocking;
        options.optimizers = &other;
        options.optimizer_count = 1;
        dp = ht_nn_data_parallel_ext(net, HT_COMM_WORLD, one, &options);
        for (int step = 0; step < 3; step++) {
            ht_optimizer_zero_grad(one);
            backward_rows(dp, 4 * (ht_test_rank + 7 * step), 4);
            ht_optimizer_step(one);
            ht_optimizer_step(other);
        }
        assert_int_equal(ht_optimizer_steps(other), 3);
        read_parameters(net, values[blocking]);
        ht_release(dp);
        ht_release(net);
        ht_release(one);
        ht_release(other);
    }
    assert_memory_equal(values[0], values[1], sizeof values[0]);
}

static void assert_refused(ht_module *net, ht_optimizer *optimizer,
                           const ht_data_parallel_options *options, const char *expected)
{
    const char *message;

    assert_null(ht_nn_data_parallel_ext(net, HT_COMM_WORLD, optimizer, options));
    ht_error_get(&message);
    if (strstr(message, expected) == NULL)
        fail_msg("'%s' is not in '%s'", expected, message);
    ht_error_clear();
}

static void test_refused_options(void **state)
{
    ht_use_device(ht_device_get("cpu")); /* named in messages */

    static const int devices[] = {1, 2};
    ht_module *net = new_net(3), *other = new_net(4);
    ht_data_parallel_options options = ht_data_parallel_options_default();
    ht_optimizer *foreign = new_optimizer(other, SGD);

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_refused(net, foreign, NULL, "of the 5 parameters of the SGD optimizer, 5 are not the");
    options.device_ids = devices;
    options.device_id_count = 2;
    assert_refused(net, NULL, &options, "device_ids has 2 entries; each rank drives one device");
    options.device_id_count = 1;
    assert_refused(net, NULL, &options, "is on cpu:0, but device_ids names 1");
    options = ht_data_parallel_options_default();
    options.optimizer_count = 1;
    assert_refused(net, NULL, &options, "optimizers is NULL or optimizer_count is negative (1)");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_release(net);
    ht_release(other);
    ht_release(foreign);
}

/* Its gradient would be another one on every rank. */
static void test_unfrozen_after_wrapping_is_refused(void **state)
{
    ht_module *net = new_net(3), *dp;
    ht_tensor *bias = ht_module_find_parameter(net, "fc1.bias");
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    const char *message;

    (void)state;
    ht_tensor_set_requires_grad(bias, false);
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    ht_tensor_set_requires_grad(bias, true);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    backward_rows(dp, 4 * ht_test_rank, 4);
    assert_int_equal(ht_optimizer_step(optimizer), HT_ERR_STATE);
    ht_error_get(&message);
    assert_non_null(strstr(message, "has a gradient, but required none when"));
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_error_clear();
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
}

/* The program vouches for its models: rank r keeps what it has. */
static void test_init_sync_off_broadcasts_nothing(void **state)
{
    ht_module *net = new_net(3 + (uint64_t)ht_test_rank),
              *same = new_net(3 + (uint64_t)ht_test_rank);
    ht_data_parallel_options options = ht_data_parallel_options_default();
    double values[VALUES], expected[VALUES];
    ht_module *dp;

    (void)state;
    options.init_sync = false;
    dp = ht_nn_data_parallel_ext(net, HT_COMM_WORLD, NULL, &options);
    read_parameters(net, values);
    read_parameters(same, expected);
    assert_memory_equal(values, expected, sizeof values);
    ht_release(dp);
    ht_release(net);
    ht_release(same);
}

HT_TEST_SUITE(test_data_parallel_optimizers,
              cmocka_unit_test(test_two_optimizers_with_their_own_steps),
              cmocka_unit_test(test_momentum_through_zero), cmocka_unit_test(test_muon_steps_later),
              cmocka_unit_test(test_each_optimizer_has_its_mode),
              cmocka_unit_test(test_a_shared_parameter_gets_both_updates),
              cmocka_unit_test(test_refused_options),
              cmocka_unit_test(test_unfrozen_after_wrapping_is_refused),
              cmocka_unit_test(test_init_sync_off_broadcasts_nothing));

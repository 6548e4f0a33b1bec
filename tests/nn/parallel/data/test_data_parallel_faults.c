/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Six faults of heat.nn.DataParallel that this one must not have. */
#include "data_parallel_test.h"

/* One synchronised step on this rank's share of 12 rows. */
static void one_step(ht_module *dp, ht_optimizer *optimizer, int step)
{
    int64_t first, count;
    ht_scope *scope = ht_scope_open();

    ht_comm_chunk(HT_COMM_WORLD, 12, ht_test_rank, &first, &count);
    ht_optimizer_zero_grad(optimizer);
    assert_int_equal(backward_rows(dp, 100 * step + first, count), HT_SUCCESS);
    assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
    ht_scope_close(scope);
}

/* The parameters after `steps` steps of one process without a wrapper. */
static void expect_after(int steps, enum optimizer_kind kind, double values[VALUES])
{
    train_alone(&(struct run){.kind = kind, .steps = steps}, values);
}

static void assert_near(ht_module *net, const double expected[VALUES])
{
    double values[VALUES];

    read_parameters(net, values);
    assert_true(distance(values, expected) <= 1e-12);
}

/* Heat: eval() adds the last two gradients, and without it the last update never comes. */
static void fault_1_eval_applies_the_last_update_once(void **state)
{
    ht_module *net = new_net(3);
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    double expected[VALUES];

    (void)state;
    one_step(dp, optimizer, 0);
    one_step(dp, optimizer, 1);
    ht_module_eval(dp);
    expect_after(2, SGD, expected);
    assert_near(net, expected);
    ht_module_train(dp);
    one_step(dp, optimizer, 2);
    ht_release(dp); /* the end without eval loses nothing either */
    expect_after(3, SGD, expected);
    assert_near(net, expected);
    ht_release(net);
    ht_release(optimizer);
}

/* Heat: only the last micro-batch counts, and clipping acts on the previous step's gradient. */
static void check_fault_2(bool own_gradients)
{
    ht_module *net = new_net(3), *one = new_net(3);
    ht_tensor *shift = ((struct net *)ht_module_data(net))->shift;
    ht_tensor *expected = ((struct net *)ht_module_data(one))->shift;
    ht_optimizer *optimizer = new_optimizer(net, SGD), *alone = new_optimizer(one, SGD);
    ht_module *dp = wrap(net, HT_COMM_WORLD, optimizer,
                         &(struct run){.own_gradients = own_gradients});

    for (int step = 0; step < 3; step++) {
        ht_optimizer_zero_grad(optimizer);
        ht_optimizer_zero_grad(alone);
        for (int m = 0; m < 2; m++)
            backward_rows(dp, 100 * step + 6 * (2 * ht_test_rank + m), 6);
        backward_rows(one, 100 * step, 12 * ht_test_size);

        const double *mine = ht_test_data(ht_tensor_grad(shift));
        const double *right = ht_test_data(ht_tensor_grad(expected));
        for (int i = 0; i < OUT; i++)
            assert_true(fabs(mine[i] - right[i]) <= 1e-13);

        /* step() uses the gradient in its present state. */
        ht_mul_scalar_(ht_tensor_grad(shift), 0.25);
        ht_mul_scalar_(ht_tensor_grad(expected), 0.25);
        ht_optimizer_step(optimizer);
        ht_optimizer_step(alone);
    }

    double a[VALUES], b[VALUES];
    read_parameters(net, a);
    read_parameters(one, b);
    assert_true(distance(a, b) <= 1e-12);
    ht_release(dp);
    ht_release(net);
    ht_release(one);
    ht_release(optimizer);
    ht_release(alone);
}

static void fault_2_accumulation_and_clipping_see_this_step(void **state)
{
    (void)state;
    check_fault_2(false);
    check_fault_2(true);
}

/* Heat: parameters of the root and weights used directly crash backward; state cannot be read
 * between step() and zero_grad(). */
static void fault_3_root_parameters_functional_use_and_state(void **state)
{
    ht_module *net = new_net(3);
    ht_optimizer *optimizer = new_optimizer(net, ADAM);
    ht_module *dp;
    double expected[VALUES];

    (void)state;
    ((struct net *)ht_module_data(net))->tied = true;
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    for (int step = 0; step < 2; step++) {
        one_step(dp, optimizer, step);
        assert_non_null(ht_optimizer_state(optimizer, PARAMETERS - 1, "exp_avg"));
        assert_int_equal(ht_optimizer_steps(optimizer), step + 1);
    }
    train_alone(&(struct run){.kind = ADAM, .tied = true, .steps = 2}, expected);
    assert_near(net, expected);
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
}

/* Reads parameters by their handles, not through the module: those are drained too. */
static void test_handles_are_never_behind(void **state)
{
    ht_module *net = new_net(3);
    struct net *n = ht_module_data(net);
    ht_tensor *weight = ht_module_find_parameter(net, "fc2.weight");
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    double before = ht_item(ht_sum(ht_mul(weight, weight), HT_NONE));
    double values[VALUES], *at = values, expected[VALUES];

    (void)state;
    one_step(dp, optimizer, 0);
    assert_true(ht_item(ht_sum(ht_mul(weight, weight), HT_NONE)) != before);
    collect_values("", n->shift, &at);
    expect_after(1, SGD, expected);
    for (int i = 0; i < OUT; i++)
        assert_true(fabs(values[i] - expected[i]) <= 1e-12);
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
}

/* A gradient's handle from the first step names this step's average, also after the buckets were
 * laid out again. Writing through it counts. */
static void test_gradient_handles_stay(void **state)
{
    (void)state;
    double end[2][VALUES];

    for (int blocking = 0; blocking < 2; blocking++) {
        ht_module *net = new_net(3);
        ht_tensor *shift = ((struct net *)ht_module_data(net))->shift, *held;
        ht_optimizer *optimizer = new_optimizer(net, SGD);
        ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, blocking);
        double mine[OUT], first[OUT];

        one_step(dp, optimizer, 0);
        held = ht_tensor_grad(shift);
        for (int step = 1; step < 4; step++) {
            ht_optimizer_zero_grad(optimizer);
            backward_rows(dp, 100 * step + 12 * ht_test_rank, 2 + ht_test_rank);
            ht_mul_scalar_(held, 0.5);
            ht_optimizer_step(optimizer);
            memcpy(mine, ht_test_data(ht_mul_scalar(held, 1)), sizeof mine);
            memcpy(first, mine, sizeof first);
            MPI_Bcast(first, OUT, MPI_DOUBLE, 0, ht_comm_mpi(HT_COMM_WORLD));
            assert_memory_equal(mine, first, sizeof mine);
        }
        assert_ptr_equal(ht_tensor_grad(shift), held);
        read_parameters(net, end[blocking]);
        ht_release(dp);
        ht_release(net);
        ht_release(optimizer);
    }
    assert_memory_equal(end[0], end[1], sizeof end[0]);
}

/* Heat: wrapping reseeds and resets; bare parameters differ per rank; frozen ones raise; buffers
 * drift; float64 gradients become float32. */
static void fault_4_wrapping_keeps_weights_and_generator(void **state)
{
    ht_module *net = new_net(3 + (uint64_t)ht_test_rank); /* rank 0's must win */
    ht_module *again = new_net(3);
    ht_tensor *frozen = ht_module_find_parameter(net, "fc1.bias");
    ht_tensor *buffer = ht_astype(ht_full_like(frozen, ht_test_rank), HT_FLOAT64);
    double expected[VALUES], values[VALUES];
    int64_t shape[] = {8};

    (void)state;
    read_parameters(again, expected);
    ht_module_add_buffer(net, "buffer", NULL, buffer);
    ht_tensor_set_requires_grad(frozen, false);

    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_random_seed(11);
    ht_tensor *draw = ht_rand(1, shape, HT_FLOAT64, HT_NONE);
    ht_random_seed(11);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    ht_tensor *after = ht_rand(1, shape, HT_FLOAT64, HT_NONE);

    assert_memory_equal(ht_test_data(draw), ht_test_data(after), 8 * sizeof(double));
    read_parameters(net, values);
    assert_memory_equal(values, expected, sizeof values);
    assert_true(*(const double *)ht_test_data(buffer) == 0);

    one_step(dp, optimizer, 0);
    assert_int_equal(ht_tensor_dtype(ht_tensor_grad(((struct net *)ht_module_data(net))->shift)),
                     HT_FLOAT64);
    read_parameters(net, values);
    train_alone(&(struct run){.steps = 1, .frozen = true}, expected);
    assert_true(distance(values, expected) <= 1e-12);
    ht_release(dp);
    ht_release(net);
    ht_release(again);
    ht_release(optimizer);
}

/* Heat: the optimizer runs once per layer on a slice of its list: anything that counts steps is
 * wrong. Adam's bias correction counts steps. */
static void fault_5_one_step_is_one_step(void **state)
{
    double expected[VALUES], values[VALUES];
    struct run run = {.kind = ADAM, .steps = 4, .bucket_mb = 1e-9};

    (void)state;
    train(&run, values);
    train_alone(&run, expected);
    assert_true(distance(values, expected) <= 1e-12);
}

/* Heat: a layer that runs on some ranks only hangs, or mixes up messages. (That it is an error
 * unless asked for: test_data_parallel_unused.c.) */
static void fault_6_a_layer_that_runs_on_some_ranks(void **state)
{
    for (int blocking = 0; blocking < 2; blocking++) {
        ht_module *net = new_net(3);
        struct net *n = ht_module_data(net);
        ht_tensor *weight = ht_module_find_parameter(net, "fc1.weight");
        ht_optimizer *optimizer = new_optimizer(net, ADAM);
        ht_module *dp = wrap(net, HT_COMM_WORLD, optimizer,
                             &(struct run){.blocking = blocking, .find_unused = true});
        double mine[VALUES], first[VALUES], before, after;

        /* On rank 0 in odd steps alone, then on no rank: then it keeps its values. */
        for (int step = 0; step < 6; step++) {
            n->skip_fc1 = step >= 4 || (step % 2 == 1 && ht_test_rank != 0);
            if (step == 4)
                before = ht_item(ht_sum(ht_mul(weight, weight), HT_NONE));
            one_step(dp, optimizer, step);
        }
        after = ht_item(ht_sum(ht_mul(weight, weight), HT_NONE));
        assert_true(before == after);

        read_parameters(net, mine);
        memcpy(first, mine, sizeof first);
        MPI_Bcast(first, VALUES, MPI_DOUBLE, 0, ht_comm_mpi(HT_COMM_WORLD));
        assert_memory_equal(mine, first, sizeof first);
        ht_release(dp);
        ht_release(net);
        ht_release(optimizer);
    }
    (void)state;
}

/* A batch without rows contributes nothing, even where its loss is NaN. */
static void test_empty_batch_and_nan(void **state)
{
    ht_module *net = new_net(3);
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    int last = ht_test_size - 1;
    double expected[VALUES];

    (void)state;
    if (ht_test_size == 1) {
        one_step(dp, optimizer, 0);
    } else if (ht_test_rank == last) {
        ht_tensor *bad = ht_mul_scalar(batch_rows(0, 2), NAN);

        ht_data_parallel_set_weight(dp, 0);
        ht_backward(ht_nll_loss(ht_forward(dp, bad), batch_classes(0, 2), HT_MEAN));
        ht_optimizer_step(optimizer);
    } else {
        int64_t first = 12 * ht_test_rank / last, end = 12 * (ht_test_rank + 1) / last;

        backward_rows(dp, first, end - first);
        ht_optimizer_step(optimizer);
    }
    expect_after(1, SGD, expected);
    assert_near(net, expected);
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
}

HT_TEST_SUITE(test_data_parallel_faults,
              cmocka_unit_test(fault_1_eval_applies_the_last_update_once),
              cmocka_unit_test(fault_2_accumulation_and_clipping_see_this_step),
              cmocka_unit_test(fault_3_root_parameters_functional_use_and_state),
              cmocka_unit_test(test_handles_are_never_behind),
              cmocka_unit_test(test_gradient_handles_stay),
              cmocka_unit_test(fault_4_wrapping_keeps_weights_and_generator),
              cmocka_unit_test(fault_5_one_step_is_one_step),
              cmocka_unit_test(fault_6_a_layer_that_runs_on_some_ranks),
              cmocka_unit_test(test_empty_batch_and_nan));

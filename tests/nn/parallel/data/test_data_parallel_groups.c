/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Groups of parameters under a wrapper: each group's update is deferred with its own arguments. */
#include "data_parallel_test.h"
#include "nn/parallel/data/data_parallel.h"

enum { STEPS = 10 };

/* fc1, then the rest at a tenth of the rate and with weight decay. */
static ht_optimizer *new_groups(ht_module *net)
{
    struct net *n = ht_module_data(net);
    ht_value *rest = ht_module_parameters(n->fc2);
    ht_adamw_options decay = ht_adamw_options_default();
    ht_optimizer *o;

    decay.weight_decay = 0.2;
    decay.beta1 = 0.7;
    ht_value_append(rest, ht_value_tensor(n->shift));
    o = ht_optim_adamw(ht_module_parameters(n->fc1), 0.05, NULL);
    assert_int_equal(ht_optim_adamw_add_param_group(o, rest, 0.005, &decay), HT_SUCCESS);
    return o;
}

/* Between step() and the next forward a schedule moves both rates, and the program one of them; now
 * and then the program steps once more with the same gradients. */
static void train_groups(bool alone, bool blocking, double values[VALUES])
{
    ht_module *net = new_net(3), *model = net;
    ht_optimizer *o = new_groups(net);
    ht_scheduler *s = ht_optim_cosine_annealing_lr(o, 4, 0.001);
    int64_t first = 0, count = 12;

    if (!alone) {
        ht_comm_chunk(HT_COMM_WORLD, 12, ht_test_rank, &first, &count);
        model = ht_nn_data_parallel(net, HT_COMM_WORLD, o, blocking);
    }
    for (int step = 0; step < STEPS; step++) {
        ht_scope *scope = ht_scope_open();

        ht_optimizer_zero_grad(o);
        assert_int_equal(backward_rows(model, 100 * step + first, count), HT_SUCCESS);
        assert_int_equal(ht_optimizer_step(o), HT_SUCCESS);
        ht_scheduler_step(s);
        if (step % 3 == 1)
            ht_optimizer_set_group_lr(o, 1, 0.02 / (1 + step));
        if (step % 4 == 2)
            assert_int_equal(ht_optimizer_step(o), HT_SUCCESS);
        ht_scope_close(scope);
    }
    read_parameters(net, values);
    if (!alone)
        ht_release(model);
    ht_release(s);
    ht_release(net);
    ht_release(o);
}

static void test_deferred_step_keeps_the_arguments_of_each_group(void **state)
{
    double alone[VALUES], blocking[VALUES], deferred[VALUES];

    (void)state;
    train_groups(true, true, alone);
    train_groups(false, true, blocking);
    train_groups(false, false, deferred);
    assert_true(distance(blocking, alone) <= 1e-12);
    assert_memory_equal(blocking, deferred, sizeof blocking);
}

/* Groups do not make a wrapper blocking, and loading a state comes after due updates. */
static void test_groups_stay_deferred(void **state)
{
    ht_module *net = new_net(3), *dp;
    ht_optimizer *o = new_groups(net);
    ht_tensor *shift = ht_module_find_parameter(net, "shift");
    ht_value *before = ht_optimizer_state_dict(o);
    ht_data_parallel *data;

    (void)state;
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, o, false);
    data = ht_module_data(dp);
    backward_rows(dp, 4 * ht_test_rank, 4);
    ht_optimizer_step(o);
    for (int i = 0; i < data->reducer->count; i++)
        assert_non_null(data->reducer->params[i].due);
    assert_int_equal(ht_optimizer_load_state_dict(o, before), HT_SUCCESS);
    for (int i = 0; i < data->reducer->count; i++)
        assert_null(data->reducer->params[i].due);
    assert_true(((double *)ht_test_data(shift))[0] != 0);
    assert_int_equal(ht_optimizer_steps(o), 0);
    ht_release(dp);
    ht_release(net);
    ht_release(o);
}

static void test_misuse(void **state)
{
    ht_module *net = new_net(3), *dp;
    struct net *n = ht_module_data(net);
    ht_adam_options differs = ht_adam_options_default();
    ht_optimizer *o;
    const char *message;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    differs.beta2 = ht_test_rank == ht_test_size - 1 ? 0.5 : 0.25;
    o = ht_optim_adam(ht_module_parameters(n->fc1), 0.1, &differs);
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, o, false);
    if (ht_test_size > 1) {
        assert_null(dp);
        ht_error_get(&message);
        assert_non_null(strstr(message, "rank 0 has 'Adam group 0 of 2 parameters: beta1=0.9 "
                                        "beta2=0.25"));
    } else {
        assert_int_equal(ht_optim_adam_add_param_group(o, ht_module_parameters(n->fc2), 0.1, NULL),
                         HT_ERR_STATE);
        ht_error_get(&message);
        assert_non_null(strstr(message, "already belongs to a data-parallel wrapper"));
    }
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_release(dp);
    ht_release(net);
    ht_release(o);
}

HT_TEST_SUITE(test_data_parallel_groups,
              cmocka_unit_test(test_deferred_step_keeps_the_arguments_of_each_group),
              cmocka_unit_test(test_groups_stay_deferred), cmocka_unit_test(test_misuse));

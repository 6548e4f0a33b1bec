/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* PowerSGD: passes that leave a gradient out keep the part of it that was not sent. */
#include "nn/parallel/data/data_parallel_test.h"

enum { SIDE = 4, N = SIDE * SIDE, PLAIN = 2, MIXED = 20, END = 40 };

enum way { ZERO, UNUSED, WORTHLESS, WAYS }; /* of every other mixed pass */

struct pair {
    ht_module *always, *sometimes;
    bool both;
};

static ht_tensor *pair_forward(ht_module *self, ht_tensor *x)
{
    struct pair *pair = ht_module_data(self);
    ht_tensor *y = ht_forward(pair->always, x);

    return pair->both ? ht_add(y, ht_forward(pair->sometimes, x)) : y;
}

static const ht_module_type pair_type = {.name = "pair", .forward = pair_forward};

static ht_module *new_pair(void)
{
    ht_module *self = ht_module_new(sizeof(struct pair), &pair_type);
    struct pair *pair = ht_module_data(self);

    ht_nn_seed(3);
    ht_module_add(self, "always", &pair->always, ht_nn_linear_ext(SIDE, SIDE, false));
    ht_module_add(self, "sometimes", &pair->sometimes, ht_nn_linear_ext(SIDE, SIDE, false));
    ht_module_to_dtype(self, HT_FLOAT64);
    return self;
}

static ht_module *wrap_pair(ht_module *net, ht_optimizer *optimizer, bool blocking,
                            ht_power_sgd *state)
{
    ht_data_parallel_options options = ht_data_parallel_options_default();
    ht_module *dp;

    options.find_unused_parameters = true;
    options.blocking = blocking;
    dp = ht_nn_data_parallel_ext(net, HT_COMM_WORLD, optimizer, &options);
    ht_data_parallel_register_comm_hook(dp, ht_comm_hook_power_sgd, state);
    return dp;
}

/* The gradient of each weight is the transposed factors, which are 0 in passes between and at the
 * end, where the unsent part drains. Adds them to sum. */
static void one_pass(ht_module *dp, ht_module *net, int pass, enum way way, double sum[N])
{
    struct pair *pair = ht_module_data(net);
    const bool between = pass >= PLAIN && pass < MIXED && pass % 2 == 1;
    ht_scope *scope = ht_scope_open();
    double factors[N] = {0};
    ht_tensor *y;

    for (int i = 0; i < N && !between && pass < MIXED; i++) {
        factors[i] = sin(1.3 * i + 0.01 * i * i + 0.9 * pass);
        sum[i % SIDE * SIDE + i / SIDE] += factors[i];
    }
    pair->both = !between || way != UNUSED;
    if (between && way == WORTHLESS)
        ht_data_parallel_set_weight(dp, 0);
    y = ht_forward(dp, ht_eye(SIDE, SIDE, HT_FLOAT64, HT_LOCAL));
    y = ht_mul(y, ht_array(factors, HT_SHAPE(SIDE, SIDE), HT_FLOAT64, HT_LOCAL));
    assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
    ht_scope_close(scope);
}

static void check_sum(bool blocking, enum way way)
{
    ht_power_sgd_options options = ht_power_sgd_options_default();
    ht_module *net = new_pair(), *dp;
    ht_optimizer *optimizer = ht_optim_sgd(ht_module_parameters(net), 1, NULL);
    ht_tensor *weight = ht_module_find_parameter(net, "sometimes.weight");
    double before[N], after[N], sum[N] = {0};
    ht_power_sgd *state;

    options.start_iter = PLAIN;
    options.min_compression_rate = 1;
    state = ht_power_sgd_new(&options);
    dp = wrap_pair(net, optimizer, blocking, state);
    ht_tensor_to_array(ht_detach(weight), before, N, HT_FLOAT64);
    for (int pass = 0; pass < END; pass++) {
        one_pass(dp, net, pass, way, sum);
        assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
        ht_optimizer_zero_grad(optimizer);
    }
    ht_tensor_to_array(ht_detach(weight), after, N, HT_FLOAT64);
    for (int i = 0; i < N; i++) {
        if (!(fabs(before[i] - after[i] - sum[i]) <= 1e-12))
            fail_msg("way %d: updates add up to %.17g, the gradients to %.17g", (int)way,
                     before[i] - after[i], sum[i]);
    }
    ht_release(dp);
    ht_release(state);
    ht_release(optimizer);
    ht_release(net);
}

static void updates_add_up_to_all_gradients(void **state)
{
    (void)state;
    for (int blocking = 0; blocking < 2; blocking++) {
        for (int way = ZERO; way < WAYS; way++)
            check_sum(blocking, (enum way)way);
    }
}

HT_TEST_SUITE(test_power_sgd_left_out, cmocka_unit_test(updates_add_up_to_all_gradients));

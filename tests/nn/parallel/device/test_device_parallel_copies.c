/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* The copies of a pass live as long as the graph of its outputs, which may refer to them: functions
 * that run again, hooks of tensors. */
#include "device_parallel_test.h"
#include "ht/gradient_tools.h"

struct net {
    ht_module *layer; /* slot */
    int hooks;        /* that ran with this struct */
    ht_tensor *seen;  /* owned; the last hidden tensor: not a slot */
};

static ht_tensor *run_layer(ht_tensor *in[], void *self)
{
    struct net *net = ht_module_data(self);

    return ht_tanh(ht_forward(net->layer, in[0]));
}

static ht_tensor *run_again(ht_module *self, ht_tensor *x)
{
    return ht_recomputed(run_layer, 1, &x, self);
}

/* The tensor that it makes is on the device of the part. */
static ht_tensor *scale(ht_tensor *in[], void *self)
{
    return ht_mul(run_layer(in, self), ht_full(HT_SHAPE(1, 5), 2, HT_FLOAT64, HT_LOCAL));
}

static ht_tensor *make_tensors(ht_module *self, ht_tensor *x)
{
    return ht_recomputed(scale, 1, &x, self);
}

static ht_tensor *count(ht_tensor *grad, void *self)
{
    struct net *net = ht_module_data(self);

    net->hooks++;
    return ht_forward(net->layer, grad);
}

static ht_tensor *watch(ht_module *self, ht_tensor *x)
{
    ht_tensor *y = run_layer(&x, self);

    if (ht_is_grad_enabled())
        assert_int_not_equal(ht_tensor_register_hook(y, count, self), 0);
    return y;
}

static void destroy(ht_module *self)
{
    ht_release(((struct net *)ht_module_data(self))->seen);
}

static ht_status clone(ht_module *self, ht_module *copy)
{
    (void)self;
    ((struct net *)ht_module_data(copy))->seen = NULL;
    return HT_SUCCESS;
}

/* It holds a tensor of the graph, which must not hold the copy in return. */
static ht_tensor *hold(ht_module *self, ht_tensor *x)
{
    struct net *net = ht_module_data(self);

    ht_release(net->seen);
    net->seen = ht_retain(ht_recomputed(run_layer, 1, &x, self));
    return net->seen;
}

static const ht_module_type types[] = {
    {.name = "Again", .forward = run_again},
    {.name = "Placed", .forward = make_tensors},
    {.name = "Watched", .forward = watch},
    {.name = "Holding", .forward = hold, .destroy = destroy, .clone = clone},
};
enum { OWN = sizeof types / sizeof *types, KINDS = OWN + 2 };

static ht_module *linear(void)
{
    ht_module *layer;

    ht_nn_seed(3);
    layer = ht_nn_linear(5, 5);
    assert_int_equal(ht_nn_weight_norm(layer, "weight", 0), HT_SUCCESS);
    return layer;
}

static ht_module *net_of(int kind)
{
    ht_module *net;

    if (kind == OWN) {
        net = ht_nn_recomputed(ht_nn_sequential(HT_LIST(ht_module *, linear(), ht_nn_tanh())));
    } else if (kind == OWN + 1) {
        net = ht_nn_recomputed_sequential(
            2, HT_LIST(ht_module *, linear(), ht_nn_tanh(), ht_nn_linear(5, 5)));
    } else {
        net = ht_module_new(sizeof(struct net), &types[kind]);
        ht_module_add(net, "layer", &((struct net *)ht_module_data(net))->layer, linear());
    }
    ht_module_to_dtype(net, HT_FLOAT64);
    return net;
}

static ht_status differentiate(ht_module *model, bool keep)
{
    ht_tensor *y = ht_forward(model, input(8, 1)), *loss = ht_mean(ht_mul(y, y), HT_NONE);

    return ht_backward_ext(loss, NULL, keep);
}

static void expect_gradients_of_the_plain_module(int kind, bool keep)
{
    ht_scope *scope = ht_scope_open();
    ht_module *plain = net_of(kind), *net = net_of(kind);
    ht_module *wrapped = ht_nn_device_parallel(net, ids, 3, HT_NONE, 0);
    ht_value *expected = ht_module_parameters(plain), *made = ht_module_parameters(net);

    assert_int_equal(differentiate(plain, keep), HT_SUCCESS);
    assert_int_equal(differentiate(wrapped, keep), HT_SUCCESS);
    for (int i = 0; i < ht_value_count(made); i++)
        ht_test_expect_same(ht_tensor_grad(ht_value_as_tensor(ht_value_at(made, i))),
                            ht_tensor_grad(ht_value_as_tensor(ht_value_at(expected, i))), 1e-12);
    ht_release(wrapped);
    ht_release(net);
    ht_release(plain);
    ht_scope_close(scope);
}

static void copies_live_until_the_backward_pass(void **state)
{
    needs_all_devices();
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        for (int keep = 0; keep < 2; keep++)
            expect_gradients_of_the_plain_module(kind, keep);
    }
}

/* Without a backward pass, too. */
static void copies_end_with_the_graph(void **state)
{
    needs_all_devices();
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        ht_module *net = net_of(kind), *wrapped = ht_nn_device_parallel(net, ids, 3, HT_NONE, 0);
        int64_t modules = ht_live_objects("module");
        ht_scope *scope = ht_scope_open();

        assert_non_null(ht_forward(wrapped, input(8, 1)));
        assert_true(ht_live_objects("module") > modules);
        ht_scope_close(scope);
        assert_int_equal(ht_live_objects("module"), modules);
        ht_release(wrapped);
        ht_release(net);
    }
}

/* The wrapper over ranks ends its pass with deferred updates. */
static void a_wrapper_over_ranks_may_be_around_them(void **state)
{
    needs_all_devices();
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        ht_scope *scope = ht_scope_open();
        ht_module *net = net_of(kind), *inner = ht_nn_device_parallel(net, ids, 2, HT_NONE, 0);
        ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(net), 0.1, NULL);
        ht_module *dp = ht_nn_data_parallel(inner, HT_COMM_WORLD, sgd, kind % 2);

        for (int step = 0; step < 2; step++) {
            ht_optimizer_zero_grad(sgd);
            assert_int_equal(differentiate(dp, false), HT_SUCCESS);
            assert_int_equal(ht_optimizer_step(sgd), HT_SUCCESS);
        }
        ht_release(dp);
        ht_release(sgd);
        ht_release(inner);
        ht_release(net);
        ht_scope_close(scope);
    }
}

HT_TEST_SUITE(test_device_parallel_copies, cmocka_unit_test(copies_live_until_the_backward_pass),
              cmocka_unit_test(copies_end_with_the_graph),
              cmocka_unit_test(a_wrapper_over_ranks_may_be_around_them));

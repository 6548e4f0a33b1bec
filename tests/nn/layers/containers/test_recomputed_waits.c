/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Wherever one rank fails, the ranks that wait for it in a second run or in a backward pass get an
 * error. The layers that wait have different numbers of channels, so that no exchange can be taken
 * for another one. */
#include "ht.h"
#include "ht_test.h"
#include "tensor_check.h"

enum { ROWS = 6, WIDE = 4, NARROW = 3 };

/* Where the last rank fails. In its second run f returns NULL before the layers that wait, between
 * them or behind them, or it runs them in another order. Or the input of f is written before that,
 * or is invalid in the first run. */
enum fault { NONE, BEFORE, BETWEEN, BEHIND, ORDER, WRITTEN, STALE, FAULTS };

static enum fault fault;
static bool armed;

static bool is_last(void)
{
    return ht_test_rank == ht_test_size - 1;
}

static bool fails(enum fault here)
{
    return armed && fault == here && is_last();
}

static void set_handlers(ht_errhandler handler)
{
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, handler);
    ht_comm_set_errhandler(HT_COMM_SELF, handler);
}

static void expect_ranks_in_step(void)
{
    ht_tensor *one = ht_ones(HT_SHAPE(1), HT_FLOAT64, HT_LOCAL);

    assert_int_equal(ht_allreduce(HT_COMM_WORLD, one, one, HT_OP_SUM), HT_SUCCESS);
    assert_true(ht_item(one) == ht_test_size);
}

static ht_module *waiting(int64_t channels)
{
    return ht_nn_sync_batch_norm(channels, NULL, HT_COMM_WORLD);
}

static ht_tensor *batch(void)
{
    return ht_test_randn(HT_SHAPE(ROWS, WIDE), HT_FLOAT32, HT_LOCAL, 3);
}

typedef struct layers {
    ht_module *wide, *linear, *narrow;
} layers;

static ht_tensor *run_narrow(const layers *l, ht_tensor *x)
{
    return ht_forward(l->narrow, ht_forward(l->linear, x));
}

/* The last operation is that of a layer that waits, whose backward begins the second run. */
static ht_tensor *run(ht_tensor *in[], void *user)
{
    const layers *l = user;
    ht_tensor *y = in[0];

    if (fails(BEFORE))
        return NULL;
    if (fails(ORDER))
        return run_narrow(l, y);
    y = ht_forward(l->wide, y);
    if (fails(BETWEEN))
        return NULL;
    y = run_narrow(l, y);
    return fails(BEHIND) ? NULL : y;
}

static ht_tensor *run_inside(ht_tensor *in[], void *user)
{
    ht_tensor *y = ht_mul_scalar(ht_tanh(in[0]), 2);

    return ht_recomputed(run, 1, &y, user);
}

static ht_tensor *run_twice(ht_tensor *in[], void *user)
{
    return ht_tanh(run_inside(in, user));
}

/* The program's own exchange comes first. */
static ht_tensor *run_reducing(ht_tensor *in[], void *user)
{
    ht_tensor *one = ht_ones(HT_SHAPE(1), HT_FLOAT64, HT_LOCAL);

    if (fails(BEFORE) || ht_allreduce(HT_COMM_WORLD, one, one, HT_OP_SUM) != HT_SUCCESS)
        return NULL;
    return run(in, user);
}

/* null: the code of a rank whose second run gives NULL. Within that of the third function, it is a
 * first run that does. */
static const struct {
    ht_recomputed_fn *f;
    ht_status null;
} functions[] = {{run, HT_ERR_ARGUMENT},
                 {run_reducing, HT_ERR_ARGUMENT},
                 {run_inside, HT_ERR_ARGUMENT},
                 {run_twice, HT_ERR_STATE}};

/* A batch whose memory another tensor shares and has given a history, so that it cannot be recorded.
 */
static ht_tensor *stale_batch(void)
{
    ht_tensor *x = batch(), *owner = batch(), *values = batch();

    ht_tensor_set_requires_grad(values, true);
    assert_int_equal(ht_tensor_set_(x, owner), HT_SUCCESS);
    assert_int_equal(ht_copy_(owner, values), HT_SUCCESS);
    return x;
}

/* The status of a forward and a backward pass. */
static ht_status pass(ht_recomputed_fn *f, layers *l)
{
    ht_tensor *x = batch(), *inner, *y;

    ht_tensor_set_requires_grad(x, true);
    inner = ht_mul_scalar(x, 2);
    armed = true;
    if (fails(STALE))
        inner = stale_batch();
    armed = fault == STALE;
    y = ht_recomputed(f, 1, &inner, l);
    if (y == NULL)
        return ht_error_get(NULL);
    armed = true;
    if (fails(WRITTEN))
        ht_fill_(ht_detach(inner), 0);
    return ht_backward(ht_sum(ht_square(y), HT_NONE));
}

static ht_status expected_code(ht_status null)
{
    if (fault == NONE)
        return HT_SUCCESS;
    return is_last() && fault <= BEHIND ? null : HT_ERR_STATE;
}

static void check(ht_recomputed_fn *f, ht_status null)
{
    ht_scope *scope = ht_scope_open();
    layers l = {waiting(WIDE), ht_nn_linear(WIDE, NARROW), waiting(NARROW)};

    set_handlers(HT_ERRORS_RETURN);
    assert_int_equal(pass(f, &l), expected_code(null));
    set_handlers(HT_ERRORS_ABORT);
    armed = false;
    expect_ranks_in_step();
    ht_release(l.wide);
    ht_release(l.linear);
    ht_release(l.narrow);
    ht_scope_close(scope);
}

static void a_rank_that_fails_alone_tells_the_others(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        for (fault = NONE; fault < FAULTS; fault++)
            check(functions[i].f, functions[i].null);
    }
}

/* Nets with nested second runs, by the last layer of the outer one. */
static ht_module *net_of(int kind)
{
    ht_module *items[4] = {waiting(WIDE), ht_nn_linear(WIDE, NARROW), NULL, NULL};
    int count = 2;

    if (kind > 0)
        items[count++] = ht_nn_recomputed(waiting(NARROW));
    if (kind == 2)
        items[count++] = ht_nn_tanh();
    return ht_nn_recomputed(ht_nn_sequential(count, items));
}

/* Kind 0 waits in its second run only, for its input needs no gradient. */
static void a_rank_without_a_loss_tells_the_others(void **state)
{
    (void)state;
    for (int kind = 0; kind < 6; kind++) {
        ht_scope *scope = ht_scope_open();
        ht_module *net = net_of(kind % 3), *dp;
        ht_tensor *y;

        dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, kind < 3);
        y = ht_sum(ht_square(ht_forward(dp, batch())), HT_NONE);
        set_handlers(HT_ERRORS_RETURN);
        assert_int_equal(ht_backward(is_last() ? NULL : y),
                         is_last() ? HT_ERR_ARGUMENT : HT_ERR_STATE);
        ht_release(dp);
        set_handlers(HT_ERRORS_ABORT);
        expect_ranks_in_step();
        ht_release(net);
        ht_scope_close(scope);
    }
}

static ht_tensor *run_leaving_out(ht_tensor *in[], void *user)
{
    ht_tensor *one = ht_ones(HT_SHAPE(1), HT_FLOAT64, HT_LOCAL);

    (void)user;
    if (!(armed && is_last()) && ht_allreduce(HT_COMM_WORLD, one, one, HT_OP_SUM) != HT_SUCCESS)
        return NULL;
    return ht_tanh(in[0]);
}

/* The operations are those of the first run, so only the missing exchange shows the error. */
static void an_exchange_that_is_left_out_is_an_error(void **state)
{
    ht_tensor *x = batch(), *y;

    (void)state;
    if (ht_test_size == 1)
        HT_TEST_SKIP("a single rank does not wait");
    ht_tensor_set_requires_grad(x, true);
    x = ht_mul_scalar(x, 2);
    y = ht_recomputed(run_leaving_out, 1, &x, NULL);
    armed = true;
    set_handlers(HT_ERRORS_RETURN);
    assert_int_equal(ht_backward(ht_sum(ht_square(y), HT_NONE)), HT_ERR_STATE);
    set_handlers(HT_ERRORS_ABORT);
    armed = false;
    expect_ranks_in_step();
}

static ht_tensor *reduce_forward(ht_module *self, ht_tensor *x)
{
    (void)self;
    return run_leaving_out(&x, NULL);
}

static const ht_module_type reducing = {.name = "Reducing", .forward = reduce_forward};

/* A rank without rows adds gradients of 0, and yet others wait for it in the second run. */
static void a_rank_without_rows_comes_to_the_exchange(void **state)
{
    ht_module *net = ht_nn_recomputed(ht_nn_sequential(
        HT_LIST(ht_module *, ht_nn_linear(WIDE, NARROW), ht_module_new(0, &reducing))));
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, true);
    ht_tensor *x = ht_narrow(batch(), 0, 0, is_last() ? 0 : ROWS);

    (void)state;
    assert_int_equal(ht_backward(ht_sum(ht_square(ht_forward(dp, x)), HT_NONE)), HT_SUCCESS);
    assert_int_equal(ht_data_parallel_drain(dp), HT_SUCCESS);
    expect_ranks_in_step();
    ht_release(dp);
    ht_release(net);
}

HT_TEST_SUITE(test_recomputed_waits, cmocka_unit_test(a_rank_that_fails_alone_tells_the_others),
              cmocka_unit_test(an_exchange_that_is_left_out_is_an_error),
              cmocka_unit_test(a_rank_without_a_loss_tells_the_others),
              cmocka_unit_test(a_rank_without_rows_comes_to_the_exchange));

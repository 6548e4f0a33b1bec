/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Which forward pass a backward pass belongs to. */
#include <pthread.h>

#include "data_parallel_errors.h"

static ht_tensor *loss_of(ht_module *model, int64_t first, int64_t count)
{
    return ht_nll_loss(ht_forward(model, batch_rows(first, count)), batch_classes(first, count),
                       HT_MEAN);
}

/* One step of one process on these batches, of which each row counts the same. */
static void expect_mean_of(ht_module *net, int count, const int64_t firsts[], const int64_t rows[])
{
    ht_module *one = new_net(3);
    ht_optimizer *optimizer = new_optimizer(one, SGD);
    double values[VALUES], expected[VALUES], total = 0;
    ht_tensor *sum = NULL;

    for (int i = 0; i < count; i++)
        total += (double)rows[i];
    for (int i = 0; i < count; i++) {
        ht_tensor *part = ht_mul_scalar(loss_of(one, firsts[i], rows[i]), (double)rows[i] / total);

        sum = sum != NULL ? ht_add(sum, part) : part;
    }
    assert_int_equal(ht_backward(sum), HT_SUCCESS);
    assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
    read_parameters(one, expected);
    read_parameters(net, values);
    assert_true(distance(values, expected) <= 1e-12);
    ht_release(one);
    ht_release(optimizer);
}

/* Two forward passes before the backward passes of both, in either order: each has its own rows. */
static void each_forward_pass_has_its_own_weight(void **state)
{
    (void)state;
    for (int swapped = 0; swapped < 2; swapped++) {
        ht_module *net = new_net(3);
        ht_optimizer *optimizer = new_optimizer(net, SGD);
        ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
        ht_tensor *losses[] = {loss_of(dp, 20 * ht_test_rank, 3),
                               loss_of(dp, 20 * ht_test_rank + 10, 7)};
        int64_t firsts[8], rows[8];

        for (int i = 0; i < 2 * ht_test_size; i++) {
            firsts[i] = 10 * i;
            rows[i] = i % 2 == 0 ? 3 : 7;
        }
        assert_int_equal(ht_backward(losses[swapped]), HT_SUCCESS);
        assert_int_equal(ht_backward(losses[!swapped]), HT_SUCCESS);
        assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
        expect_mean_of(net, 2 * ht_test_size, firsts, rows);
        ht_release(dp);
        ht_release(net);
        ht_release(optimizer);
    }
}

/* A forward pass without a backward pass, and a backward pass of a model without a wrapper. */
static void backward_passes_of_other_models_are_left_alone(void **state)
{
    (void)state;
    ht_module *net = new_net(3), *other = new_net(4), *same = new_net(4);
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    ht_tensor *a = ((struct net *)ht_module_data(other))->shift;
    ht_tensor *b = ((struct net *)ht_module_data(same))->shift;
    int64_t firsts[4], rows[4];

    for (int r = 0; r < ht_test_size; r++) {
        firsts[r] = 10 * r;
        rows[r] = 2 + r;
    }
    loss_of(dp, 90, 9); /* the program reads a loss */
    ht_tensor *loss = loss_of(dp, firsts[ht_test_rank], rows[ht_test_rank]);

    assert_int_equal(ht_backward(loss_of(other, 50, 5)), HT_SUCCESS);
    assert_int_equal(ht_backward(loss_of(same, 50, 5)), HT_SUCCESS);
    assert_int_equal(ht_backward(loss), HT_SUCCESS);
    assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
    expect_mean_of(net, ht_test_size, firsts, rows);
    assert_memory_equal(ht_test_data(ht_tensor_grad(a)), ht_test_data(ht_tensor_grad(b)),
                        OUT * sizeof(double));
    for (int i = 0; i < OUT; i++) /* of a mean: no weight was in it */
        assert_true(fabs(((const double *)ht_test_data(ht_tensor_grad(a)))[i]) <= 1);
    ht_release(dp);
    ht_release(net);
    ht_release(other);
    ht_release(same);
    ht_release(optimizer);
}

/* The weight that was set is for one pass, also where that is a pass of no rows. */
static void a_weight_holds_for_one_pass(void **state)
{
    (void)state;
    ht_module *net = new_net(3);
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    int64_t firsts[4], rows[4];

    for (int r = 0; r < ht_test_size; r++) {
        firsts[r] = 10 * r;
        rows[r] = 2 + r;
    }
    ht_data_parallel_set_weight(dp, 0);
    assert_int_equal(ht_data_parallel_backward(dp, NULL), HT_SUCCESS);
    assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS); /* of no gradients: nothing */
    assert_int_equal(ht_backward(loss_of(dp, firsts[ht_test_rank], rows[ht_test_rank])),
                     HT_SUCCESS);
    assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
    expect_mean_of(net, ht_test_size, firsts, rows);
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
}

/* A loss of two batches of different lengths has no weight, unless the program sets it. */
static void a_loss_of_two_batches_needs_a_weight(void **state)
{
    (void)state;
    ht_module *net = new_net(3);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, false);
    ht_tensor *loss = ht_add(loss_of(dp, 0, 3), loss_of(dp, 10, 3));

    assert_int_equal(ht_backward(loss), HT_SUCCESS);
    loss = ht_add(loss_of(dp, 0, 3), loss_of(dp, 10, 7));
    ht_data_parallel_set_weight(dp, 5);
    assert_int_equal(ht_backward(loss), HT_SUCCESS);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    loss = ht_add(loss_of(dp, 0, 3), loss_of(dp, 10, 7));
    assert_int_equal(ht_backward(loss), HT_ERR_STATE);
    ht_release(dp);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_error_clear();
    ht_release(net);
}

/* Gradients in float32 are multiplied by the weight. */
static void misuse_weights_that_float32_cannot_carry(void **state)
{
    const double weights[] = {-1, NAN, INFINITY, 1e-39, 1e39};
    ht_module *net = new_net(3);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, false);
    const char *message;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(ht_data_parallel_set_weight(dp, weights[i]), HT_ERR_ARGUMENT);
        ht_error_get(&message);
        assert_non_null(strstr(message, "expected 0, or 1e-30 to 1e30"));
    }
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_error_clear();
    ht_release(dp);
    ht_release(net);
}

/* One rank begins no_sync too late, for one of the wrappers that its loss reaches. */
static void a_wrapper_that_cannot_begin_is_told_to_all(void **state)
{
    const bool fails = ht_test_rank == ht_test_size - 1;

    (void)state;
    for (int which = 0; which < 3; which++) {
        ht_module *nets[3], *dp[3];
        ht_tensor *sum = NULL;

        for (int i = 0; i < 3; i++) {
            ht_tensor *y;

            nets[i] = new_net(3);
            dp[i] = ht_nn_data_parallel(nets[i], HT_COMM_WORLD, NULL, false);
            y = ht_mean(ht_forward(dp[i], batch_rows(0, 4)), HT_NONE);
            sum = sum != NULL ? ht_add(sum, y) : y;
        }
        set_handlers(HT_ERRORS_RETURN);
        if (fails)
            ht_data_parallel_no_sync_begin(dp[which]);
        assert_int_equal(ht_backward(sum), fails ? HT_ERR_STATE : HT_SUCCESS);
        if (fails)
            ht_data_parallel_no_sync_end(dp[which]);
        for (int i = 0; i < 3; i++) {
            ht_error_clear();
            assert_int_equal(ht_data_parallel_drain(dp[i]), HT_ERR_STATE);
            expect_message(i < which ? "pass 1: backward failed" : "backward runs inside no_sync");
        }
        for (int i = 0; i < 3; i++)
            ht_release(dp[i]);
        set_handlers(HT_ERRORS_ABORT);
        for (int i = 0; i < 3; i++)
            ht_release(nets[i]);
    }
}

/* A module that runs the wrapper around it once more. */
enum again { DROPPED, UNRECORDED, USED };

struct again_module {
    ht_module *fc;
    ht_module *wrapper; /* not owned */
    enum again how;
    bool inside;
};

static ht_tensor *run_again(ht_module *self, ht_tensor *x)
{
    struct again_module *m = ht_module_data(self);
    ht_scope *scope;
    ht_tensor *y;
    bool recorded;

    if (m->inside)
        return ht_forward(m->fc, x);
    m->inside = true;
    scope = m->how == USED ? NULL : ht_scope_open();
    recorded = ht_set_grad_enabled(m->how != UNRECORDED);
    y = ht_forward(m->wrapper, x);
    assert_non_null(y);
    ht_set_grad_enabled(recorded);
    ht_scope_close(scope);
    m->inside = false;
    return m->how == USED ? ht_add(ht_forward(m->fc, x), y) : ht_forward(m->fc, x);
}

static const ht_module_type again_type = {.name = "again", .forward = run_again};

static void a_wrapper_may_run_inside_its_own_forward_pass(void **state)
{
    (void)state;
    for (enum again how = DROPPED; how <= USED; how++) {
        ht_module *net = ht_module_new(sizeof(struct again_module), &again_type), *dp;
        struct again_module *m = ht_module_data(net);
        const double *bias;

        ht_module_add(net, "fc", &m->fc, ht_nn_linear(IN, OUT));
        ht_module_to_dtype(net, HT_FLOAT64);
        dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, true);
        m->wrapper = dp;
        m->how = how;
        for (int pass = 1; pass <= 2; pass++) {
            ht_tensor *y = ht_forward(dp, batch_rows(0, 3 + ht_test_rank));

            assert_int_equal(ht_backward(ht_mean(y, HT_NONE)), HT_SUCCESS);
            assert_int_equal(ht_data_parallel_drain(dp), HT_SUCCESS);
        }
        bias = ht_test_data(ht_tensor_grad(ht_module_find_parameter(net, "fc.bias")));
        for (int i = 0; i < OUT; i++) /* a mean over the rows of both passes */
            assert_true(fabs(bias[i] - (how == USED ? 2.0 : 1.0) / OUT) <= 1e-12);
        ht_release(dp);
        ht_release(net);
    }
}

enum { MANY = 50 };

static ht_device *device; /* of the tests; each thread has its own default */

static void *run_forward(void *dp)
{
    ht_scope *scope = ht_scope_open();

    ht_use_device(device);
    loss_of(dp, 0, 4);
    ht_scope_close(scope);
    return NULL;
}

static void *release_elsewhere(void *wrappers)
{
    for (int i = 0; i < MANY; i++)
        ht_release(((ht_module **)wrappers)[i]);
    return NULL;
}

/* Half of them ran forward on this thread, half on one that has ended. This thread trains with
 * another wrapper afterwards. */
static void another_thread_may_release_a_wrapper(void **state)
{
    ht_module *nets[MANY], *wrappers[MANY], *net = new_net(3);
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, true);
    pthread_t thread;

    (void)state;
    device = ht_get_device();
    for (int i = 0; i < MANY; i++) {
        nets[i] = new_net(4);
        wrappers[i] = ht_nn_data_parallel(nets[i], HT_COMM_WORLD, NULL, true);
        if (i % 2 == 0) {
            run_forward(wrappers[i]);
            continue;
        }
        assert_int_equal(pthread_create(&thread, NULL, run_forward, wrappers[i]), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    assert_int_equal(pthread_create(&thread, NULL, release_elsewhere, wrappers), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (int step = 0; step < 5; step++) {
        assert_int_equal(ht_backward(loss_of(dp, 0, 4)), HT_SUCCESS);
        assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
    }
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
    for (int i = 0; i < MANY; i++)
        ht_release(nets[i]);
}

HT_TEST_SUITE(test_data_parallel_armed, cmocka_unit_test(each_forward_pass_has_its_own_weight),
              cmocka_unit_test(backward_passes_of_other_models_are_left_alone),
              cmocka_unit_test(a_weight_holds_for_one_pass),
              cmocka_unit_test(a_loss_of_two_batches_needs_a_weight),
              cmocka_unit_test(misuse_weights_that_float32_cannot_carry),
              cmocka_unit_test(a_wrapper_that_cannot_begin_is_told_to_all),
              cmocka_unit_test(a_wrapper_may_run_inside_its_own_forward_pass),
              cmocka_unit_test(another_thread_may_release_a_wrapper));
